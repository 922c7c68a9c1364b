"""check of two tables says of random tables and rules what reference.py says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings

import holdfast as hf
from holdfast import reference
from holdfast.rules.parse import parse_body
from holdfast.rules.rule import RuleSet, allowance
from several_tables import NAMES, Case, arrow_of, cases


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_check_of_two_tables_matches_reference(case: Case) -> None:
    keys = dict.fromkeys(NAMES, ("id",)) if case.keyed else {}
    expected = reference.check_tables({name: table.rows for name, table in case.tables.items()}, case.rules, keys=keys)
    result = hf.check({name: arrow_of(table) for name, table in case.tables.items()}, case.rules, key=keys, limit=None)
    listed: dict[str, list[dict[str, Any]]] = {
        name: list(getattr(result, name)) for name in ("pairs", "rows", "groups", "suspects")
    }
    for wanted, found in zip(expected, result.outcome.rules, strict=True):
        name, told = wanted.rule.name, f"{wanted.rule} {case.rules.nulls} {case.tables}"
        own = {part: [line for line in lines if line["rule"] == name] for part, lines in listed.items()}
        pairs = [((r["left_table"], r["left"]), (r["right_table"], r["right"])) for r in own["pairs"]]
        assert Counter(pairs) == Counter(wanted.pairs or ()), told
        assert {(r["table"], r["key"]): r["conflicts"] for r in own["rows"]} == wanted.conflicts, told
        assert {(r["table"], r["key"]) for r in own["suspects"]} == wanted.suspects, told
        assert Counter((r["column"], r["rows"], tuple((r["table"], k) for k in r["keys"])) for r in own["groups"]) == (
            Counter((g.column, g.rows, g.keys) for g in wanted.groups or ())
        ), told
        assert found.violating_pairs == (None if wanted.pairs is None else len(wanted.pairs)), told
        assert found.violating_rows == len(wanted.conflicts), told
        assert found.suspect_rows == len(wanted.suspects), told
        assert found.violating_groups == wanted.violating_groups, told
        assert found.holds == wanted.holds, told
    gone = {(line["table"], line["key"]) for line in listed["suspects"]}
    for table, (clean, quarantined) in result.split().items():
        assert quarantined.count() == len([row for row in gone if row[0] == table])
        assert clean.count() + quarantined.count() == len(case.tables[table].rows)
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
