"""Values of changes take the types of the state alike on both engines, and those that do not fit are refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.spark.arrow_table import frame_of
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.errors import ChangeError
from holdfast.states.table_schema import schema_json

MONEY = pa.decimal128(10, 2)
CASES: list[tuple[Any, pa.DataType, pa.DataType]] = [
    (7, pa.int32(), pa.int64()),
    (300, pa.int64(), pa.int8()),
    (2.0, pa.float64(), pa.int64()),
    (2.5, pa.float64(), pa.int64()),
    (float("nan"), pa.float64(), pa.int32()),
    (2**53 + 1, pa.int64(), pa.float64()),
    (2**53, pa.int64(), pa.float64()),
    (0.1, pa.float64(), MONEY),
    (0.125, pa.float64(), MONEY),
    (0.1, pa.float64(), pa.float32()),
    (0.5, pa.float64(), pa.float32()),
    (Decimal("1.50"), MONEY, pa.int64()),
    (Decimal("2.00"), MONEY, pa.int64()),
    (Decimal("0.10"), MONEY, pa.float64()),
    (Decimal("0.10"), MONEY, pa.decimal128(5, 1)),
    (Decimal("0.15"), MONEY, pa.decimal128(5, 1)),
    (12345, pa.int64(), pa.decimal128(4, 0)),
    ("x", pa.string(), pa.int64()),
    (True, pa.bool_(), pa.int64()),
    (None, pa.null(), pa.int64()),
    (None, pa.float64(), pa.int64()),
]


def given_value(told: Any, schema: dict[str, Any]) -> Any:
    """The value in the type of the schema, or the error."""
    try:
        with told[0].translate_change_errors(told[1], schema):
            rows = told[0].typed_changes(told[1], schema).rows
            first = rows.first() if hasattr(rows, "first") else rows[0].to_pylist()[0]
            return first["c0"]
    except ChangeError as problem:
        return f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(("value", "own", "wanted"), CASES, ids=str)
def test_a_value_takes_a_type_or_is_refused_as_on_spark(
    spark: SparkSession, value: Any, own: pa.DataType, wanted: pa.DataType
) -> None:
    rows, schema = pa.table({"x": pa.array([value], own)}), schema_json(pa.schema({"x": wanted}))
    here, there = LocalEngine(), SparkEngine(spark)
    local = given_value((here, here.table_of(rows, "changes.csv")), schema)
    assert local == given_value((there, there.table_of(frame_of(spark, rows), "changes.csv")), schema)
    assert value is None or local is not None
