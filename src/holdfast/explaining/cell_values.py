"""Values for cells of a column: read from text, taken over from columns of other types, and the next one."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import decoded, one_array

_WIDE = Context(prec=200)
_DAY = re.compile(r"([+-]?\d{4,6})(?:-(\d{1,2}))?(?:-(\d{1,2}))?\Z")
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def read_texts(texts: Sequence[str | None], kind: ColumnType, stored: pa.DataType) -> pa.Array:
    """The texts as values of the type, null where a text is none: as Spark's TRY_CAST reads them.

    `stored` is the Arrow type of the column.
    """
    read = _READERS.get(kind.family)
    values = [None if text is None or read is None else read(text, kind) for text in texts]
    return typed(values, kind, stored)


def converted(array: pa.Array, source: ColumnType, kind: ColumnType, stored: pa.DataType) -> pa.Array:
    """Values of another type in this one, null where it cannot hold them: as Spark's TRY_CAST does. One call per
    distinct value where the types differ."""
    array = plain_array(array)
    if source.sql == kind.sql:
        return array if array.type == stored else array.cast(stored)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), stored)
    distinct = array.dictionary_encode()
    values = [None if value is None else _converted(value, kind) for value in distinct.dictionary.to_pylist()]
    return typed(values, kind, stored).take(distinct.indices)


def next_values(array: pa.Array, kind: ColumnType, *, up: bool) -> pa.Array:
    """The next value above each, or below; null where the type has no next one."""
    if kind.family not in ("integer", "date", "decimal"):
        return pa.nulls(len(array), array.type)
    step = 1 if up else -1
    values = [None if value is None else _next_value(value, kind, step) for value in array.to_pylist()]
    return typed(values, kind, array.type)


def typed(values: Sequence[Any], kind: ColumnType, stored: pa.DataType) -> pa.Array:
    """The values in the type, null where they are beyond it."""
    fitting = [None if value is None else _fitting(value, kind, stored) for value in values]
    if pa.types.is_decimal(stored):
        return pa.array(fitting, pa.decimal128(38, kind.scale)).cast(stored)
    if kind.family == "timestamp":
        return pa.array(fitting, pa.timestamp("us")).cast(stored)
    return pa.array(fitting, stored)


def plain_array(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values in one piece, and not as a dictionary."""
    return decoded(one_array(array))


def _fitting(value: Any, kind: ColumnType, stored: pa.DataType) -> Any:
    if kind.family == "integer":
        top = 2 ** (min(_INTEGER_BITS[kind.sql], stored.bit_width) - 1)
        return value if -top <= value < top else None
    if kind.family == "decimal":
        rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _WIDE)
        return rounded if rounded.copy_abs().scaleb(kind.scale, _WIDE) < 10**kind.precision else None
    return value


def _next_value(value: Any, kind: ColumnType, step: int) -> Any:
    if kind.family == "integer":
        return value + step
    if kind.family == "decimal":
        return _WIDE.add(value, Decimal(step).scaleb(-kind.scale))
    with suppress(OverflowError):
        return value + dt.timedelta(days=step)
    return None


def _converted(value: Any, kind: ColumnType) -> Any:
    if kind.family == "integer":
        if isinstance(value, float) and not math.isfinite(value):
            return None
        # The double 2^63 is the largest 64-bit integer to Spark.
        top = isinstance(value, float) and kind.sql == "bigint" and value == 2.0**63
        return 2**63 - 1 if top else int(Decimal(value).to_integral_value(ROUND_DOWN, _WIDE))
    if kind.family == "float":
        return _float(value, kind)
    if kind.family == "decimal":
        if isinstance(value, float):
            return Decimal(repr(value)) if math.isfinite(value) else None
        return Decimal(value)
    if kind.family == "date" and isinstance(value, dt.datetime):
        return value.date()
    if kind.family == "timestamp":
        return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else dt.datetime(*value.timetuple()[:3])
    return value


def _float(value: Any, kind: ColumnType) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value)) if kind.sql == "float" else float(value)


def _read_number(text: str, kind: ColumnType) -> Any:
    plain = text.strip()
    if kind.family == "integer":
        return int(plain) if re.fullmatch(r"[+-]?\d+", plain, re.ASCII) else None
    if kind.family == "float":
        named = {"inf": "inf", "infinity": "inf", "nan": "nan"}.get(plain.lower().lstrip("+-"))
        if named is not None:
            return -math.inf if plain.startswith("-") and named == "inf" else float(named)
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", plain, re.ASCII):
            return None
        return _float(plain.rstrip("dDfF"), kind)
    with suppress(InvalidOperation):
        number = Decimal(plain)
        return number if number.is_finite() else None
    return None


def _read_boolean(text: str, _: ColumnType) -> bool | None:
    plain = text.strip().lower()
    return True if plain in _TRUE else False if plain in _FALSE else None


def _read_date(text: str, _: ColumnType) -> dt.date | None:
    day = _DAY.match(re.split(r"[ T]", text.strip(), maxsplit=1)[0])
    with suppress(ValueError):
        return dt.date(int(day[1]), int(day[2] or 1), int(day[3] or 1)) if day else None
    return None


def _read_time(text: str, kind: ColumnType) -> dt.datetime | None:
    with suppress(ValueError):
        value = dt.datetime.fromisoformat(text.strip())
        if value.tzinfo is not None:
            # A time without a zone leaves one that is written out of account.
            value = value.astimezone(dt.UTC) if kind.sql == "timestamp" else value
        return value.replace(tzinfo=None)
    day = _read_date(text, kind) if re.fullmatch(r"\s*[\d+-]+\s*", text) else None
    return None if day is None else dt.datetime(*day.timetuple()[:3])


_READERS: dict[str, Callable[[str, ColumnType], Any]] = {
    "integer": _read_number,
    "decimal": _read_number,
    "float": _read_number,
    "boolean": _read_boolean,
    "date": _read_date,
    "timestamp": _read_time,
    "text": lambda text, _: text,
}
