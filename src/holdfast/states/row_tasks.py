"""Tasks that write a state's rows for the first time, and that read them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from holdfast.states.manifest import ROWS
from holdfast.states.messages import WrittenSegment, message_batch
from holdfast.states.segment import Segment, entries_between, key_of, nullable, present, write_segment
from holdfast.states.store import Store
from holdfast.tables.pieces import pieces_of


@dataclass(frozen=True)
class FirstRowsTask:
    """A task: all rows of some ranges of hashes, which it writes as one file each; out come messages of them."""

    store: Store

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in pieces_of(batches):
            entries = nullable(piece.drop_columns(["work"]))
            size = entries.num_rows
            entries = entries.append_column("v", pa.array(np.zeros(size, np.int32)))
            entries = entries.append_column("gone", pa.array(np.zeros(size, np.uint8)))
            segment = write_segment(self.store, ROWS, entries, base=True)
            yield message_batch(WrittenSegment(ROWS, segment))


@dataclass(frozen=True)
class PresentRowsTask:
    """A task: numbers of ranges of hashes, `id`; out come the rows of the state that have those."""

    store: Store
    segments: tuple[Segment, ...]
    places: int
    width: int
    key: tuple[str, ...]
    key_names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = [f"c{i}" for i in range(self.width)]
        for place in (number for batch in batches for number in batch.column("id").to_pylist()):
            entries = entries_between(self.store, self.segments, place, self.places)
            if entries is None:
                continue
            there = present(entries, key_of(entries, self.key, self.key_names))
            rows = entries.filter(pa.array(there)).select(columns)
            yield from rows.combine_chunks().to_batches(max_chunksize=10_000)
