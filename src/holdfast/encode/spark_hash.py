"""Hashes of rows that are those of Spark SQL's `xxhash64`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.kernels.xxhash64 import hash_bytes, hash_ints, hash_longs, hash_wide

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_SEED = 42
# What Spark keeps as a long beside its scale.
_DIGITS_OF_A_LONG = 18


def spark_xxhash64(columns: Sequence[pa.ChunkedArray | pa.Array]) -> Ints:
    """Returns, per row, what `xxhash64(c0, c1, ...)` is on Spark; the columns, at least one, are of one length.

    A null leaves the hash as it is. -0.0 hashes as 0.0, and every NaN as one. Types are those of Spark's columns as
    Arrow has them: other widths of a number have other hashes. Cost: one pass over the values; a first column of text
    that is a dictionary costs one over its dictionary.

    >>> spark_xxhash64([pa.array([1, None]), pa.array(["a", "a"])]).tolist()
    [-8527884376001292090, -8582455328737087284]
    """
    size = len(columns[0])
    hashes = _Hashes(np.full(size, _SEED, np.int64), alike=True)
    for column in columns:
        hashes = _hashed(_one_array(column), np.ones(size, np.bool_), hashes)
    return hashes.codes


@dataclass(frozen=True)
class _Hashes:
    """The hash of each row so far; `alike` where all of them are equal."""

    codes: Ints
    alike: bool = False


def _one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _hashed(array: pa.Array, present: Bools, seeds: _Hashes) -> _Hashes:
    """The hashes with the values of the array; rows that are not present keep their seed."""
    kind, codes = array.type, seeds.codes
    if len(array) == 0 or pa.types.is_null(kind):
        return seeds
    valid = present if array.null_count == 0 else present & np.asarray(array.is_valid())
    if pa.types.is_dictionary(kind):
        return _of_dictionary(array, valid, seeds)
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            seeds = _hashed(array.field(i), valid, seeds)
        return seeds
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _Hashes(_of_lists(array, valid, codes))
    if pa.types.is_decimal(kind):
        return _Hashes(_of_decimals(array, valid, codes))
    if pa.types.is_floating(kind):
        return _Hashes(_of_floats(array, valid, codes))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_int64(kind):
        return _Hashes(hash_longs(_filled(array.view(pa.int64())), valid, codes))
    if pa.types.is_boolean(kind):
        return _Hashes(hash_ints(_filled(array.cast(pa.int8())), valid, codes))
    if pa.types.is_date32(kind):
        return _Hashes(hash_ints(_filled(array.view(pa.int32())), valid, codes))
    if pa.types.is_signed_integer(kind):
        return _Hashes(hash_ints(_filled(array), valid, codes))
    return _Hashes(_of_bytes(array, valid, codes))


def _filled(array: pa.Array) -> Ints:
    """The numbers, 0 for nulls."""
    filled = array if array.null_count == 0 else pc.fill_null(array, pa.scalar(0, array.type))
    return np.asarray(filled.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)


def _of_dictionary(array: pa.DictionaryArray, valid: Bools, seeds: _Hashes) -> _Hashes:
    if not seeds.alike:
        return _hashed(array.dictionary_decode(), valid, seeds)
    size = len(array.dictionary)
    if size == 0:
        return seeds
    own = _hashed(array.dictionary, np.ones(size, np.bool_), _Hashes(np.full(size, seeds.codes[0])))
    places = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
    return _Hashes(np.where(valid, own.codes[places], seeds.codes))


def _of_lists(array: pa.ListArray, valid: Bools, codes: Ints) -> Ints:
    """Item after item: the first of all lists, then the second of those that have one."""
    starts, ends = _ends(array)
    values, hashes, place = array.values, codes.copy(), 0
    while len(rows := np.flatnonzero(valid & (ends - starts > place))):
        items = values.take(pa.array(starts[rows] + place))
        hashes[rows] = _hashed(items, np.ones(len(rows), np.bool_), _Hashes(hashes[rows])).codes
        place += 1
    return hashes


def _of_decimals(array: pa.Array, valid: Bools, codes: Ints) -> Ints:
    precision = array.type.precision
    if array.type.bit_width != 128:
        array = array.cast(pa.decimal128(min(precision, 38), array.type.scale))
    buffer = array.buffers()[1]
    words = np.frombuffer(buffer, np.int64, count=2 * (array.offset + len(array))).reshape(-1, 2)[array.offset :]
    if precision <= _DIGITS_OF_A_LONG:
        return hash_longs(words[:, 0], valid, codes)
    return hash_wide(words[:, 0], words[:, 1], valid, codes)


def _of_floats(array: pa.Array, valid: Bools, codes: Ints) -> Ints:
    single = array.type.bit_width == 32
    filled = array if array.null_count == 0 else pc.fill_null(array, pa.scalar(0.0, array.type))
    values = filled.to_numpy(zero_copy_only=False) + 0.0  # -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan
    if single:
        return hash_ints(values.view(np.int32).astype(np.int64), valid, codes)
    return hash_longs(values.view(np.int64), valid, codes)


def _of_bytes(array: pa.Array, valid: Bools, codes: Ints) -> Ints:
    if not (pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
        array = array.cast(pa.large_binary() if not _is_large_text(array.type) else pa.large_string())
    starts, ends = _ends(array)
    data = array.buffers()[2]
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return hash_bytes(content, starts, ends, valid, codes)


def _is_large_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _ends(array: pa.Array) -> tuple[Ints, Ints]:
    """Where the bytes or items of each value start and end."""
    kind = array.type
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind)
    stored = np.frombuffer(array.buffers()[1], np.int64 if wide else np.int32, count=array.offset + len(array) + 1)[
        array.offset :
    ]
    offsets = np.asarray(stored, np.int64)
    return offsets[:-1], offsets[1:]
