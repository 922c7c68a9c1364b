"""What a row breaks, and what a suggested change would resolve and add, is what reference.py counts."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from explained_violations import violations
from holdfast.engines.spark.checking.check import EngineName, plan_check, run_check
from holdfast.engines.spark.sources.table import Table
from random_frames import frame_of
from strategies import RandomRules, RandomTable, rule_sets, tables


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables().filter(lambda made: len(made.rows) > 1))
    return table, draw(rule_sets(table, size=4))


@pytest.mark.parametrize("engine", ["sql", "kernel"])
@settings(
    deadline=None,
    max_examples=3,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(case=cases())
def test_counts_before_and_after_are_those_of_the_reference(
    spark: SparkSession, engine: EngineName, case: tuple[RandomTable, RandomRules]
) -> None:
    table, random = case
    source = Table(frame_of(spark, table), "random")
    plan = plan_check(source, random.rules, ("id",))
    with run_check(spark, source, plan, limit=None, all_columns=True, engine=engine) as result:
        told = result.explain(table.rows[0]["id"])
        suggested = result.suggestions.to_spark().collect()
    before = violations(table.rows, random, table.rows[0]["id"])
    assert {one.rule.name: one.violations for one in told.broken} == before
    for one in told.broken:
        assert one.witness is not None
        assert told.row in (one.witness.left_key, one.witness.right_key)
    tried = [(told.row, one.column, one.suggested, one.resolves, one.adds, one.rules) for one in told.suggestions[:2]]
    tried += [(r.key, r.column, r.suggested, r.resolves, r.adds, tuple(r.rules)) for r in suggested[:3]]
    for key, column, text, resolves, adds, rules in tried:
        value = spark.range(1).select(F.lit(text).cast(table.types[column])).collect()[0][0]
        changed = [{**row, column: value} if row["id"] == key else row for row in table.rows]
        was, now = (violations(rows, random, key) for rows in (table.rows, changed))
        fewer = {name: was.get(name, 0) - now.get(name, 0) for name in {*was, *now}}
        assert resolves == sum(n for n in fewer.values() if n > 0)
        assert adds == -sum(n for n in fewer.values() if n < 0)
        assert list(rules) == sorted(name for name, n in fewer.items() if n > 0)
        assert resolves > adds
