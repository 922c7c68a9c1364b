"""The engines of check agree on tables too large for the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from holdfast.checking.sql_steps import sql_steps
from holdfast.engines.spark.checking.check import EngineName, plan_check, run_check
from holdfast.engines.spark.checking.spread_engine import SpreadLimits
from holdfast.engines.spark.sources.table import Table
from holdfast.programs.sql_forms import LISTED
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import Nulls, Rule, parse_rule, rule_set

ROWS = 250
SPREAD = SpreadLimits(least_rows=150)  # so that a table of so many rows is spread
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
    "not(t.b >= s.b and t.c < s.c)",
    "if t.g = s.g and t.a > s.a then t.b >= s.b and t.d > 0",
    "if t.d = s.e and t.a > s.a then t.b >= s.b and t.d > 0",
]
# A grouping, and rows that meet as left row here and as right row there in a rule of several denials, with rows that
# break it alone; a heavy value and a grid are met in the oracle.
FEW_RULES = [RULES[n] for n in (2, 14)]
# On a large table each of these goes its own way alone, and together they share groupings.
DEPENDENCIES = ["g, d -> z", "d, g -> z, e", "g -> z", "g -> d", "g = 3, d -> e", "unique(g, d)", "d -> e"]


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


def found_by(
    spark: SparkSession, table: Table, engine: EngineName, nulls: Nulls, rules: Sequence[str | Rule] = RULES
) -> list[Any]:
    plan = plan_check(table, rule_set(rules, nulls=nulls), ("id",))
    with run_check(spark, table, plan, limit=None, engine=engine, spread=SPREAD) as result:
        assert all(found.witness is not None for found in result.detailed.rules if not found.holds)
        tables = (result.pairs, result.rows, result.suspects)
        return [result.to_dict()["rules"], *(Counter(map(str, table)) for table in tables)]


@pytest.mark.parametrize(
    ("nulls", "rules"),
    [
        ("sql", FEW_RULES),
        pytest.param("sql", RULES, marks=pytest.mark.soak),
        pytest.param("equal", RULES, marks=pytest.mark.soak),
    ],
    ids=["few", "sql", "equal"],
)
def test_one_task_many_tasks_and_sql_find_the_same(
    spark: SparkSession, table: Table, nulls: Nulls, rules: list[str]
) -> None:
    kernel = found_by(spark, table, "kernel", nulls, rules)
    assert sum(not rule["holds"] for rule in kernel[0]) == len(rules)
    assert found_by(spark, table, "spread", nulls, rules) == kernel
    assert found_by(spark, table, "sql", nulls, rules) == kernel


@pytest.mark.parametrize(
    ("nulls", "compared"),
    [
        ("sql", {4}),
        pytest.param("sql", set(range(len(DEPENDENCIES))), marks=pytest.mark.soak),
        pytest.param("equal", set(range(len(DEPENDENCIES))), marks=pytest.mark.soak),
    ],
    ids=["few", "sql", "equal"],
)
def test_rules_that_share_a_grouping_find_what_each_finds_alone(
    spark: SparkSession, table: Table, nulls: Nulls, compared: set[int]
) -> None:
    rules = [parse_rule(text, name=f"r{i}") for i, text in enumerate(DEPENDENCIES)]
    rules[2] = replace(rules[2], where="b > 20")
    plan = plan_check(table, rule_set(rules, nulls=nulls), ("id",))
    assert [len(grouping.which) for grouping in sql_steps(plan).groupings] == [len(DEPENDENCIES)]
    together = found_by(spark, table, "sql", nulls, rules)
    assert together == found_by(spark, table, "kernel", nulls, rules)
    for i in compared:
        rule, told = rules[i], together[0][i]
        alone = plan_check(table, rule_set([rule], nulls=nulls), ("id",))
        assert not any(grouping.shared for grouping in sql_steps(alone).groupings)
        with run_check(spark, table, alone, limit=None, engine="sql") as result:
            assert result.to_dict()["rules"] == [told]


@pytest.mark.parametrize("engine", ["kernel", "sql", pytest.param("spread", marks=pytest.mark.soak)])
def test_a_long_tableau_says_what_its_lines_say(spark: SparkSession, table: Table, engine: EngineName) -> None:
    """Every engine looks its values up; a tableau short enough to be listed in SQL gives the same per value."""

    def line(g: int) -> Pattern:
        wanted = (None, None) if g % 2 else (None, Constant(f"s{g % 9}", raw=True))
        return Pattern((Constant(str(g), raw=True), None), wanted)

    def counts(lines: Sequence[Pattern]) -> dict[str, Any]:
        plan = plan_check(table, rule_set([Rule("r", CFD(("g", "d"), ("e", "z"), tuple(lines)))]), ("id",))
        assert bool(plan.lookups) == (len(lines) > LISTED)
        with run_check(spark, table, plan, limit=None, engine=engine) as result:
            found = result.to_dict()["rules"][0]
            assert result.rows.count() == found["violating_rows"]
            return found

    # Some of the first lines fit rows; the others fit none.
    few = [line(g) for g in range(6)]
    assert counts([*few, *(line(g) for g in range(100, 500))]) == counts(few)


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
