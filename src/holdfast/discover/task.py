"""What a task of a discovery does: the rows as Arrow batches in, what was found as lines of bytes out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from holdfast.discover.find import Found, find
from holdfast.discover.options import DiscoverOptions
from holdfast.discover.space import OperandPair, PredicateSpace
from holdfast.encode.column_type import ColumnType
from holdfast.rules.predicate import Column
from holdfast.states.evidence import Evidence

# Arrow batches stay well below the 2 GB that a value of bytes may have.
_PIECE = 32 * 2**20
LINE = pa.schema([("part", pa.string()), ("piece", pa.int32()), ("bytes", pa.binary())])


@dataclass(frozen=True)
class DiscoverTask:
    """Finds the constraints of the rows that arrive, which are all; columns come as c0, c1, ... in the types' order."""

    types: Mapping[str, ColumnType]
    options: DiscoverOptions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived = list(batches)
        if arrived:
            table = pa.Table.from_batches(arrived).rename_columns(list(self.types))
            del arrived
            yield from lines_of(find(table, self.types, self.options, threads=own_cores()))


def own_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lines_of(found: Found) -> Iterator[pa.RecordBatch]:
    """What was found, in pieces of bytes."""
    about = {
        "pairs": [
            [pair.left.row, pair.left.name, pair.right.row, pair.right.name, pair.ordered] for pair in found.space.pairs
        ],
        "rows": found.rows,
        "distinct_rows": found.distinct_rows,
        "strategy": found.strategy,
        "exact": found.exact,
        "complete": found.complete,
        "why": found.why,
        "phases": dict(found.phases),
    }
    parts = {
        "about": json.dumps(about).encode(),
        "masks": found.masks.tobytes(),
        "support": found.support.tobytes(),
        "words": found.evidence.words.tobytes(),
        "counts": found.evidence.counts.tobytes(),
    }
    for part, content in parts.items():
        for piece, start in enumerate(range(0, max(len(content), 1), _PIECE)):
            line = [[part], [piece], [content[start : start + _PIECE]]]
            arrays = [pa.array(values, field.type) for values, field in zip(line, LINE, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=LINE)


def found_in(lines: Iterable[tuple[str, int, bytes]]) -> Found | None:
    """What `lines_of` told; None when there are no lines."""
    parts: dict[str, bytes] = {}
    for part, _, content in sorted((part, piece, bytes(content)) for part, piece, content in lines):
        parts[part] = parts.get(part, b"") + content
    if not parts:
        return None
    about = json.loads(parts["about"])
    pairs = [OperandPair(Column(a, left), Column(b, right), ordered) for a, left, b, right, ordered in about["pairs"]]
    space = PredicateSpace(tuple(pairs))
    words, masks = (np.frombuffer(parts[name], np.uint64).reshape(-1, space.words) for name in ("words", "masks"))
    return Found(
        space=space,
        masks=masks,
        support=np.frombuffer(parts["support"], np.int64),
        evidence=Evidence(words, np.frombuffer(parts["counts"], np.int64)),
        rows=about["rows"],
        distinct_rows=about["distinct_rows"],
        strategy=about["strategy"],
        exact=about["exact"],
        complete=about["complete"],
        why=about["why"],
        phases=about["phases"],
    )
