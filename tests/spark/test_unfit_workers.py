"""Workers whose Python cannot run kernels: a check goes on without them and says so, and other jobs say what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.api import WatchState
from holdfast.errors import SessionError

# What a worker of another minor version would be, for all that it or anybody else can see.
OTHER_VERSION = """
import sys
class Other(tuple):
    major, minor, micro, releaselevel, serial = 3, 99, 0, "final", 0
sys.version_info = Other((3, 99, 0, "final", 0))
"""
RULES = ["zip -> city", "not(t.zip = s.zip and t.id < s.id and t.city > s.city)", "not(t.id > 3)"]


@pytest.fixture(params=["bare", "other version"])
def reason(spark: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Why workers cannot run kernels, as a check tells it; they cannot, during the test."""
    python = tmp_path / "python"
    if request.param == "bare":
        python.write_text(f"#!/bin/sh\nexec '{sys.executable}' -S \"$@\"\n")
    else:
        (tmp_path / "sitecustomize.py").write_text(OTHER_VERSION)
        python.write_text(f"#!/bin/sh\nPYTHONPATH='{tmp_path}':\"$PYTHONPATH\" exec '{sys.executable}' \"$@\"\n")
    python.chmod(0o755)
    spark.conf.set("spark.sql.execution.pyspark.python", str(python))
    yield "No module named" if request.param == "bare" else "another version of Python"
    spark.conf.unset("spark.sql.execution.pyspark.python")


def rows() -> pa.Table:
    return pa.table({"id": [1, 2, 3, 4], "zip": ["a", "a", "b", "b"], "city": ["X", "Y", "Z", "Z"]})


def test_a_check_goes_on_in_spark_sql(spark: SparkSession, reason: str) -> None:
    table = rows()
    frame = spark.createDataFrame(list(zip(*table.to_pydict().values(), strict=True)), table.column_names)
    with hf.check(frame, RULES, key="id") as there, hf.check(table, RULES, key="id", engine="local") as here:
        assert there.to_dict()["rules"] == here.to_dict()["rules"]
        (note,) = there.outcome.notes
    assert f"cannot run kernels ({reason}" in note
    assert "checked by Spark SQL alone, which is slower" in note


def test_a_watch_says_what_is_missing(spark: SparkSession, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,zip,city\n1,a,X\n2,a,Y\n")
    with pytest.raises(SessionError, match=f"loading t.csv needs Spark's Python workers, .*: {reason}") as problem:
        WatchState.create(tmp_path / "state", path, RULES, key="id", engine="spark")
    assert ("install Holdfast" if "module" in reason else "have the same Python, here 3.") in str(problem.value)
    assert not (tmp_path / "state").exists() or not any((tmp_path / "state").rglob("*.parquet"))


def test_a_search_says_what_is_missing(spark: SparkSession, reason: str) -> None:
    frame = spark.createDataFrame([(1, "a")], "id int, zip string")
    with pytest.raises(SessionError, match=f"the rules of DataFrame needs Spark's Python workers, .*: {reason}"):
        hf.discover(frame)
