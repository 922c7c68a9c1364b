"""Metrics of checks, in a Parquet table that grows."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from holdfast.checking.metrics import METRICS, metric_lines
from holdfast.checking.outcome import CheckOutcome
from holdfast.checking.output_folders import spark_place
from holdfast.errors import OutputError


def append_metrics(spark: SparkSession, outcome: CheckOutcome, folder: str) -> None:
    """A line for each rule of the check, added to the Parquet table in the folder."""
    place = spark_place(folder)
    schema = ", ".join(f"{name} {kind}" for name, kind in METRICS.items())
    try:
        spark.createDataFrame(metric_lines(outcome), schema).coalesce(1).write.mode("append").parquet(place)
    except PySparkException as problem:
        reason = str(problem).strip().splitlines()[0]
        raise OutputError(f"cannot add metrics to {folder!r}: {reason}") from problem
