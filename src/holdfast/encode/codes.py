"""Arrow columns as 64-bit integers with the order of the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.digits import digits_key
from holdfast.encode.one_array import decoded
from holdfast.kernels.order import ranks


@dataclass(frozen=True)
class Coded:
    """A column as integers: order and equality of codes are those of values. Codes of nulls mean nothing."""

    codes: NDArray[np.int64]
    valid: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.codes)


def shared_codes(columns: Sequence[pa.ChunkedArray]) -> list[Coded]:
    """Returns codes for columns of one type that are compared with each other: equal values have equal codes.

    NaN equals NaN and is greatest, -0.0 equals 0.0; text is ordered by its UTF-8 bytes. Numbers, dates and times cost
    one pass; text, wide decimals and structs cost a sort of the distinct values.
    """
    if len({column.type for column in columns}) > 1:  # one is a dictionary as a file brought it, another is not
        columns = [decoded(column) for column in columns]
    chunks = [chunk for column in columns for chunk in column.chunks]
    # Arrow arrays are read-only; kernels are compiled for writable ones.
    codes = np.require(_joint_codes(chunks, columns[0].type), requirements=["C", "W"])
    ends = np.cumsum([len(column) for column in columns])
    return [
        Coded(codes[end - len(column) : end], np.asarray(column.is_valid().to_numpy(), np.bool_))
        for column, end in zip(columns, ends, strict=True)
    ]


def _joint_codes(chunks: Sequence[pa.Array], kind: pa.DataType) -> NDArray[np.int64]:
    """Returns the codes of all chunks, one after the other."""
    if not chunks:
        return np.zeros(0, np.int64)
    if pa.types.is_struct(kind):
        # Field by field: structs of the same fields may differ in which are nullable.
        fields = range(kind.num_fields)
        return _ranks([_joint_codes([chunk.field(i) for chunk in chunks], kind.field(i).type) for i in fields])
    if not _is_own_code(kind):
        return _codes(pa.concat_arrays(chunks))
    # A chunk is copied once, to where it belongs.
    codes, end = np.empty(sum(map(len, chunks)), np.int64), 0
    for chunk in chunks:
        codes[end : end + len(chunk)] = _codes(chunk)
        end += len(chunk)
    return codes


def _is_own_code(kind: pa.DataType) -> bool:
    """Whether the code of a value is told from it alone, whatever else there is."""
    whole = pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_time32(kind)
    return bool(whole or pa.types.is_timestamp(kind) or pa.types.is_duration(kind))


def _codes(array: pa.Array) -> NDArray[np.int64]:
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(kind):
        return _float_codes(_filled(array).to_numpy(zero_copy_only=False).astype(np.float64))
    if pa.types.is_decimal(kind):
        return _decimal_codes(array)
    if pa.types.is_boolean(kind):
        return _codes(array.cast(pa.int8()))
    if pa.types.is_integer(kind):
        return np.asarray(_filled(array).to_numpy(zero_copy_only=False), np.int64)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return np.asarray(_filled(array.view(pa.int32())).to_numpy(zero_copy_only=False), np.int64)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return np.asarray(_filled(array.view(pa.int64())).to_numpy(zero_copy_only=False), np.int64)
    return _dictionary_codes(array)


def _filled(array: pa.Array) -> pa.Array:
    return array if array.null_count == 0 else pc.fill_null(array, pa.scalar(0, array.type))


def _float_codes(values: NDArray[np.float64]) -> NDArray[np.int64]:
    # The bits of a float have the order of integers once those of negative numbers are inverted; one zero; one NaN,
    # which is greatest.
    values = values + 0.0
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)


def _decimal_codes(array: pa.Array) -> NDArray[np.int64]:
    if pa.types.is_decimal256(array.type):
        words = 4
    else:
        words = 2
        if array.type.bit_width != 128:
            array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), np.int64)
    parts = np.frombuffer(buffer, np.int64, count=(array.offset + len(array)) * words).reshape(-1, words)
    parts = parts[array.offset :]
    if array.type.precision <= 18:
        return parts[:, 0].copy()
    if (parts[:, 1:] == parts[:, :1] >> 63).all():  # all of them fit 64 bits
        return parts[:, 0].copy()
    # Two's complement, low word first: the top word is signed, the others are not.
    signed = [parts[:, words - 1]] + [parts[:, i] ^ np.int64(-(2**63)) for i in range(words - 2, -1, -1)]
    return _ranks(signed)


def _dictionary_codes(array: pa.Array) -> NDArray[np.int64]:
    codes, _ = ranked_values(array)
    return codes


def ranked_values(array: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Returns the place of each value among the distinct values in order, and these; codes of nulls mean nothing.

    An array that is a dictionary already costs a sort of its dictionary and one pass.
    """
    brought = pa.types.is_dictionary(array.type)
    if brought and array.dictionary.null_count:
        array, brought = array.cast(array.type.value_type), False
    encoded = array if brought else array.dictionary_encode()
    distinct, places = encoded.dictionary, pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    order = pc.array_sort_indices(distinct)
    ordered = distinct.take(order)
    ranks = np.empty(len(order), np.int64)
    if brought and pc.count_distinct(distinct).as_py() < len(distinct):  # such a one may have a value twice
        same = pc.equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1)).to_numpy(zero_copy_only=False)
        numbers = np.concatenate([[0], np.cumsum(~same)])
        ordered = ordered.filter(pa.array(np.concatenate([[True], ~same])))
        ranks[order.to_numpy()] = numbers
    else:
        ranks[order.to_numpy()] = np.arange(len(order))
    return (ranks[places] if len(ranks) else np.zeros(len(array), np.int64)), ordered


