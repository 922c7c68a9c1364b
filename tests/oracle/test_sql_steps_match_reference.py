"""The SQL that a check has Spark run, run by DuckDB instead, says of each rule what the reference finds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.checking.sql_steps import RuleSteps, SqlSteps, sql_steps
from holdfast.encode.column_type import column_type
from holdfast.programs.bind import Schema
from holdfast.programs.plan import Plan, make_plan
from holdfast.rules.rule import Nulls, parse_rule, rule_set

COLUMNS = ("a", "b", "c")
SCHEMA = Schema("people.csv", {name: column_type("bigint") for name in ("id", *COLUMNS)})
RULES = (
    *("unique(a)", "unique(a, b)", "a -> b", "a -> b, c", "a, b -> c", "a = 1, b -> c", "a = 1 -> b = 2"),
    *("not(t.a < s.a and t.b > s.b)", "not(t.a < s.b)", "not(t.a = s.a and t.b <= s.b and t.c != s.c)"),
    *("not(t.a != s.a and t.c != s.c)", "if t.a != s.a then t.b < s.b and t.c = s.c", "not(t.a > t.b)"),
    *("not(t.a is null)", "not(t.a = 1 and s.a = 2)"),
)
VALUES = st.sampled_from([None, 0, 1, 2])
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=7)


@cache
def plan_of(nulls: Nulls) -> tuple[Plan, SqlSteps]:
    rules = rule_set([parse_rule(text, name=f"r{i}") for i, text in enumerate(RULES)], key=("id",), nulls=nulls)
    plan = make_plan(rules, SCHEMA, ("id",))
    return plan, sql_steps(plan)


@cache
def for_duckdb(sql: str) -> str:
    return sqlglot.transpile(sql, read="spark", write="duckdb")[0]


class Tables:
    """The tables that steps read, in a database of its own: rows with forms and flags, and groupings of them."""

    def __init__(self, plan: Plan, steps: SqlSteps, rows: Sequence[tuple[Any, ...]]) -> None:
        self.database = duckdb.connect()
        self.database.execute("CREATE TABLE scanned (k BIGINT, c0 BIGINT, c1 BIGINT, c2 BIGINT, c3 BIGINT)")
        for k, row in enumerate(rows):
            self.database.execute("INSERT INTO scanned VALUES (?, ?, ?, ?, ?)", [k, k, *row])
        columns = ", ".join(["k", *plan.form_columns()])
        self._make("rows", f"SELECT {columns} FROM scanned")
        for i in range(len(steps.groupings)):
            self._make(f"g{i}", steps.table_sql(f"g{i}"))
        for i, step in enumerate(steps.rules):
            if step.in_conflict is not None:
                self._make(f"h{i}", steps.table_sql(f"h{i}"))

    def _make(self, name: str, sql: str) -> None:
        self.database.execute(f'CREATE TABLE "{name}" AS {for_duckdb(self._named(sql))}')

    def _named(self, sql: str) -> str:
        return sql.replace("{", "`").replace("}", "`")

    def lines(self, sql: str) -> list[tuple[Any, ...]]:
        return self.database.execute(for_duckdb(self._named(sql))).fetchall()


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@given(rows=ROWS)
@example(rows=[(1, 0, 0), (1, 0, 1), (1, 1, None), (1, None, 1), (2, 1, 1)])
@example(rows=[(0, 0, 0), (0, 0, 0), (0, 1, 0), (None, 1, 0), (None, 2, 0)])
@settings(max_examples=12, deadline=None)
def test_each_step_says_what_the_reference_finds(nulls: Nulls, rows: list[tuple[Any, ...]]) -> None:
    plan, steps = plan_of(nulls)
    table = [{"id": k, **dict(zip(COLUMNS, row, strict=True))} for k, row in enumerate(rows)]
    tables = Tables(plan, steps, rows)
    for step, found in zip(steps.rules, reference.check(table, plan.rules), strict=True):
        assert_step(step, found, tables)


def assert_step(step: RuleSteps, found: reference.RuleResult, tables: Tables) -> None:
    told = str(found.rule)
    assert dict(tables.lines(step.conflicts)) == dict(found.conflicts), told
    if step.pairs is not None:
        assert sorted(tables.lines(step.pairs)) == sorted(found.pairs or ()), told
    if step.suspects is not None:
        assert {key for (key,) in tables.lines(step.suspects)} == found.suspects, told
    if step.summary is not None:
        ((pairs, violating, suspects, groups, left, right),) = tables.lines(step.summary)
        assert (pairs, violating) == (len(found.pairs or ()), len(found.conflicts)), told
        assert suspects in (None, len(found.suspects)), told
        assert groups in (None, found.violating_groups), told
        assert left is None or (left, right) in (found.pairs or ()), told
    if step.witness is not None and found.pairs:  # it is not asked for where nothing is violated
        ((left, right),) = tables.lines(step.witness)
        assert (left, right) in found.pairs, told
