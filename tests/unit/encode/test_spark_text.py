"""Texts are those of Spark's CAST(… AS STRING), as they were seen; `tests/agreement` compares with a live session."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from holdfast.encode.spark_text import spark_text

KNOWN: list[tuple[str, Any, pa.DataType]] = [
    ("1.0E10", 1e10, pa.float64()),
    ("1.0E7", 1e7, pa.float64()),
    ("9999999.0", 9999999.0, pa.float64()),
    ("0.001", 0.001, pa.float64()),
    ("1.0E-4", 0.0001, pa.float64()),
    ("4.9E-324", 5e-324, pa.float64()),
    ("-0.0", -0.0, pa.float64()),
    ("NaN", float("nan"), pa.float64()),
    ("-Infinity", -float("inf"), pa.float64()),
    ("0.1", 0.1, pa.float32()),
    ("1.4E-45", 1e-45, pa.float32()),
    ("0.00000000010000000000", Decimal("1e-10"), pa.decimal128(38, 20)),
    ("-7", -7, pa.int16()),
    ("true", True, pa.bool_()),
    ("2024-01-31", dt.date(2024, 1, 31), pa.date32()),
    ("2024-01-31 12:00:00", dt.datetime(2024, 1, 31, 12), pa.timestamp("us")),
    ("2024-01-31 12:00:00.05", dt.datetime(2024, 1, 31, 12, 0, 0, 50_000), pa.timestamp("us", "UTC")),
    ("2024-01-31 11:00:00", dt.datetime(2024, 1, 31, 11), pa.timestamp("us", "Europe/Berlin")),
    ("ab", b"ab", pa.binary()),
    ("{1, null}", {"x": 1, "y": None}, pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ("INTERVAL '-1 02:03:04.5' DAY TO SECOND", -dt.timedelta(1, 4.5, 0, 0, 3, 2), pa.duration("us")),
    ("INTERVAL '0 00:00:00' DAY TO SECOND", dt.timedelta(0), pa.duration("us")),
]


@pytest.mark.parametrize(("known", "value", "kind"), KNOWN)
def test_a_value_is_the_text_it_is_on_spark(known: str, value: Any, kind: pa.DataType) -> None:
    assert spark_text(pa.array([value, None], kind)).to_pylist() == [known, None]
    if not pa.types.is_struct(kind):
        assert spark_text(pa.array([value, None, value], kind).dictionary_encode()).to_pylist() == [known, None, known]