def _ranks(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Returns dense ranks of rows ordered by the first part, then the second, and so on."""
    n = len(parts[0])
    order = np.lexsort(tuple(reversed(parts)))
    steps = np.zeros(n, np.bool_)
    for part in parts:
        ordered = part[order]
        steps[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(n, np.int64)
    ranks[order] = np.cumsum(steps)
    return ranks


def dense_ids(parts: Sequence[NDArray[np.int64]], size: int) -> NDArray[np.int64]:
    """Returns ids from 0 that are equal exactly where all parts are; without parts, all 0."""
    ids = np.zeros(size, np.int64)
    for at, part in enumerate(parts):
        compact = compacted(part)
        # Both are at most a few times the number of rows, so their product fits 64 bits.
        ids = compact if at == 0 else compacted(ids * (np.int64(compact.max(initial=0)) + 1) + compact)
    return ids


def compacted(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the codes as ranks 0, 1, 2, ... of the distinct ones; codes in a narrow range are only shifted."""
    if len(codes) == 0:
        return codes
    low, high = int(codes.min()), int(codes.max())
    if high - low <= 4 * len(codes) + 1024:
        return codes - np.int64(low)
    return ranks(codes)


def comparable_codes(columns: Sequence[pa.ChunkedArray]) -> list[Coded]:
    """Returns codes for columns of one family, such as all numbers: exact by value, whatever their types.

    Integers, floats and decimals are never rounded to compare them. Cost as `shared_codes`; decimals together with
    floats cost a Python call per distinct value.
    """
    # In the order of the columns, never in that of a set, which differs from process to process.
    kinds = dict.fromkeys(column.type for column in columns)
    if len(kinds) == 1:
        return shared_codes(columns)
    known = [kind for kind in kinds if not pa.types.is_null(kind)]
    integers, decimals = (any(map(test, known)) for test in (pa.types.is_integer, pa.types.is_decimal))
    floats = any(map(pa.types.is_floating, known))
    if len(known) == 1:
        target = known[0]
    elif not floats and not decimals:
        times = [kind for kind in known if pa.types.is_timestamp(kind)]
        target = pa.int64() if integers else pa.timestamp("us") if times else known[0]
    elif not floats:
        # Wide enough for every pair of decimals: 38 digits before the point and 38 behind it.
        scale = max((kind.scale for kind in known if pa.types.is_decimal(kind)), default=0)
        target = pa.decimal256(76, scale)
    elif not decimals and all(_fits_a_double(column) for column in columns):
        target = pa.float64()
    else:
        return _codes_by_digits(columns)
    return shared_codes([_cast(column, target) for column in columns])


def _cast(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_decimal(target) and pa.types.is_integer(column.type):
        column = column.cast(pa.decimal128(19, 0))
    return column.cast(target)


def _fits_a_double(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_integer(column.type):
        return True
    ends = pc.min_max(column)
    return all(end.as_py() is None or abs(end.as_py()) <= 2**53 for end in (ends["min"], ends["max"]))


def _codes_by_digits(columns: Sequence[pa.ChunkedArray]) -> list[Coded]:
    keys: list[bytes | None] = []
    for column in columns:
        encoded = column.combine_chunks().dictionary_encode() if len(column) else pa.array([], column.type)
        if len(column) == 0:
            continue
        values = [None if v is None else digits_key(v if isinstance(v, float) else Decimal(v))
                  for v in encoded.dictionary.to_pylist()]  # fmt: skip
        keys += pa.array(values, pa.binary()).take(encoded.indices).to_pylist()
    everything = shared_codes([pa.chunked_array([pa.array(keys, pa.binary())])])[0]
    ends = np.cumsum([len(column) for column in columns])
    parts = [slice(int(end) - len(column), int(end)) for column, end in zip(columns, ends, strict=True)]
    return [Coded(everything.codes[part], everything.valid[part]) for part in parts]


def dense_codes(columns: Sequence[Coded]) -> list[NDArray[np.int32]]:
    """Returns the codes of one family as ranks 0, 1, 2, ... of its distinct values, nulls as -1."""
    codes = np.concatenate([column.codes for column in columns])
    valid = np.concatenate([column.valid for column in columns])
    dense = np.full(len(codes), -1, np.int32)
    dense[valid] = _dense(codes[valid])
    ends = np.cumsum([len(column) for column in columns])
    return [dense[end - len(column) : end] for column, end in zip(columns, ends, strict=True)]


def _dense(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(codes) == 0:
        return codes
    low, high = int(codes.min()), int(codes.max())
    if high - low > 4 * len(codes) + 1024:
        return ranks(codes)
    present = np.zeros(high - low + 1, np.bool_)
    present[codes - low] = True
    return (np.cumsum(present) - 1)[codes - low]
