"""Frames that several queries read: kept by Spark where it may keep them, and computed for each query where it may not.

Serverless Spark refuses to persist tables and to change most settings. Nothing else needs either of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from holdfast.engines.spark.query_log import query_log_off

NOTE = (
    "this Spark does not keep tables between queries (it refuses PERSIST): the data is read again for each step, "
    "which is slower, and must not change meanwhile"
)
# How platforms say that something is not for them, in the error's condition or its state (SQLSTATE). Servers of Spark
# Connect may send both in the message alone.
_NOT_HERE = ("NOT_SUPPORTED", "UNSUPPORTED", "NOT_IMPLEMENTED", "CONFIG_NOT_AVAILABLE", "CANNOT_MODIFY")
_FEATURE_NOT_SUPPORTED = "0A000"


class KeptFrame:
    """A frame that several queries read, until `close()`."""

    def __init__(self, frame: DataFrame) -> None:
        self.frame, self.is_kept = frame, True
        try:
            with query_log_off():
                self.frame = frame.persist()
        except PySparkException as problem:
            if not is_refusal(problem):
                raise
            self.is_kept = False

    def close(self) -> None:
        if self.is_kept:
            self.frame.unpersist()


def is_refusal(problem: PySparkException) -> bool:
    """Whether the platform says that it does not do this for anybody, which is no mistake in what was asked."""
    text = str(problem)
    condition = re.match(r"\[([A-Z_]+)", text)
    return f"SQLSTATE: {_FEATURE_NOT_SUPPORTED}" in text or (
        condition is not None and condition[1].startswith(_NOT_HERE)
    )


def setting_of(spark: SparkSession, name: str, default: str) -> str:
    """The session's setting; the default where none is set, or where the platform keeps its settings to itself."""
    try:
        with query_log_off():
            value = spark.conf.get(name, default)
    except PySparkException as problem:
        if not is_refusal(problem):
            raise
        value = None
    return default if value is None else str(value)


@contextmanager
def kept_plainly(spark: SparkSession) -> Iterator[None]:
    """Frames that are persisted and first used in here are kept as they are: compressing takes longer than the scan."""
    setting = "spark.sql.inMemoryColumnarStorage.compressed"
    before = setting_of(spark, setting, "true")
    changed = _is_set_to(spark, setting, "false")
    try:
        yield
    finally:
        if changed:
            spark.conf.set(setting, before)


def _is_set_to(spark: SparkSession, name: str, value: str) -> bool:
    """Sets it; returns whether the platform takes it."""
    try:
        with query_log_off():
            spark.conf.set(name, value)
    except PySparkException as problem:
        if not is_refusal(problem):
            raise
        return False
    return True
