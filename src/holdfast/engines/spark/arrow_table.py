"""DataFrames as Arrow tables, and Arrow tables as DataFrames, on every Spark that is supported."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

# PySpark 3.5 exchanges Arrow with Spark, but takes none from its users and hands none out.
_HAS_ARROW = hasattr(DataFrame, "toArrow")


def arrow_table(frame: DataFrame) -> pa.Table:
    """Returns the rows as an Arrow table; Spark computes them."""
    return frame.toArrow() if _HAS_ARROW else _arrow_of_3_5(frame).cast(to_arrow_schema(frame.schema))


def _arrow_of_3_5(frame: Any) -> pa.Table:
    if hasattr(frame, "_collect_as_arrow"):
        batches = frame._collect_as_arrow()
        return pa.Table.from_batches(batches) if batches else to_arrow_schema(frame.schema).empty_table()
    client = frame.sparkSession.client
    rows, _ = client.to_table(frame._plan.to_proto(client))
    return rows


def frame_of(spark: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """Returns the rows of an Arrow table as a DataFrame; with `schema`, in its types."""
    kinds = from_arrow_schema(table.schema) if schema is None else schema
    if _HAS_ARROW:
        return spark.createDataFrame(table, kinds)
    return spark.createDataFrame(list(zip(*(column.to_pylist() for column in table.columns), strict=True)), kinds)
