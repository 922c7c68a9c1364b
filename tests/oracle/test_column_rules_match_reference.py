"""Each rule on a single column holds of the whole table by reference.py, and in this process's own check."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.discovery.column_rules import column_rules
from holdfast.encode.column_type import column_type
from holdfast.engines.local.check import plan_check, run_check
from holdfast.rules.parse import parse_body
from holdfast.rules.relation import GT, LT
from holdfast.rules.rule import Nulls, RuleSet
from holdfast.tables.local_table import LocalTable
from strategies import ARROW, DOMAINS, NAMES

MORE: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.integers(-3, 3).map(lambda n: 25 * n) | st.integers(-(2**63), 2**63 - 1),
    "double": st.integers(-500, 500).map(lambda n: n / 100) | st.floats(),
    "decimal(20,2)": st.integers(-50, 50).map(lambda n: Decimal(10 * n).scaleb(-2)),
    "decimal(38,20)": st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -20))
    ),
    "string": st.from_regex(r"[A-B][0-9]{1,2}(-[a-c\\'é])?", fullmatch=True) | st.text(max_size=3),
    "boolean": st.booleans(),
    "date": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "timestamp_ntz": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    "binary": st.binary(max_size=2),
}


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """A type, and values of a few that are drawn: often, so that rules are believed; in any order, or sorted."""
    kind = draw(st.sampled_from(sorted(MORE)))
    pool = draw(st.lists(st.sampled_from(DOMAINS[kind]) | MORE[kind], min_size=1, max_size=40))
    if draw(st.booleans()):
        pool.append(None)
    size = draw(st.integers(0, 70))
    values = [pool[i] for i in draw(st.lists(st.integers(0, len(pool) - 1), min_size=size, max_size=size))]
    if draw(st.integers(0, 3)) == 0:
        values.sort(key=lambda value: (value is None, str(value)))
    return kind, values


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(columns(), st.sampled_from(NAMES), st.sampled_from(["sql", "equal"]))
@example(("double", [0.0, -0.0, float("inf")] * 20), "a", "sql")
@example(("bigint", [-(2**63)] * 30), "a", "sql")
def test_what_is_said_of_a_column_holds(made: tuple[str, list[Any]], name: str, nulls: Nulls) -> None:
    kind, values = made
    table = pa.table({name: pa.array(values, ARROW[kind])})
    found = column_rules(table, {name: column_type(kind)}, nulls=nulls).rules
    rules = RuleSet(tuple(entry.rule for entry in found if entry.rule is not None), nulls=nulls)
    assert all(parse_body(str(rule)) == rule.body for rule in rules), "a rule file has the same rule"
    rows = [{name: value} for value in values]
    assert [result.holds for result in reference.check(rows, rules)] == [True] * len(rules)
    if len(rules):
        local = LocalTable(table, "t")
        with run_check(local, plan_check(local, rules, ()), limit=1) as result:
            assert result.outcome.holds
    for entry in found:
        if entry.kind == "sorted":
            pairs = pairwise(values)
            relations = {reference.relation(a, b) for a, b in pairs if a is not None and b is not None}
            assert len(relations & {LT, GT}) == 1, "never the one way and the other"
