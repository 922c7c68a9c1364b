"""Types of Spark from their names, on every PySpark that is supported."""

from __future__ import annotations

from pyspark.sql.types import DataType, _parse_datatype_string


def type_of(name: str) -> DataType:
    """`DataType.fromDDL`, which PySpark 3.5 does not have."""
    return DataType.fromDDL(name) if hasattr(DataType, "fromDDL") else _parse_datatype_string(name)
