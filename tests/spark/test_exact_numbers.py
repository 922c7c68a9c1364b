"""Decimals beside doubles compare by their exact values, and a null beside either, or beside anything, is a null."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from holdfast import reference
from holdfast.engines.spark.checking.check import EngineName, plan_check, run_check
from holdfast.engines.spark.sources.table import Table
from holdfast.rules.rule import Nulls, rule_set

RULES = ["not(t.b < s.a)", "not(t.b = s.a)", "not(t.a < t.b)", "not(t.b >= s.a)", "not(t.i = s.b)", "not(t.i < s.a)"]


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("engine", ["kernel", "sql"])
def test_mixed_numbers_compare_as_the_reference_does(spark: SparkSession, nulls: Nulls, engine: EngineName) -> None:
    frame = spark.sql(
        "SELECT id, CAST(a AS DECIMAL(38,20)) AS a, CAST(b AS DOUBLE) AS b, i FROM VALUES\n"
        "(1, NULL, '-0.0', 0L), (2, '0.1', '0.1', 9007199254740993L), (3, '0', 'NaN', NULL),\n"
        "(4, '0.5', NULL, 9223372036854775807L), (5, '0.5', '9223372036854775808', 1L),\n"
        "(6, '1', '0.5', 9007199254740992L)\n"
        "AS t(id, a, b, i)"
    )
    table, rules = Table(frame, "numbers"), rule_set(RULES, key=["id"], nulls=nulls)
    expected = reference.check([row.asDict() for row in frame.collect()], rules)
    with run_check(spark, table, plan_check(table, rules, ("id",)), limit=None, engine=engine) as result:
        pairs = result.pairs.to_spark().collect()
        counts = [(found.violating_pairs, found.violating_rows) for found in result.outcome.rules]
    for wanted, found in zip(expected, counts, strict=True):
        listed = sorted((r.left, r.right) for r in pairs if r.rule == wanted.rule.name)
        assert listed == sorted(wanted.pairs or ()), str(wanted.rule)
        assert found == (None if wanted.pairs is None else len(wanted.pairs), len(wanted.conflicts)), str(wanted.rule)


@pytest.mark.parametrize("engine", ["kernel", "sql", "spread"])
def test_columns_without_values_compare_whatever_their_types(spark: SparkSession, engine: EngineName) -> None:
    frame = spark.sql("SELECT id, CAST(NULL AS DATE) AS a, CAST(NULL AS BIGINT) AS b FROM VALUES (1), (2) AS t(id)")
    table = Table(frame, "nothing")
    rules = rule_set(["not(t.a = s.b)", "not(t.a < s.b)", "not(t.a = t.b)"], key=["id"], nulls="equal")
    with run_check(spark, table, plan_check(table, rules, ("id",)), limit=None, engine=engine) as result:
        assert [found.violating_rows for found in result.outcome.rules] == [2, 0, 2]
