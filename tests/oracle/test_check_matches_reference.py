"""check on Spark says of random tables and rules what reference.py says, in every way it has of running."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from holdfast import reference
from holdfast.engines.spark.checking.check import EngineName, plan_check, run_check
from holdfast.engines.spark.sources.table import Table
from strategies import RandomRules, RandomTable, rule_sets, tables

slowly = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


def frame_of(spark: SparkSession, table: RandomTable) -> DataFrame:
    fields = [StructField(name, DataType.fromDDL(kind)) for name, kind in table.ddl_fields]
    return spark.createDataFrame([tuple(row.values()) for row in table.rows], StructType(fields))


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables())
    return table, draw(rule_sets(table, size=6))


@settings(slowly, max_examples=40)
@given(case=cases())
def test_check_by_kernels_matches_reference(spark: SparkSession, case: tuple[RandomTable, RandomRules]) -> None:
    assert_matches(spark, case, "kernel")


@settings(slowly, max_examples=10)
@given(case=cases())
def test_check_by_sql_matches_reference(spark: SparkSession, case: tuple[RandomTable, RandomRules]) -> None:
    assert_matches(spark, case, "sql")


def assert_matches(spark: SparkSession, case: tuple[RandomTable, RandomRules], engine: EngineName) -> None:
    table, random = case
    expected = reference.check(table.rows, random.rules, where=random.conditions)
    source = Table(frame_of(spark, table), "random")
    with run_check(spark, source, plan_check(source, random.rules, ("id",)), limit=None, engine=engine) as result:
        pairs, rows, groups, suspects = (
            frame.collect() for frame in (result.pairs, result.rows, result.groups, result.suspects)
        )
        outcomes = result.outcome.rules
    for wanted, found in zip(expected, outcomes, strict=True):
        name, told = wanted.rule.name, f"{wanted.rule} {random.rules.nulls} {table.rows}"
        assert Counter((r.left, r.right) for r in pairs if r.rule == name) == Counter(wanted.pairs or ()), told
        assert {r.key: r.conflicts for r in rows if r.rule == name} == wanted.conflicts, told
        assert {r.key for r in suspects if r.rule == name} == wanted.suspects, told
        assert Counter((r.column, r["rows"], tuple(r["keys"])) for r in groups if r.rule == name) == Counter(
            (g.column, g.rows, g.keys) for g in wanted.groups or ()
        ), told
        assert found.violating_pairs == (None if wanted.pairs is None else len(wanted.pairs)), told
        assert found.violating_rows == len(wanted.conflicts), told
        assert found.suspect_rows == len(wanted.suspects), told
        assert found.violating_groups == wanted.violating_groups, told
        assert found.holds == wanted.holds, told
