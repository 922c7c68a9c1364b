"""A table of a result that Spark computes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from holdfast.checking.output_folders import spark_place
from holdfast.engines.result_table import ResultTable
from holdfast.engines.spark.arrow_table import arrow_table
from holdfast.errors import OutputError


class FrameResult(ResultTable):
    """The rows of a DataFrame, which runs whenever they are used."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    @property
    def columns(self) -> list[str]:
        return self._frame.columns

    def to_arrow(self) -> pa.Table:
        return arrow_table(self._frame)

    def to_pandas(self) -> Any:
        return self._frame.toPandas()

    def to_spark(self) -> DataFrame:
        return self._frame

    def count(self) -> int:
        return self._frame.count()

    def write_parquet(self, folder: str) -> None:
        try:
            self._frame.write.mode("overwrite").parquet(spark_place(folder))
        except PySparkException as problem:
            reason = str(problem).strip().splitlines()[0]
            raise OutputError(f"cannot write results to {folder!r}: {reason}") from problem

    def _first(self, rows: int) -> list[dict[str, Any]]:
        return [row.asDict(recursive=True) for row in self._frame.limit(rows).collect()]
