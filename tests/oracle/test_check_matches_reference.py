"""check on Spark says of random tables and rules what reference.py says."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from holdfast import check, reference
from strategies import RandomRules, RandomTable, rule_sets, tables


def frame_of(spark: SparkSession, table: RandomTable) -> DataFrame:
    fields = [StructField(name, DataType.fromDDL(kind)) for name, kind in table.ddl_fields]
    return spark.createDataFrame([tuple(row.values()) for row in table.rows], StructType(fields))


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables())
    return table, draw(rule_sets(table))


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(case=cases())
def test_check_matches_reference(spark: SparkSession, case: tuple[RandomTable, RandomRules]) -> None:
    table, random = case
    expected = reference.check(table.rows, random.rules, where=random.conditions)
    with check(frame_of(spark, table), random.rules, limit=None) as result:
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
