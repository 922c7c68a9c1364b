"""Values as the text that Spark's CAST(value AS STRING) gives with ANSI on, as it is by default since Spark 4."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.encode.one_array import decoded, one_array

_MICROSECONDS_A_DAY = 86_400_000_000


def cell_texts(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column as results write them: bytes in hexadecimal, others as `spark_text` does."""
    whole = one_array(decoded(column))
    if pa.types.is_binary(whole.type):
        return pa.array([None if value is None else value.hex().upper() for value in whole.to_pylist()], pa.string())
    return spark_text(whole)


def spark_text(array: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Returns the values as text; nulls stay null.

    Numbers as Java prints them, decimals with all their digits, times without zeros behind the last digit of their
    seconds and, where they have a zone, in UTC. Bytes are read as UTF-8. Cost: numbers with a point, bytes and
    intervals cost a Python call per distinct value.

    >>> spark_text(pa.array([1e10, -0.0, 0.001, float("nan")])).to_pylist()
    ['1.0E10', '-0.0', '0.001', 'NaN']
    """
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if pa.types.is_dictionary(kind):
        return spark_text(array.dictionary).take(array.indices)
    if pa.types.is_floating(kind):
        single = kind.bit_width == 32
        return _by_value(array.cast(pa.float32()) if single else array, float32_text if single else float_text)
    if pa.types.is_decimal(kind):
        return _by_value(array, lambda value: format(value, "f"))
    if pa.types.is_timestamp(kind):
        return _time_texts(array)
    if pa.types.is_date(kind):
        return _with_plus(array.cast(pa.date32()).cast(pa.string()))
    if pa.types.is_duration(kind):
        return _by_value(array.cast(pa.duration("us")).view(pa.int64()), _interval_text)
    if pa.types.is_struct(kind):
        return _struct_texts(array)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _by_value(array, lambda value: value.decode("utf-8", "replace"))
    return array.cast(pa.string())


def float_text(value: float) -> str:
    """Returns the double as Java prints it: the fewest digits that read as it, but two of them at least.

    >>> float_text(1e7), float_text(123456.7), float_text(5e-324)
    ('1.0E7', '123456.7', '4.9E-324')
    """
    return _java_text(value, repr(value), lambda text: float(text) == value)


def float32_text(value: float) -> str:
    """Returns the number, which 32 bits hold, as Java prints a float."""
    single = np.float32(value)
    return _java_text(value, np.format_float_scientific(single, unique=True), lambda text: np.float32(text) == single)


def _java_text(value: float, shortest: str, reads_as_value: Callable[[str], bool]) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1.0, value) < 0 else "0.0"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    assert isinstance(exponent, int), "the value is finite"
    if len(digits) == 1 and reads_as_value(f"{value:.1e}"):
        # Of numbers of two digits Java takes the nearest, which may end in another digit than 0.
        sign, digits, exponent = Decimal(f"{value:.1e}").as_tuple()
        assert isinstance(exponent, int), "the value is finite"
    text, point = "".join(map(str, digits)), len(digits) + exponent
    minus = "-" if sign else ""
    if not -3 < point <= 7:
        return f"{minus}{text[0]}.{text[1:].rstrip('0') or '0'}E{point - 1}"
    whole, rest = (text[:point].ljust(point, "0"), text[point:]) if point > 0 else ("0", "0" * -point + text)
    return f"{minus}{whole}.{rest.rstrip('0') or '0'}"


def _by_value(array: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    """Each distinct value's text, at the places that have it."""
    if pa.types.is_floating(array.type):
        # By their bits: -0.0 is another text than 0.0.
        bits = pa.int64() if array.type.bit_width == 64 else pa.int32()
        encoded = array.view(bits).dictionary_encode()
        values = encoded.dictionary.view(array.type)
    else:
        encoded = array.dictionary_encode()
        values = encoded.dictionary
    texts = pa.array([text_of(value) for value in values.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def _time_texts(array: pa.Array) -> pa.Array:
    texts = array.cast(pa.timestamp("us")).cast(pa.string())
    return _with_plus(pc.replace_substring_regex(texts, r"\.?0*$", ""))


def _with_plus(dates: pa.Array) -> pa.Array:
    """Dates as text, with a sign before years of five digits."""
    return pc.replace_substring_regex(dates, r"^(\d{5,}-)", r"+\1")


def _interval_text(micros: int) -> str:
    days, rest = divmod(abs(micros), _MICROSECONDS_A_DAY)
    minutes, micro = divmod(rest, 60_000_000)
    seconds = f"{micro // 1_000_000:02}.{micro % 1_000_000:06}".rstrip("0").rstrip(".")
    seconds = seconds if len(seconds) > 1 else f"{micro // 1_000_000:02}"
    sign = "-" if micros < 0 else ""
    return f"INTERVAL '{sign}{days} {minutes // 60:02}:{minutes % 60:02}:{seconds}' DAY TO SECOND"


def _struct_texts(array: pa.StructArray) -> pa.Array:
    parts = [pc.fill_null(spark_text(array.field(i)), "null") for i in range(array.type.num_fields)]
    joined = pc.binary_join_element_wise(*parts, ", ")
    texts = pc.binary_join_element_wise("{", joined, "}", "")
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))
