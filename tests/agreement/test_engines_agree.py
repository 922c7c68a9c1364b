"""The engines of check agree on tables too large for the reference."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from holdfast.rules.rule import Nulls, rule_set
from holdfast.spark import spread_engine
from holdfast.spark.check import EngineName, plan_check, run_check
from holdfast.spark.table import Table

ROWS = 1_500
RULES = [
    "unique(g, a)",
    "g -> z",
    "g, d -> z, e",
    "g = 3, d -> e",
    "g = 3, d -> e = 2",
    "not(t.g = s.g and t.a > s.a and t.b < s.b)",
    "not(t.a >= s.a and t.b < s.b and t.c > s.c and t.d = s.d)",
    "not(t.d = s.e and t.e = s.d and t.b != s.b)",
    "not(t.g = s.g and t.z < s.z and t.c > s.b)",
    "if t.g = s.g and t.a > s.a then t.b >= s.b and t.c >= s.c",
    "not(t.a > t.b and t.z = 's1')",
    "not(t.b > s.b and t.c < s.c and t.a = s.a)",
]


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Table:
    """Half of the rows share one g; some values are null, NaN or tied."""
    frame = spark.range(ROWS).selectExpr(
        "ROWS - id AS id".replace("ROWS", str(ROWS)),
        "IF(hash(id, 1) % 2 = 0, 0, pmod(hash(id, 2), 20)) AS g",
        "IF(pmod(hash(id, 3), 17) = 0, NULL, CAST(pmod(hash(id, 4), 60) AS BIGINT)) AS a",
        "pmod(hash(id, 5), 60) AS b",
        "IF(pmod(hash(id, 6), 23) = 0, double('NaN'), pmod(hash(id, 7), 80) / 2) AS c",
        "pmod(hash(id, 8), 6) AS d",
        "IF(pmod(hash(id, 9), 19) = 0, NULL, pmod(hash(id, 10), 6)) AS e",
        "concat('s', pmod(hash(id, 11), 9)) AS z",
    )
    return Table(frame.persist(), "random")


def found_by(spark: SparkSession, table: Table, engine: EngineName, nulls: Nulls) -> list[Any]:
    plan = plan_check(table, rule_set(RULES, nulls=nulls), ("id",))
    with run_check(spark, table, plan, limit=None, engine=engine) as result:
        frames = (result.pairs, result.rows, result.suspects)
        return [result.to_dict()["rules"], *(Counter(map(str, frame.collect())) for frame in frames)]


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_one_task_many_tasks_and_sql_find_the_same(
    spark: SparkSession, table: Table, nulls: Nulls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread_engine, "LEAST_ROWS", 900)  # so that this table is spread
    kernel = found_by(spark, table, "kernel", nulls)
    assert sum(not rule["holds"] for rule in kernel[0]) == len(RULES)
    assert found_by(spark, table, "spread", nulls) == kernel
    assert found_by(spark, table, "sql", nulls) == kernel


@pytest.mark.parametrize("engine", ["kernel", "spread", "sql"])
def test_a_key_that_occurs_twice_is_told_by_every_engine(spark: SparkSession, engine: EngineName) -> None:
    """Also where only the rows with that key break a rule."""
    frame = spark.sql("SELECT * FROM VALUES (1, 5, 1), (1, 5, 2), (2, 6, 3) AS t(id, g, a)").coalesce(1)
    table = Table(frame, "twice")
    plan = plan_check(table, rule_set(["not(t.g = s.g and t.a > s.a)", "unique(g)"]), ("id",))
    with run_check(spark, table, plan, limit=None, engine=engine) as result:
        assert result.outcome.key == ()
        assert any("not unique: '1' occurs 2 times" in note for note in result.outcome.notes)
        assert [found.violating_pairs for found in result.outcome.rules] == [1, 1]
