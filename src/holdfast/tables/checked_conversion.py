"""Columns that have a type already become columns of another type, where no value changes by that."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.tables.arrow_arrays import arrow_array
from holdfast.tables.checked_columns import Unfit, arrow_type
from holdfast.tables.csv_types import CsvType

_INT64 = range(-(2**63), 2**63)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_NUMBERS = frozenset({"integer", "decimal", "float", "boolean"})


def can_convert(kind: pa.DataType, to: CsvType) -> bool:
    """Whether values of the type can become values of type `to` at all."""
    family = arrow_column_type(kind).family
    if to.kind == "text":
        return True
    if family in ("void", "text"):
        return True
    if family in _NUMBERS:
        return to.kind not in ("date", "timestamp_ntz")
    if family == "date":
        return to.kind in ("date", "timestamp", "timestamp_ntz")
    if family == "timestamp":
        number = to.kind in ("bigint", "double", "decimal")
        return to.kind in ("date", "timestamp", "timestamp_ntz") or (number and kind.tz is not None)
    return False


def checked_conversion(column: pa.ChunkedArray, to: CsvType) -> tuple[pa.ChunkedArray, Unfit | None]:
    """Returns the column as type `to`, and its first value that converting back does not give again, as text."""
    target = arrow_type(to)
    source = column.type
    if pa.types.is_dictionary(source):
        column = pc.cast(column, source.value_type)
    if column.type == target or pa.types.is_null(column.type):
        return pc.cast(column, target), None
    if to.kind in ("bigint", "double") and (pa.types.is_integer(source) or pa.types.is_floating(source)):
        try:
            return pc.cast(column, target), None
        except pa.ArrowInvalid:
            pass  # some value does not fit: which one is found below
    coded = pa.chunked_array([column.combine_chunks()]).chunk(0).dictionary_encode()
    originals = coded.dictionary.to_pylist()
    convert = _to_text(column.type) if to.kind == "text" else _converter(to, column.type)
    values = [convert(value) for value in originals]
    unfit = [code for code, value in enumerate(values) if value is None]
    if unfit:
        first = int(np.flatnonzero(np.isin(coded.indices.fill_null(-1).to_numpy(), unfit))[0])
        shown = _to_text(column.type)(originals[coded.indices[first].as_py()])
        return column.slice(0, 0).cast(target), Unfit(first, shown)
    return pa.chunked_array([arrow_array(values, target).take(coded.indices)]), None


def _converter(to: CsvType, source: pa.DataType) -> Callable[[Any], Any]:
    narrow = pa.types.is_float32(source)

    def convert(value: Any) -> Any:
        number: Any = value
        if isinstance(value, datetime.datetime):
            return _from_time(value, to)
        if isinstance(value, datetime.date):
            midnight = datetime.datetime(value.year, value.month, value.day)
            return midnight.astimezone(datetime.UTC) if to.kind == "timestamp" else midnight
        try:
            if to.kind == "boolean":
                return bool(value) if value in (0, 1) else None
            if to.kind == "bigint":
                number = int(value)
                return number if number == value and number in _INT64 else None
            if to.kind == "double":
                number = float(value)
                return number if isinstance(value, float) or _same_decimal(number, value) else None
            if to.kind == "timestamp":
                return _EPOCH + datetime.timedelta(microseconds=round(value * 1_000_000))
            shortest = Decimal(str(np.float32(value)) if narrow else repr(value)) if isinstance(value, float) else value
            exact = Decimal(shortest).quantize(Decimal(1).scaleb(-to.scale), ROUND_HALF_UP, Context(prec=400))
            if len(exact.as_tuple().digits) > to.precision:
                return None
            back = float(np.float32(float(exact))) if narrow else float(exact) if isinstance(value, float) else exact
            return exact if back == value else None
        except (ValueError, OverflowError, InvalidOperation):
            return None

    return convert


def _same_decimal(number: float, value: Any) -> bool:
    if isinstance(value, Decimal):
        # Spark casts a double to decimal by its shortest text.
        scale = Decimal(1).scaleb(int(value.as_tuple().exponent))
        return Decimal(repr(number)).quantize(scale, ROUND_HALF_UP, Context(prec=400)) == value
    return math.isfinite(number) and int(number) == value


def _from_time(value: datetime.datetime, to: CsvType) -> Any:
    if to.kind == "date":
        local = value.astimezone() if value.tzinfo else value
        return local.date() if local.time() == datetime.time() else None
    if to.kind == "timestamp":
        return value.astimezone(datetime.UTC)
    if to.kind == "timestamp_ntz":
        return value.astimezone().replace(tzinfo=None)
    seconds = Decimal((value - _EPOCH) // datetime.timedelta(microseconds=1)).scaleb(-6)
    if to.kind == "bigint":
        return int(seconds) if seconds == int(seconds) else None
    return float(seconds) if to.kind == "double" else seconds


def _to_text(source: pa.DataType) -> Callable[[Any], str]:
    """Returns a function from values of the type to text as Spark casts it."""
    if pa.types.is_floating(source):
        return lambda value: _java_float(value, single=source.bit_width == 32)
    return _plain_text


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, datetime.datetime):
        local = value.astimezone().replace(tzinfo=None) if value.tzinfo else value
        text = local.isoformat(sep=" ")
        return text.rstrip("0") if "." in text else text
    if isinstance(value, dict):
        return "{" + ", ".join("null" if v is None else _plain_text(v) for v in value.values()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join("null" if v is None else _plain_text(v) for v in value) + "]"
    return _java_float(value) if isinstance(value, float) else str(value)


def _java_float(value: float, *, single: bool = False) -> str:
    """Returns the number as Java writes it.

    >>> _java_float(1.5), _java_float(1e10), _java_float(0.0001)
    ('1.5', '1.0E10', '1.0E-4')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1, value) < 0 else ""
    shortest = str(np.float32(abs(value))) if single else repr(abs(value))
    _, digits, exponent = Decimal(shortest).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)  # the number is 0.TEXT times ten to this power
    if value == 0:
        return sign + "0.0"
    if -3 < point <= 7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{text}"
        whole, fraction = text[:point].ljust(point, "0"), text[point:]
        return f"{sign}{whole}.{fraction or '0'}"
    return f"{sign}{text[0]}.{text[1:] or '0'}E{point - 1}"
