"""PySpark logs failed queries with their stack traces: in a session of the caller's own, none of ours is among them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.errors import ConditionError, HoldfastError
from holdfast.rules.rule_file import parse_rules

pyspark_logger = pytest.importorskip("pyspark.logger", reason="the log came with PySpark 4")


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.names.append(record.name)


@pytest.fixture
def heard(spark: SparkSession) -> Iterator[list[str]]:
    """The log as a session has it that Holdfast did not start."""
    handler = Heard()
    logs = [
        pyspark_logger.PySparkLogger.getLogger(name)
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    ]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.WARNING)
        log.addHandler(handler)
    yield handler.names
    for log, level in zip(logs, before, strict=True):
        log.setLevel(level)
        log.removeHandler(handler)


def test_what_is_only_tried_is_not_logged(spark: SparkSession, heard: list[str], tmp_path: Path) -> None:
    counted = spark.range(4).selectExpr("id", "id % 2 AS a").groupBy("a").count()
    with hf.check(counted, "a -> count") as result:  # rows that are in no file are numbered otherwise
        assert result.holds
    outcome = hf.watch(spark.range(3), "unique(id)", key="id", checkpoint=tmp_path / "w", batch=0)
    assert outcome.applied
    assert heard == []


def test_what_is_told_in_our_own_words_is_not_logged(spark: SparkSession, heard: list[str], tmp_path: Path) -> None:
    wrong = parse_rules('[{rule: "unique(id)", where: "nothing = 1"}]')
    with pytest.raises(ConditionError):
        hf.check(spark.range(3), wrong)
    failing = spark.range(3).selectExpr("id", "IF(id < 0, '', CAST(raise_error('no') AS STRING)) AS a")
    with pytest.raises(HoldfastError):
        hf.check(failing, "id -> a")
    assert heard == []


def test_the_callers_own_failures_are(spark: SparkSession, heard: list[str]) -> None:
    with pytest.raises(AnalysisException):
        spark.range(1).select("nothing")
    assert heard == ["DataFrameQueryContextLogger"]
