"""`where` conditions hold for the same rows in this process and on Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.engines.spark.arrow_table import frame_of
from holdfast.engines.spark.checking.rows import with_truths
from holdfast.errors import ConditionError
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.condition import parsed_condition
from holdfast.programs.form import Where

WIDE = 2**53
DAY = dt.datetime(2024, 1, 31)
TABLE = pa.table(
    {
        "k": pa.array(range(6), pa.int64()),
        "n": pa.array([1, 2, None, WIDE + 1, -3, 0], pa.int64()),
        "i": pa.array([1, -1, 7, None, 0, 3], pa.int32()),
        "x": pa.array([0.5, None, 2.0, float(WIDE), -0.0, float("nan")]),
        "f": pa.array([0.1, 0.5, None, 1.0, -0.0, 3.0], pa.float32()),
        "d": pa.array([Decimal("1.50"), None, Decimal("0.10"), Decimal("-2.00"), Decimal("0.00"), Decimal("7.25")]),
        "t": ["US", "DE", None, "o'x", "", "us"],
        "ok": [True, False, None, True, False, None],
        "day": pa.array([dt.date(2024, 1, 31), None, dt.date(2024, 2, 1), dt.date(2023, 1, 1)] + [None] * 2),
        "at": pa.array(
            [DAY, None, dt.datetime(2024, 1, 31, 12), dt.datetime(2023, 1, 1), None, None], pa.timestamp("us")
        ),
        "Mixed Case": ["a", "ab", "b", None, "A", "%"],
    }
)

# Each is computed here, and holds for the same rows on Spark.
CONDITIONS = (
    "n = 1", "n != 1", "n > x", "n = x", "n >= i", "n < 1.5", "n = 1.0", "i * 2 = n", "n % 2 = 1", "n % 2 = -1",
    "i % 2 = 1", "-n < -1", "n * 2 - 1 = 3", "n / 2 = 0.5", "x * 0.2 = 0.1", "x >= 0.5", "x = 0", "f = 0.1",
    "f < 0.11", "f = 0.5", "d = 1.5", "d > 0", "d + 1 = 2.5", "d * 2 > n", "d = x", "d < f", "d between 0 and 2",
    "n between -3 and 1", "t = 'US'", "t < 'V'", "t in ('US', 'us')", "t not in ('US', null)", "t is null or n = 1",
    "not t = 'US'", "t like 'U%'", "t not like '_S'", "`Mixed Case` like '%%'", "ok", "not ok", "ok and n > 0",
    "ok or n > 0", "ok = true", "day >= date '2024-01-31'", "day >= '2024-01-31'",
    "day = timestamp '2024-01-31 00:00:00'", "day < at", "at > day", "at = '2024-01-31 12:00:00'",
    "at >= '2024-01-31'", "null", "n = null", "n + null = 1", "n is not null", "true", "1 = 1", "2 < 1.5 or n = 2",
    "x > 1e300", "T = 'US'", "`mixed case` = 'a'", "n in (1, 2.0)", "x in (0.5, 2)", "not (n = 1 and ok)",
    "n <> 2 and t <> 'o''x'", "t = 'o''x'", "t = \"o'x\"", "t in ('', 'o''x', 'x''''')", "t like '_''x'",
    "t <> 'a\"\"b'", "t <> \"U\"\"S\"", "t <> 'o''x' and t <> \"U\"\"S\"",
)  # fmt: skip
# These say more than is computed here.
REFUSED = ("upper(t) = 'US'", "d / 3 > 0", "d % 2 = 1", "t = 5", "n = 'x'", "day = 5", "n and ok", "coalesce(n, 0) = 0")


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession) -> dict[str, list[int]]:
    """The rows of each condition, in one query."""
    return rows_by_spark(spark, CONDITIONS)


def rows_by_spark(spark: SparkSession, conditions: Sequence[str]) -> dict[str, list[int]]:
    names = TABLE.column_names
    frame = frame_of(spark, TABLE).toDF(*(f"c{i}" for i in range(len(names))))
    frame, truths = with_truths(frame, names, conditions)
    rows = frame.orderBy("c0").collect()
    return {condition: [row["c0"] for row in rows if row[truths[condition]]] for condition in conditions}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_holds_for_the_rows_that_spark_says(by_spark: dict[str, list[int]], condition: str) -> None:
    types = {field.name: arrow_column_type(field.type) for field in TABLE.schema}
    held = flag_values(Where(condition), TableColumns(TABLE, types, "sql"))
    assert [i for i, holds in enumerate(held) if holds] == by_spark[condition]


def test_a_doubled_mark_in_a_text_is_one_whatever_the_session_reads(spark: SparkSession) -> None:
    conditions = ["t = 'o''x'", "n <> 2 and t <> 'o''x'", "t in ('o''x', 'US')"]
    setting = "spark.sql.parser.escapedStringLiterals"
    spark.conf.set(setting, "true")
    try:
        held = rows_by_spark(spark, conditions)
        with hf.check(frame_of(spark, TABLE), "unique(n)", key="k", where=conditions[0]) as filtered:
            assert filtered.to_dict()["rows"] == 1
    finally:
        spark.conf.unset(setting)
    assert held == dict(zip(conditions, [[3], [0, 4, 5], [0, 3]], strict=True))


def test_marks_that_name_a_column_to_the_session_are_kept(spark: SparkSession) -> None:
    frame = frame_of(spark, TABLE.select(["k", "t"]).rename_columns(["k", 'a"b']))
    settings = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with read_or_refused(), hf.check(frame, "unique(k)", key="k", where="\"a\"\"b\" = 'o''x'") as filtered:
            assert filtered.to_dict()["rows"] == 1
    finally:
        for name, kept in before.items():
            spark.conf.set(name, str(kept))


def test_a_doubled_mark_that_sql_takes_in_no_other_words_is_read_or_refused(spark: SparkSession) -> None:
    condition = "t like 'o''''x' escape ''''"
    with read_or_refused():
        assert rows_by_spark(spark, [condition]) == {condition: [3]}


def read_or_refused() -> AbstractContextManager[Any]:
    """Nothing before Spark 4.1 says such a thing, and there it is refused in words."""
    old = tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 1)
    return pytest.raises(ConditionError, match="cannot be read") if old else nullcontext()


@pytest.mark.parametrize("condition", REFUSED)
def test_what_only_spark_can_tell_is_refused(condition: str) -> None:
    with pytest.raises(ConditionError):
        parsed_condition(condition).holds(TABLE)
