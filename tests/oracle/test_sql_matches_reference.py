"""The SQL of a rule, run by a database that knows nothing of Holdfast, lists what the reference finds."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from holdfast import reference
from holdfast.errors import OptionError
from holdfast.programs.export_sql import DIALECTS, dialect_named, rule_sql, rules_sql
from holdfast.rules.rule import Nulls, Rule, parse_rule, rule_set
from holdfast.rules.rule_file import parse_rules

COLUMNS = ("id", "a", "b", "select", 'x "y')
RULES = [
    "unique(a)",
    "unique(a, b)",
    "a -> b",
    'a, b -> "select", "x ""y"',
    "a = 1, b -> \"select\"",
    "a = 1 -> \"select\" = 'it''s'",
    "not(t.a > s.a and t.b < s.b)",
    "not(t.a = s.a and t.b <= s.b and t.\"select\" != s.\"select\")",
    "not(t.a < s.b)",
    "not(t.a >= s.b and t.b != s.a)",
    "if t.a = s.b then t.b = s.a and t.\"select\" >= s.\"select\"",
    "not(t.a > t.b)",
    "not(t.a != t.b and t.\"select\" = 'x')",
    "not(t.a is null)",
    "not(t.a is not null and s.a is not null and t.b = s.b)",
    "not(t.a in (1, 2))",
    "not(t.\"select\" not in ('x', 'it''s') and t.a = s.a)",
    "not(t.\"x \"\"y\" != 1 and t.a <= 1)",
    "not(t.a = 1 and s.a = 2)",
    "not(t.a + t.b * 2 > 3)",
    "not(t.a - (t.b - 1) != abs(t.b - 2))",
    "not(t.a % t.b = 1)",
    "not(t.a / t.b >= 0.5 and t.a / t.b != 2)",
    "not(-t.a < s.b - 2 and t.a = s.a)",
    "not(lower(t.\"select\") = s.\"select\")",
    "not(coalesce(t.a, 1) = 1 and trim(upper(t.\"select\")) in ('X', '\\'))",
    "not(t.a / t.b is null and t.a is not null)",
    "not(abs(t.a - s.a) <= 1 and t.b = s.b)",
    "not(abs(t.a - s.b) > 1)",
    "not(t.a - s.b != 1)",
    "no_overlap(\"select\"; a, b)",
    "not(t.\"select\" matches '[a-z]')",
    "not(t.\"select\" not matches 'x|.t.s' and t.a = s.a)",
]  # fmt: skip
NUMBERS, TEXTS = st.sampled_from([None, 0, 1, 2]), st.sampled_from([None, "x", "it's", "\\", "X"])
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, TEXTS, NUMBERS), max_size=7)


def table(values: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, (i, *row), strict=True)) for i, row in enumerate(values)]


def _regexp_like(text: str | None, pattern: str) -> bool | None:
    """What databases with regular expressions have, and SQLite leaves to its users: null of a null."""
    return None if text is None else re.search(pattern, text) is not None


@settings(max_examples=60)
@given(values=ROWS, nulls=st.sampled_from(["sql", "equal"]))
@example(values=[(None, None, None, None)] * 3, nulls="equal")
def test_queries_list_what_the_reference_finds(values: list[tuple[Any, ...]], nulls: Nulls) -> None:
    rows, rules = table(values), rule_set(RULES, key=("id",), nulls=nulls)
    database = sqlite3.connect(":memory:")
    database.create_function("REGEXP_LIKE", 2, _regexp_like, deterministic=True)
    database.execute('CREATE TABLE "my table" (id INTEGER, a INTEGER, b INTEGER, "select" TEXT, "x ""y" INTEGER)')
    database.executemany('INSERT INTO "my table" VALUES (?, ?, ?, ?, ?)', [tuple(row.values()) for row in rows])
    wanted = reference.violations(rows, rules)
    asked: dict[str, Any] = {"table": '"my table"', "key": ("id",), "dialect": DIALECTS["ansi"]}
    for rule in rules:
        found = database.execute(rule_sql(rule, nulls=nulls, **asked)).fetchall()
        assert len(found) == len(set(found))
        assert {(row[0], row[1] if len(row) > 1 else None) for row in found} == set(wanted[rule.name]), str(rule)
    counted = dict(database.execute(rules_sql(rules, count=True, **asked)).fetchall())
    assert counted == {name: len(found) for name, found in wanted.items()}


def test_keys_of_several_columns_conditions_and_tableaux() -> None:
    text = """
key: [a, b]
rules:
  - name: r
    rule: 'c -> d'
    where: d < 9
    patterns: [{c: 1, d: 2}, {c: 2, d: _}]
  - name: mirrored
    rule: not(t.c > s.c)
"""
    rules = parse_rules(text, origin="rules")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER, d INTEGER)")
    rows = [(1, 1, 1, 2), (1, 2, 1, 3), (2, 1, 2, 5), (2, 2, 2, 6), (3, 1, 2, 9)]
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    asked: dict[str, Any] = {"table": "t", "key": ("a", "b"), "nulls": "sql", "dialect": DIALECTS["ansi"]}
    found = database.execute(rule_sql(rules["r"], **asked)).fetchall()
    assert sorted(found, key=str) == [(1, 2, None, None), (2, 1, 2, 2)]
    assert len(database.execute(rule_sql(rules["mirrored"], **asked)).fetchall()) == 6


def test_names_and_texts_are_written_as_each_database_wants(spark: SparkSession) -> None:
    rule = parse_rule("not(t.\"a`b\" = 'it''s \\' and t.\"c]d\" = date '2024-02-01' and t.e = true and t.f > 1.50)")
    asked: dict[str, Any] = {"table": "t", "key": ("id",), "nulls": "sql"}
    assert "t.[c]]d] = CAST('2024-02-01' AS DATE) AND t.e = 1" in rule_sql(rule, dialect=DIALECTS["tsql"], **asked)
    assert "t.`a``b` = 'it\\'s \\\\'" in rule_sql(rule, dialect=DIALECTS["mysql"], **asked)
    frame = spark.sql("SELECT 7 AS id, 'it\\'s \\\\' AS `a``b`, DATE'2024-02-01' AS `c]d`, true AS e, 2.0 AS f")
    query = rule_sql(rule, dialect=dialect_named("spark"), **{**asked, "table": "{t}"})
    assert [tuple(row) for row in spark.sql(query, t=frame).collect()] == [(7,)]
    with pytest.raises(OptionError, match="no dialect"):
        dialect_named("oracel")
    with pytest.raises(OptionError, match="by what rows are named"):
        rule_sql(Rule("r", rule.body), dialect=DIALECTS["ansi"], **{**asked, "key": ()})
