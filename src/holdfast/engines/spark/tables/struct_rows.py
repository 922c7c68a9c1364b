"""Frames of several tables as one frame, and back: each row in a struct of its own table."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from holdfast.engines.tables.struct_rows import ANSWER, OF_TABLE, row_name


def struct_rows(frames: Iterable[DataFrame]) -> DataFrame:
    """Returns the rows of all frames."""
    parts = [frame.select(F.lit(i).alias(OF_TABLE), F.struct("*").alias(row_name(i))) for i, frame in enumerate(frames)]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)


def rows_of(rows: DataFrame, table: int) -> DataFrame:
    """Returns those of the frame with this number, under their own column names."""
    return rows.where(F.col(OF_TABLE) == table).select(f"{row_name(table)}.*")


def answer_of(rows: DataFrame, task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> Any:
    """Returns what the task, which gets all rows, tells of them; a row that is of no table comes with them, so that
    they are never none."""
    nobody = rows.sparkSession.range(1).select(F.lit(-1).alias(OF_TABLE))
    everything = rows.unionByName(nobody, allowMissingColumns=True).coalesce(1)
    lines = everything.mapInArrow(task, StructType([StructField(ANSWER, BinaryType())])).collect()
    return pickle.loads(lines[0][ANSWER])  # what the task has pickled
