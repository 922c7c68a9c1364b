"""Rules made of a condition in SQL are broken by the rows for which a database says that it is false."""

from __future__ import annotations

import re
from functools import cache

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.errors import ConditionError
from holdfast.exchange.conditions import condition_rules
from holdfast.rules.rule import rule_set

COLUMNS = ("id", "a", "b", "c", "ok")
ROWS = st.lists(
    st.tuples(
        *[st.sampled_from([None, 0, 1, 2])] * 2,
        st.sampled_from([None, "x", "xy", ""]),
        st.sampled_from([None, True, False]),
    ),
    max_size=6,
)  # fmt: skip
ATOMS = st.sampled_from(
    [
        "a = b", "a <> 1", "a < b", "a >= 1", "a IN (1, 2)", "a NOT IN (0)", "b IS NULL", "c IS NOT NULL",
        "c LIKE 'x%'", "c NOT LIKE '_y'", "a BETWEEN 0 AND b", "a NOT BETWEEN 1 AND 2", "ok", "NOT ok", "a + b * 2 > 3",
        "(a + b) * 2 = 4",
        "abs(a - 2) = 1", "length(c) > 1", "upper(c) = 'X'", "coalesce(a, 2) = 2", "a % 2 = 1", "-a < 0",
    ]
)  # fmt: skip
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map(lambda parts: f"({''.join(parts)})"),
        inner.map(lambda part: f"NOT ({part})"),
    ),
    max_leaves=5,
)


@cache
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("CREATE TABLE t (id INTEGER, a INTEGER, b INTEGER, c VARCHAR, ok BOOLEAN)")
    return connection


@settings(max_examples=200)
@given(values=ROWS, condition=CONDITIONS)
def test_rows_break_the_rules_where_the_condition_is_false(values: list[tuple[object, ...]], condition: str) -> None:
    rows = [dict(zip(COLUMNS, (i, *row), strict=True)) for i, row in enumerate(values)]
    connection = database()
    connection.execute("DELETE FROM t")
    for row in rows:
        connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", list(row.values()))
    wanted = {key for (key,) in connection.execute(f"SELECT id FROM t WHERE NOT ({condition})").fetchall()}
    try:
        texts = condition_rules(condition)
        found = reference.violations(rows, rule_set(texts, key=("id",)))
    except ValueError as problem:  # nothing could break it, which the rule language refuses
        refused = str(problem)
        assert "no table could violate it" in refused or "more than" in refused
        return
    assert {key for pairs in found.values() for key, _ in pairs} == wanted, texts


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("a > ", "cannot be read"),
        ("current_date() > born", "CURRENT_DATE"),
        ("other.a = 1", "other.a"),
        ("a <=> b", "IS NOT DISTINCT FROM"),
        ("a IN (SELECT b FROM u)", "rules do not know"),
        ("c RLIKE '(?<=x)y'", "look-around"),
    ],
)
def test_what_rules_cannot_say_is_refused_with_its_place(condition: str, reason: str) -> None:
    with pytest.raises(ConditionError, match=re.escape(reason)):
        condition_rules(condition)
