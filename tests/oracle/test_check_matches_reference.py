"""check on Spark says of random tables and rules what reference.py says, in every way it has of running."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from holdfast import reference
from holdfast.checking.grid import BlockTask
from holdfast.engines.spark.checking import spread_engine
from holdfast.engines.spark.checking.check import EngineName, plan_check, run_check
from holdfast.engines.spark.checking.spread_engine import SpreadLimits
from holdfast.engines.spark.sources.table import Table
from holdfast.rules.rule import rule_set
from holdfast.violations.route import Blocks, Meeting, routes_sql
from matching_checks import assert_check_matches
from random_frames import frame_of
from strategies import RandomRules, RandomTable, rule_sets, tables

SPREAD = SpreadLimits(least_rows=2)  # so that a few rows are several pieces of work
slowly = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables())
    return table, draw(rule_sets(table, size=6))


@settings(slowly, max_examples=15)
@given(case=cases())
def test_check_by_kernels_matches_reference(spark: SparkSession, case: tuple[RandomTable, RandomRules]) -> None:
    assert_matches(spark, case, "kernel")


@settings(slowly, max_examples=5)
@given(case=cases())
def test_check_by_sql_matches_reference(spark: SparkSession, case: tuple[RandomTable, RandomRules]) -> None:
    assert_matches(spark, case, "sql")


def spread_example() -> tuple[RandomTable, RandomRules]:
    """Rules of every way to spread: a grid, one heavy value, rows that meet as left row here and as right row there."""
    rows = tuple({"id": i, "g": i % 7 // 5, "a": i % 4, "b": None if i == 3 else 5 - i % 5} for i in range(9))
    texts = (
        "not(t.a > s.a and t.b < s.b)",
        "not(t.g = s.g and t.a > s.a and t.b < s.b)",
        "not(t.g = s.a and t.b != s.b)",
        "not(t.a = s.b and t.b = s.a and t.g != s.g)",
    )
    return RandomTable(dict.fromkeys(rows[0], "bigint"), rows), RandomRules(rule_set(texts, key=("id",)), {})


def test_check_by_spread_tasks_matches_reference(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    divided: set[str] = set()

    def routes(meets: Meeting, buckets: int, blocks: Blocks | None) -> str:
        divided.update({"buckets"} if buckets > 1 else (), {"blocks"} if blocks is not None else ())
        return routes_sql(meets, buckets, blocks)

    def block_task(*arguments: Any) -> BlockTask:
        divided.add("grid")
        return BlockTask(*arguments)

    monkeypatch.setattr(spread_engine, "routes_sql", routes)
    monkeypatch.setattr(spread_engine, "BlockTask", block_task)

    @settings(slowly, max_examples=1)
    @example(case=spread_example())
    @given(case=cases())
    def matches(case: tuple[RandomTable, RandomRules]) -> None:
        assert_matches(spark, case, "spread")

    matches()
    assert divided == {"buckets", "blocks", "grid"}


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["kernel", "sql", "spread"])
@settings(slowly, max_examples=60)
@given(case=cases())
def test_many_checks_match_reference(
    spark: SparkSession, engine: EngineName, case: tuple[RandomTable, RandomRules]
) -> None:
    assert_matches(spark, case, engine)


def assert_matches(spark: SparkSession, case: tuple[RandomTable, RandomRules], engine: EngineName) -> None:
    table, random = case
    expected = reference.check(table.rows, random.rules, where=random.conditions)
    source = Table(frame_of(spark, table), "random")
    with run_check(
        spark, source, plan_check(source, random.rules, ("id",)), limit=None, engine=engine, spread=SPREAD
    ) as result:
        pairs, rows, groups, suspects = (
            table.to_spark().collect() for table in (result.pairs, result.rows, result.groups, result.suspects)
        )
        outcomes = result.outcome.rules
    listed = [[row.asDict(recursive=True) for row in rows] for rows in (pairs, rows, groups, suspects)]
    assert_check_matches(case, expected, outcomes, listed)
