"""What a row breaks, and what a suggested change would resolve and add, is what reference.py counts, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explained_violations import violations
from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.explaining import row_meetings
from holdfast.explaining.cell_values import read_texts
from holdfast.explaining.explained_row import explained_row
from holdfast.explaining.limits import CHANGES_PER_ROW, OTHERS
from row_trials import random_trial
from strategies import ARROW, RandomRules, RandomTable, rule_sets, tables


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables(max_rows=8).filter(lambda made: len(made.rows) > 1))
    return table, draw(rule_sets(table, size=4))


def changed_rows(table: RandomTable, key: int, column: str, text: str) -> list[Mapping[str, Any]]:
    kind = table.types[column]
    value = read_texts([text], column_type(kind), ARROW[kind])[0].as_py()
    return [{**row, column: value} if row["id"] == key else row for row in table.rows]


def require_effect(table: RandomTable, random: RandomRules, change: Mapping[str, Any]) -> None:
    """The change has the effect that it is told to have."""
    changed = changed_rows(table, change["key"], change["column"], change["suggested"])
    was, now = (violations(rows, random, change["key"]) for rows in (table.rows, changed))
    fewer = {name: was.get(name, 0) - now.get(name, 0) for name in {*was, *now}}
    assert change["resolves"] == sum(n for n in fewer.values() if n > 0), change
    assert change["adds"] == -sum(n for n in fewer.values() if n < 0), change
    assert list(change["rules"]) == sorted(name for name, n in fewer.items() if n > 0), change
    assert change["resolves"] > change["adds"]
    most = (change["resolves"] - change["adds"]) / sum(was.values())
    assert 0 <= change["confidence"] <= most + 1e-12


@settings(max_examples=200)
@given(case=cases())
def test_a_row_breaks_what_the_reference_counts(case: tuple[RandomTable, RandomRules]) -> None:
    table, random = case
    trial = random_trial(table, random.rules, range(len(table.rows)))
    for at, row in enumerate(table.rows):
        counted = {rule.name: int(n) for rule, n in zip(random.rules, trial.before[:, at], strict=True) if n}
        assert counted == violations(table.rows, random, row["id"]), f"{random.rules} {table.rows}"


@settings(max_examples=200)
@given(case=cases())
def test_a_row_is_explained_by_its_violations(case: tuple[RandomTable, RandomRules]) -> None:
    table, random = case
    told = explained_row(random_trial(table, random.rules, ()), str(table.rows[0]["id"]), table="random")
    key = table.rows[0]["id"]
    assert {one.rule.name: one.violations for one in told.broken} == violations(table.rows, random, key)
    found = {one.rule.name: one for one in reference.check(table.rows, random.rules, where=random.conditions)}
    for one in told.broken:
        assert one.witness is not None
        ends = (one.witness.left_key, one.witness.right_key)
        assert key in ends
        pairs = sorted(pair for pair in found[one.rule.name].pairs or () if key in pair)
        if ends[1] is not None:
            assert ends == pairs[0]
        partners = {end for pair in pairs[:OTHERS] for end in pair if end != key}
        assert {other.key for other in one.others} <= partners
        for other in one.others:
            assert other.conflicts == found[one.rule.name].conflicts[other.key]
    for change in told.suggestions:
        require_effect(table, random, {**change.to_dict(), "confidence": change.confidence, "key": key})


@pytest.mark.parametrize("way", [{}, {"LOOKED_AT": 0}, {"LOOKED_AT": 0, "TERMS": 0}])
def test_changes_have_the_effect_that_the_reference_counts(
    way: Mapping[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in way.items():
        monkeypatch.setattr(row_meetings, name, value)
    monkeypatch.setattr(row_meetings, "AT_ONCE", 4)

    @settings(max_examples=200)
    @given(case=cases())
    def each(case: tuple[RandomTable, RandomRules]) -> None:
        table, random = case
        changes = random_trial(table, random.rules).suggestions().to_pylist()
        for change in changes:
            require_effect(table, random, change)
        require_order(changes)

    each()


def require_order(changes: Sequence[Mapping[str, Any]]) -> None:
    keys = [change["key"] for change in changes]
    assert keys == sorted(keys)
    for key in set(keys):
        confidences = [change["confidence"] for change in changes if change["key"] == key]
        assert len(confidences) <= CHANGES_PER_ROW
        assert confidences == sorted(confidences, reverse=True)
