"""Values as text, as Spark writes them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa


def spark_text(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values as Spark's CAST AS STRING writes them; times with a zone in UTC. One call per distinct value.

    >>> spark_text(pa.array([1.0, 1e10, None])).to_pylist()
    ['1.0', '1.0E10', None]
    """
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    if pa.types.is_dictionary(whole.type):
        whole = whole.cast(whole.type.value_type)
    if pa.types.is_null(whole.type):
        return pa.nulls(len(whole), pa.string())
    if pa.types.is_string(whole.type) or pa.types.is_large_string(whole.type):
        return whole.cast(pa.string())
    if pa.types.is_floating(whole.type):  # -0.0 and 0.0 are one value of a dictionary, and two texts
        write = _float_text(np.float32 if whole.type == pa.float32() else np.float64)
        return pa.array([None if value is None else write(value) for value in whole.to_pylist()], pa.string())
    distinct = whole.dictionary_encode()
    texts = [None if value is None else _text(value) for value in distinct.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(distinct.indices)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        return text.rstrip("0") if value.microsecond else text
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def _float_text(kind: type[np.floating[Any]]) -> Callable[[float], str]:
    def write(value: float) -> str:
        if value != value:
            return "NaN"
        if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
        if value == 0 or 1e-3 <= abs(value) < 1e7:
            return np.format_float_positional(kind(value), trim="0")
        digits, exponent = np.format_float_scientific(kind(value), trim="0", exp_digits=1).split("e")
        return f"{digits}E{int(exponent)}"

    return write
