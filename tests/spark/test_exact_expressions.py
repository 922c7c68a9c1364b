"""Expressions on Spark are worth what they are in this process, in strict sessions too and whatever their time zone."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import holdfast as hf

TYPES = {
    "id": ("bigint", pa.int64()),
    "net": ("bigint", pa.int64()),
    "tax": ("bigint", pa.int64()),
    "total": ("bigint", pa.int64()),
    "long": ("decimal(38,18)", pa.decimal128(38, 18)),
    "x": ("double", pa.float64()),
    "text": ("string", pa.string()),
    "day": ("date", pa.date32()),
    "at": ("timestamp_ntz", pa.timestamp("us")),
}
# The times are those that New York skips in spring, and one before 1970.
ROWS: list[tuple[Any, ...]] = [
    (1, 100, 19, 119, Decimal("1.5"), 0.1, "ÀB ", dt.date(2024, 3, 1), dt.datetime(2024, 3, 10, 2, 30)),
    (2, 200, 38, 239, Decimal("12345678901234567890.000000000000000001"), 0.30000000000000004, "ß",
     dt.date(2024, 2, 28), dt.datetime(2024, 3, 10, 3, 29, 59, 999999)),
    (3, 2**63 - 1, -5, 51, None, float("nan"), "ΑΣ", None, dt.datetime(1969, 12, 31, 23, 59, 59, 1)),
    (4, -(2**63), 0, 1, Decimal("-0.1"), float("inf"), None, dt.date(1900, 1, 1), None),
]  # fmt: skip
RULES = [
    "not(t.total != t.net + t.tax)",
    "not(t.net * t.net * t.net > 5)",
    "not(-t.net > 0)",
    "not(t.net / t.tax > 5)",
    "not(t.net % t.tax = 5)",
    "not(t.long * t.long > 2)",
    "not(t.long + t.long > 3.5)",
    "not(t.long * t.long >= s.long + s.long)",
    "not(coalesce(t.long, 0) + 1 > 0)",
    "not(abs(t.long - s.long) > 1e30)",
    "not(abs(t.x - s.x) <= 0.2)",
    "not(abs(t.x - s.x) != 0.2)",
    "not(round(t.x, 1) = 0.3)",
    "not(floor(t.x * 10) + ceil(-t.long) > -3)",
    "not(t.net - s.net > 100)",
    "not(t.at - s.at <= 3600)",
    "not(abs(t.at - s.at) > 3599.999998)",
    "not(abs(t.day - s.day) <= 2)",
    "not(hour(t.at) = 2 and year(t.day) > 2000)",
    "not(lower(t.text) = upper(s.text))",
    "not(length(trim(t.text)) >= 2)",
]


@pytest.mark.parametrize("strict", ["true", "false"])
def test_expressions_are_worth_the_same_on_both_engines(spark: SparkSession, strict: str) -> None:
    settings = {"spark.sql.ansi.enabled": strict, "spark.sql.session.timeZone": "America/New_York"}
    before = {name: spark.conf.get(name) for name in settings}
    places = enumerate(TYPES.items())
    here = pa.table({name: pa.array([row[i] for row in ROWS], kind) for i, (name, (_, kind)) in places})
    frame = spark.createDataFrame(ROWS, ", ".join(f"{name} {sql}" for name, (sql, _) in TYPES.items()))
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        wanted = hf.check(here, RULES, key="id", engine="local")
        found = hf.check(frame, RULES, key="id")
        assert found.to_dict()["rules"] == wanted.to_dict()["rules"]
        assert found.outcome.notes == wanted.outcome.notes
        assert len(wanted.outcome.notes) == 5  # one cube, two divisions by zero, two squares of a long decimal
        assert sorted(map(str, found.pairs)) == sorted(map(str, wanted.pairs))
        assert found.explain(2).suggestions == wanted.explain(2).suggestions
    finally:
        for name, was in before.items():
            spark.conf.set(name, str(was))
