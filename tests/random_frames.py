"""Random tables as DataFrames, on every PySpark that is supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType, _parse_datatype_string

if TYPE_CHECKING:
    from strategies import RandomTable


def frame_of(spark: SparkSession, table: RandomTable) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in table.rows], StructType(fields_of(table)))


def fields_of(table: RandomTable) -> list[StructField]:
    return [StructField(name, _type_of(kind)) for name, kind in table.ddl_fields]


def _type_of(name: str) -> DataType:
    """`DataType.fromDDL`, which PySpark 3.5 does not have."""
    return DataType.fromDDL(name) if hasattr(DataType, "fromDDL") else _parse_datatype_string(name)
