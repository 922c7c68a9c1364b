"""Frames of several tables as one frame, and back: each row in a struct of its own table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from holdfast.engines.tables.struct_rows import OF_TABLE, row_name


def struct_rows(frames: Iterable[DataFrame]) -> DataFrame:
    """Returns the rows of all frames."""
    parts = [frame.select(F.lit(i).alias(OF_TABLE), F.struct("*").alias(row_name(i))) for i, frame in enumerate(frames)]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)


def rows_of(rows: DataFrame, table: int) -> DataFrame:
    """Returns those of the frame with this number, under their own column names."""
    return rows.where(F.col(OF_TABLE) == table).select(f"{row_name(table)}.*")
