"""The rows that arrive at a task, piece of work by piece of work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa


def pieces_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """All rows that arrive, as one table per piece of work; one table where rows are not routed."""
    arrived = list(batches)
    if not arrived:
        return
    table = pa.Table.from_batches(arrived)
    del arrived
    if "work" not in table.column_names:
        yield table
        return
    work = table.column("work").to_numpy()
    counted = work.dtype.kind == "i" and len(work) and 0 <= work.min() <= work.max() < len(work)
    pieces = np.flatnonzero(np.bincount(work)) if counted else np.unique(work)
    for piece in pieces:
        yield table if len(pieces) == 1 else table.filter(pa.array(work == piece))
