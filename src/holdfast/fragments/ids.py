"""Ids of 128 bits as arrays: how those of columns become those of sets of columns, of groups of rows and of sides.

The id of a value comes from a keyed hash. The id of several columns is the exclusive or of theirs: it does not depend
on who joined them in which order, and two rows that differ somewhere share it with a chance of 2^-128.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.errors import StateError

Ids = NDArray[np.uint64]
"""A line of two words for each id."""

SIZE = 16
# Of the values in one Arrow array, whose offsets have 32 bits.
MOST_BYTES = 2**31 - 1
_SIDE, _PLACE = 1 << 40, 1 << 41


def no_ids(size: int) -> Ids:
    return np.zeros((size, 2), np.uint64)


def mixed(ids: Ids, salt: int) -> Ids:
    """Other ids, one for one, that look unrelated to these and to those of any other salt."""
    first, second, third = (np.uint64(_scrambled_word(3 * salt + i)) for i in range(3))
    low = _scrambled(ids[:, 0] + first)
    high = _scrambled((ids[:, 1] + second) ^ low)
    return np.stack([low ^ _scrambled(high + third), high], axis=1)


def _scrambled(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # The finaliser of SplitMix64: one to one, and every bit depends on every other.
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _scrambled_word(number: int) -> int:
    return int(_scrambled(np.array([(number * 0x9E3779B97F4A7C15 + 1) % 2**64], np.uint64))[0])


def group_ids(left: Ids, part: int) -> Ids:
    """The ids of groups: rows of a part that agree on its left side."""
    return mixed(left, part + 1)


def side_ids(groups: Ids, right: Ids) -> Ids:
    """The ids of sides: rows of a group that agree on the right side too."""
    return mixed(mixed(right, _SIDE) ^ groups, _PLACE)


def hashes_of(ids: Ids) -> NDArray[np.int64]:
    """What entries with these ids are found by."""
    return np.ascontiguousarray(ids[:, 0]).view(np.int64)


def to_arrow(lines: Ids | NDArray[np.uint8]) -> pa.Array:
    """A line of words or bytes for each row, as one binary value each."""
    offsets = np.arange(len(lines) + 1, dtype=np.int32) * np.int32(lines.shape[1] * lines.itemsize)
    data = pa.py_buffer(np.ascontiguousarray(lines))
    return pa.Array.from_buffers(pa.binary(), len(lines), [None, pa.py_buffer(offsets), data])


def to_column(lines: Ids | NDArray[np.uint8]) -> pa.ChunkedArray:
    """The same for lines of any number and width, in as many chunks as it takes: one has 2^31 bytes at most."""
    most = max(1, MOST_BYTES // max(1, lines.shape[1] * lines.itemsize))
    return pa.chunked_array([to_arrow(lines[i : i + most]) for i in range(0, len(lines), most)], pa.binary())


def packed(column: pa.ChunkedArray, width: int) -> NDArray[np.uint8]:
    """A column of `width` bytes a row, without nulls, as a line of bytes for each."""
    if width == 0:
        return np.zeros((len(column), 0), np.uint8)
    pieces = [_bytes_of(chunk) for chunk in column.chunks if len(chunk)]
    flat = pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint8), *pieces])
    if len(flat) != width * len(column):
        raise StateError(f"the state is damaged: packed rows have {len(flat)} bytes, not {width} each.")
    return flat.reshape(len(column), width)


def _bytes_of(chunk: pa.Array) -> NDArray[np.uint8]:
    kind = np.int64 if pa.types.is_large_binary(chunk.type) else np.int32
    offsets = np.frombuffer(chunk.buffers()[1], kind)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.frombuffer(chunk.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]


def from_arrow(column: pa.ChunkedArray) -> Ids:
    """The ids in a column of 16 bytes a row."""
    return words(packed(column, SIZE))


def words(lines: NDArray[np.uint8]) -> Ids:
    return np.ascontiguousarray(lines).view(np.uint64).reshape(len(lines), lines.shape[1] // 8)
