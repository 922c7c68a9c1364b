"""What tasks of a search pass on: named parts of bytes, as Arrow lines, long parts in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import pyarrow as pa

# Arrow batches stay well below the 2 GB that a value of bytes may have.
PIECE_BYTES = 32 * 2**20
LINE = pa.schema([("part", pa.string()), ("piece", pa.int32()), ("bytes", pa.binary())])

Batches = Iterator[pa.RecordBatch]
Parts = Mapping[str, bytes]


def arrived(batches: Batches, names: Iterable[str] | None = None) -> pa.Table | None:
    """All batches as one table, with these names for its columns if given; None when there are none."""
    received = list(batches)
    if not received:
        return None
    table = pa.Table.from_batches(received)
    return table if names is None else table.rename_columns(list(names))


def lines_of(parts: Parts, *, piece_bytes: int = PIECE_BYTES) -> Batches:
    """The parts as batches of lines, long ones in pieces of at most so many bytes."""
    for part, whole in parts.items():
        content = memoryview(whole).cast("B") if len(whole) else b""  # its slices are no copies
        for piece, start in enumerate(range(0, max(len(content), 1), piece_bytes)):
            line = [[part], [piece], [content[start : start + piece_bytes]]]
            arrays = [pa.array(values, field.type) for values, field in zip(line, LINE, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=LINE)


def joined_parts(lines: Iterable[tuple[Any, ...]]) -> dict[str, bytes]:
    """The parts, from their lines in any order."""
    pieces: dict[str, list[tuple[int, Any]]] = {}
    for part, piece, content in lines:
        pieces.setdefault(part, []).append((piece, content))
    # Each part is joined at once: it may be most of what this process holds.
    in_order = ((part, sorted(of_part, key=itemgetter(0))) for part, of_part in pieces.items())
    return {part: b"".join(content for _, content in of_part) for part, of_part in in_order}


def parts_in(table: pa.Table) -> dict[str, bytes]:
    """The parts whose lines the table has; of its bytes one copy is made."""
    names, numbers = (table.column(name).to_pylist() for name in ("part", "piece"))
    contents = (content.as_buffer() for content in table.column("bytes"))
    return joined_parts(zip(names, numbers, contents, strict=True))


def own_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
