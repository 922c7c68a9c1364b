"""Suggestions in this process are those of Spark SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.demo.run import DATA, KEY, RULES, copy_demo
from holdfast.engines.spark.checking.check import EngineName, plan_check, run_check
from holdfast.engines.spark.sources.table import Table
from holdfast.explaining.explained_row import explained_row
from random_frames import frame_of
from row_trials import random_trial, suggested_lines
from strategies import RandomRules, RandomTable, rule_sets, tables


def test_of_the_demo_all_suggestions_and_explanations_agree(spark: SparkSession, tmp_path: Path) -> None:
    folder = copy_demo(tmp_path)
    suggested, explained = [], []
    for engine in ("local", "spark"):
        with hf.check(folder / DATA, folder / RULES, key=KEY, all_columns=True, engine=engine) as result:
            suggested.append(suggested_lines(list(result.suggestions)))
            explained.append([{**result.explain(row).to_dict(), "seconds": 0} for row in ("SO-2486", "SO-2593")])
    assert suggested[0] == suggested[1]
    assert len(suggested[0]) > 10
    assert explained[0] == explained[1]


# Of decimals with all digits that there are, Spark rounds the next value.
def plain(table: RandomTable) -> bool:
    return len(table.rows) > 1 and "decimal(38,20)" not in table.types.values()


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables().filter(plain))
    random = draw(rule_sets(table, size=4))
    assume(random_trial(table, random.rules).suggestions().num_rows > 1)
    return table, random


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["sql", "kernel"])
@settings(
    deadline=None,
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(case=cases())
def test_of_random_tables_all_suggestions_agree(
    spark: SparkSession, engine: EngineName, case: tuple[RandomTable, RandomRules]
) -> None:
    table, random = case
    source = Table(frame_of(spark, table), "random")
    plan = plan_check(source, random.rules, ("id",))
    with run_check(spark, source, plan, limit=None, all_columns=True, engine=engine) as result:
        expected = list(result.suggestions)
        told = result.explain(expected[0]["key"]).to_dict() if expected else None
    trial = random_trial(table, random.rules)
    found = trial.suggestions().to_pylist()
    if told is not None:
        here = explained_row(trial, expected[0]["key"], table="random").to_dict()
        assert {**here, "seconds": 0} == {**told, "seconds": 0}, f"{random.rules} {table.rows}"
    assert suggested_lines(found) == suggested_lines(expected), f"{random.rules} {table.rows}"
