"""Columns of text become columns of other types, in this process; a value that does not fit is found, never a null.

What is accepted is what checked_cast() of the Spark engine accepts. Values in their usual form are converted by Arrow,
a column at a time; others one by one.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.tables.arrow_arrays import arrow_array, mask_array, null_scalar
from holdfast.tables.csv_types import BLANKS, CsvType, Shape, shape

Bytes = npt.NDArray[np.uint8]

_INT64 = range(-(2**63), 2**63)
_REPLACEMENT = "\ufffd"  # what stands in the place of bytes that are not of the encoding
_TRIMMED_BY_CASTS = "".join(map(chr, range(33))) + "\x7f"
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_ZONE = re.compile(r" ?(Z|([-+])([0-9]{2}):?([0-9]{2})?)$")
_MOST_ZONE_MINUTES = 18 * 60
_LENGTHS_OF_TIMES = (10, 16, 19, 21, 22, 23, 24, 25, 26)
# RE2 in place of a look at bytes: zones have many forms, and Spark takes none beyond 18 hours.
_USUAL_ZONED = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:Z|[-+](?:0[0-9]|1[0-7])(?::?[0-5][0-9])?)$"
)


@dataclass(frozen=True)
class Unfit:
    """The first value of a column that does not fit: its row, from 0, its text, and what is wrong with it."""

    row: int
    value: str
    what: Literal["value", "bytes"] = "value"


def arrow_type(type: CsvType) -> pa.DataType:
    """Returns the Arrow type of a column of this type."""
    if type.kind == "decimal":
        return pa.decimal128(type.precision, type.scale)
    return {
        "text": pa.string(),
        "boolean": pa.bool_(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }[type.kind]


def checked_column(
    text: pa.ChunkedArray, to: CsvType, *, null_values: tuple[str, ...] = ()
) -> tuple[pa.ChunkedArray, Unfit | None]:
    """Returns text as type `to`, and the first value that does not fit, if there is one.

    Null where the text is null, blank or in `null_values`. After a value that does not fit, the column is cut short.
    Cost: one pass of Arrow for values in their usual form; some microseconds for each distinct other value.
    """
    kind = arrow_type(to)
    chunks: list[pa.Array] = []
    row = 0
    for chunk in text.chunks:
        converted, wrong = _checked_chunk(chunk, to, kind, null_values)
        if wrong is not None:
            return pa.chunked_array(chunks, kind), Unfit(row + wrong, chunk[wrong].as_py())
        chunks.append(converted)
        row += len(chunk)
    return pa.chunked_array(chunks, kind), None


def checked_text(
    text: pa.ChunkedArray, *, check_bytes: bool, null_values: tuple[str, ...] = ()
) -> tuple[pa.ChunkedArray, Unfit | None]:
    """Returns text as it is, null where it is in `null_values`, and the first value with bytes that were not UTF-8."""
    if check_bytes:
        wrong = pc.index(pc.match_substring(text, _REPLACEMENT), True).as_py()
        if wrong >= 0:
            return text.slice(0, wrong), Unfit(wrong, text[wrong].as_py(), "bytes")
    if null_values:
        absent = pc.is_in(text, arrow_array(null_values, pa.string()))
        if pc.any(absent).as_py():
            text = pc.if_else(absent, null_scalar(pa.string()), text)
    return text, None


def _checked_chunk(
    chunk: pa.Array, to: CsvType, kind: pa.DataType, null_values: tuple[str, ...]
) -> tuple[pa.Array, int | None]:
    """Returns the converted chunk, and the position of its first value that does not fit."""
    if to.kind == "boolean":
        return _one_by_one(chunk, to, kind, null_values)
    if null_values:
        chunk = pc.if_else(pc.is_in(chunk, arrow_array(null_values, pa.string())), null_scalar(pa.string()), chunk)
    usual = _usual(chunk, to)
    if usual is None:
        try:
            return pc.cast(chunk, kind), None
        except pa.ArrowInvalid:
            usual = _fits_pattern(chunk, to)
    try:
        plain = pc.cast(pc.if_else(usual, chunk, null_scalar(chunk.type)), kind)
    except pa.ArrowInvalid:
        usual = _fits_pattern(chunk, to)
        try:
            plain = pc.cast(pc.if_else(usual, chunk, null_scalar(chunk.type)), kind)
        except pa.ArrowInvalid:
            # A value in the usual form is beyond the type, such as a day in month 13.
            return _one_by_one(chunk, to, kind, null_values)
    others, wrong = _one_by_one(pc.filter(chunk, pc.invert(usual)), to, kind, null_values)
    if wrong is not None:
        return others, int(np.flatnonzero(~usual.to_numpy(zero_copy_only=False))[wrong])
    return pc.replace_with_mask(plain, pc.invert(usual), others), None


def _one_by_one(
    chunk: pa.Array, to: CsvType, kind: pa.DataType, null_values: tuple[str, ...]
) -> tuple[pa.Array, int | None]:
    coded = chunk.dictionary_encode()
    convert = _converter(to)
    values: list[Any] = []
    unfit: list[int] = []
    nulls = frozenset(null_values)
    # Spark looks at blanks around a null value before the cast only where a null value could be a value of a type.
    cast_first = convert is _given_boolean and all(shape(value) is Shape.TEXT for value in null_values)
    for code, text in enumerate(coded.dictionary.to_pylist()):
        value = None
        if text not in nulls:
            trimmed = text.strip(BLANKS)
            absent = not trimmed or trimmed in nulls
            if not absent or cast_first:
                value = convert(text)
            if value is None and not absent:
                unfit.append(code)
        values.append(value)
    if unfit:
        codes = coded.indices.to_numpy(zero_copy_only=False)  # with NaN for nulls
        return arrow_array([], kind), int(np.flatnonzero(np.isin(codes, unfit))[0])
    return arrow_array(values, kind).take(coded.indices), None


def _usual(chunk: pa.Array, to: CsvType) -> pa.BooleanArray | None:
    """Returns which values Arrow may convert; None when it may try all, and refuses what is not in the usual form."""
    if to.kind == "timestamp":
        return _fits_pattern(chunk, to)
    if to.kind == "decimal":
        matched = _fits_pattern(chunk, to)
        return None if pc.all(matched).as_py() is not False else matched
    text, starts, lengths = _text_bytes(chunk)
    if not len(text):
        return None
    if to.kind in ("bigint", "double"):
        signed = (text[starts] == ord("-")) | (text[starts] == ord("+"))
        first = np.minimum(starts + signed, len(text) - 1)
        second = np.minimum(first + 1, len(text) - 1)
        digits = lengths - signed
        zero = (text[first] == ord("0")) & (digits > 0)
        if to.kind == "bigint":
            # Arrow also reads '007', '-0' and '0x1F'.
            odd = zero & ((digits > 1) | signed)
        else:
            last = text[np.maximum(starts + lengths - 1, 0)]
            odd = zero & (digits > 1) & (text[second] >= ord("0")) & (text[second] <= ord("9"))
            odd |= ((last < ord("0")) | (last > ord("9"))) & (last != ord("."))
    elif to.kind == "date":
        odd = lengths != 10
    else:
        # Arrow also reads '2024-01-05 10', an hour without minutes.
        odd = ~np.isin(lengths, _LENGTHS_OF_TIMES)
    odd &= lengths > 0  # nulls have no text; Arrow refuses other values without text
    return mask_array(~odd) if odd.any() else None


def _fits_pattern(chunk: pa.Array, to: CsvType) -> pa.BooleanArray:
    """Returns which values have the usual form, for chunks in which some have not; nulls have."""
    if to.kind == "timestamp":
        pattern = _USUAL_ZONED
    elif to.kind == "bigint":
        pattern = r"^(?:0|-?[1-9][0-9]{0,17})$"
    elif to.kind == "double":
        pattern = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$"
    elif to.kind == "decimal":
        whole = max(to.precision - to.scale, 1)
        fraction = rf"(?:\.[0-9]{{1,{to.scale}}})?" if to.scale else ""
        pattern = rf"^-?(?:0|[1-9][0-9]{{0,{whole - 1}}}){fraction}$"
    else:
        pattern = f"^{to.pattern}$"
    return pc.coalesce(pc.match_substring_regex(chunk, pattern), mask_array(np.ones(1, np.bool_))[0])


def _text_bytes(chunk: pa.Array) -> tuple[Bytes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns all bytes of the chunk's values, where each value starts, and how long each is; nulls are 0 long."""
    _, offset_buffer, data = chunk.buffers()
    if offset_buffer is None or data is None:
        empty = np.zeros(0, np.int64)
        return np.zeros(0, np.uint8), empty, empty
    offsets = np.frombuffer(offset_buffer, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8)[: int(offsets[-1])]
    return text, np.minimum(offsets[:-1], max(len(text) - 1, 0)), np.diff(offsets)


