"""check of two tables says of random tables and rules what reference.py says."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from hypothesis import HealthCheck, given, settings

import holdfast as hf
from holdfast import reference
from holdfast.rules.parse import parse_body
from holdfast.rules.rule import RuleSet, allowance
from several_tables import NAMES, Case, arrow_of, assert_matches, cases


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_check_of_two_tables_matches_reference(case: Case) -> None:
    keys = dict.fromkeys(NAMES, ("id",)) if case.keyed else {}
    result = hf.check({name: arrow_of(table) for name, table in case.tables.items()}, case.rules, key=keys, limit=None)
    assert_matches(case, result)
    assert result.summary()
    assert result.to_html()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_what_is_printed_is_read_back(case: Case) -> None:
    for rule in case.rules:
        if rule.table is None:
            assert parse_body(str(rule)) == rule.body


def test_a_condition_of_an_inclusion_is_on_the_first_table() -> None:
    tables = {"alpha": [{"a": 1, "b": 0}, {"a": 2, "b": 1}, {"a": 3, "b": 1}], "beta": [{"a": 2, "b": 9}]}
    rule = replace(hf.parse_rule("alpha(a) in beta(a)"), where="b > 0", allow=allowance("50%"))
    rules = RuleSet((rule,))
    (wanted,) = reference.check_tables(tables, rules, where={rule.name: lambda row: row["b"] > 0})
    result = hf.check({name: pa.Table.from_pylist(rows) for name, rows in tables.items()}, rules)
    assert {(row["table"], row["key"]) for row in result.suspects} == wanted.suspects == {("alpha", 2)}
    assert result.holds
    assert wanted.holds