def _converter(to: CsvType) -> Callable[[str], Any]:
    """Returns a function from text to a value, which gives None for text that does not fit."""
    if to.kind == "boolean" and to.given:
        return _given_boolean
    if to.kind == "bigint" and to.given:
        return _given_whole_number
    assert to.pattern is not None, f"every other type has a pattern: {to.kind}"
    pattern = re.compile(to.pattern)
    parse: dict[str, Callable[[str], Any]] = {
        "boolean": lambda text: text.lower() == "true",
        "bigint": lambda text: _in_range(int(text)),
        "double": float,
        "decimal": lambda text: _decimal(text, to),
        "date": datetime.date.fromisoformat,
        "timestamp_ntz": datetime.datetime.fromisoformat,
        "timestamp": _instant,
    }

    def convert(text: str) -> Any:
        trimmed = text.strip(BLANKS)
        if to.kind == "bigint" and text[0] in "-123456789":
            trimmed = text.rstrip(_TRIMMED_BY_CASTS)  # Spark's cast looks at such a text before the pattern does
        if pattern.fullmatch(trimmed) is None:
            return None
        try:
            return parse[to.kind](trimmed)
        except (ValueError, OverflowError, InvalidOperation):
            return None

    return convert


def _given_boolean(text: str) -> bool | None:
    word = text.strip(_TRIMMED_BY_CASTS).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _given_whole_number(text: str) -> int | None:
    digits = text.strip(_TRIMMED_BY_CASTS)
    return _in_range(int(digits)) if re.fullmatch("[-+]?[0-9]{1,1000}", digits) else None


def _in_range(number: int) -> int | None:
    return number if number in _INT64 else None


def _decimal(text: str, to: CsvType) -> Decimal | None:
    number = Decimal(text).quantize(Decimal(1).scaleb(-to.scale), ROUND_HALF_UP, Context(prec=400))
    return number if len(number.as_tuple().digits) <= to.precision else None


def _instant(text: str) -> datetime.datetime | None:
    """Returns the time in UTC; a time without a zone is of the machine's zone, as in a Spark session."""
    zone = _ZONE.search(text)
    # A date has dashes too: only what follows a time is a zone.
    if zone is None or len(text) <= 10:
        return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
    minutes = 0
    if zone[2]:
        minutes = int(zone[3]) * 60 + int(zone[4] or 0)
        if minutes > _MOST_ZONE_MINUTES or int(zone[4] or 0) > 59:
            return None
    offset = datetime.timezone(datetime.timedelta(minutes=-minutes if zone[2] == "-" else minutes))
    return datetime.datetime.fromisoformat(text[: zone.start()]).replace(tzinfo=offset).astimezone(datetime.UTC)
