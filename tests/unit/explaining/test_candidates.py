"""Each kind of rule suggests what it would take for it not to be broken."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from holdfast.errors import OptionError
from holdfast.explaining.candidates import CandidateSource
from holdfast.explaining.explained_row import explained_row
from holdfast.rules.rule_file import as_rule_set, parse_rules
from row_trials import trial_of


def suggested(columns: dict[str, Any], rule: str, row: int, nulls: Any = None) -> set[tuple[Any, ...]]:
    """(column, text, backing, low, high) of what the rule suggests for the row."""
    trial = trial_of(pa.table(columns), as_rule_set([rule], nulls=nulls), given=[row])
    source = CandidateSource(trial.rows, trial.plan, trial.part, trial.given)
    return {
        (found.column, text, round(float(backing), 3), low, high)
        for found in source.candidates(0, trial.suspects(0))
        for text, backing, low, high in zip(
            found.texts.to_pylist(), found.backing, found.low.to_pylist(), found.high.to_pylist(), strict=True
        )
    }


def test_a_dependency_suggests_what_most_of_the_group_have_on_either_side() -> None:
    columns = {"zip": ["1", "1", "1", "1", "2", "2"], "city": ["A", "A", "A", "B", "B", "B"]}
    assert suggested(columns, "zip -> city", 3) == {
        ("city", "A", 0.75, None, None),  # three of the four with this zip code
        ("zip", "2", 0.667, None, None),  # two of the three with this city
    }


def test_of_values_with_equal_votes_the_greatest_is_suggested() -> None:
    columns = {"zip": ["1"] * 5, "city": ["A", "A", "C", "C", "B"]}
    assert suggested(columns, "zip -> city", 4) >= {("city", "C", 0.4, None, None)}
    # Without its own vote, a row of the larger side sees the other one ahead.
    assert suggested(columns, "zip -> city", 2) >= {("city", "A", 0.4, None, None)}


def test_nulls_have_no_vote_and_are_no_suggestion() -> None:
    columns = {"zip": ["1", "1", "1", None], "city": ["A", None, None, "B"]}
    assert suggested(columns, "zip -> city", 1) >= {("city", "A", 0.5, None, None)}
    assert suggested(columns, "zip -> city", 3) == set()


def test_a_pattern_suggests_its_constant() -> None:
    columns = {"cc": [44, 44, 1], "city": ["LDN", "EDI", "MH"]}
    assert suggested(columns, "cc = 44 -> city = 'EDI'", 0) == {("city", "EDI", 1.0, None, None)}
    assert suggested(columns, "cc = 44 -> city = 'EDI'", 2) == set()


def test_an_order_rule_suggests_the_nearest_bound_that_sound_rows_set() -> None:
    columns = {"pay": [10, 20, 30, 40, 50], "rate": [1, 2, 9, 4, 5]}
    rule = "not(t.pay > s.pay and t.rate < s.rate)"
    assert suggested(columns, rule, 2) == {
        ("rate", "4", 0.5, "2", "4"),
        ("pay", "50", 0.5, "50", None),
    }


def test_bounds_that_cross_are_both_suggested_without_an_interval() -> None:
    columns = {"pay": [10, 20, 30], "rate": [5, 7, 6]}
    trial = trial_of(pa.table(columns), as_rule_set(["not(t.pay > s.pay and t.rate <= s.rate)"]), given=[1])
    source = CandidateSource(trial.rows, trial.plan, trial.part, trial.given)
    every_row_is_sound = trial.suspects(0)[:0]
    found = {
        (one.column, text, low)
        for one in source.candidates(0, every_row_is_sound)
        for text, low in zip(one.texts.to_pylist(), one.low.to_pylist(), strict=True)
    }
    assert {change for change in found if change[0] == "rate"} == {("rate", "5", None), ("rate", "6", None)}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1, 2, 2], "3"),
        ([Decimal("1.00"), Decimal("2.00"), Decimal("2.00")], "2.01"),
        ([dt.date(2024, 1, 30), dt.date(2024, 1, 31), dt.date(2024, 1, 31)], "2024-02-01"),
    ],
)
def test_a_strict_bound_is_the_next_value(values: list[Any], text: str) -> None:
    found = suggested({"x": values, "n": [1, 2, 3]}, "not(t.n > s.n and t.x <= s.x)", 2)
    assert ("x", text, 0.5, text, None) in found


def test_the_next_value_of_a_double_is_unknown() -> None:
    found = suggested({"x": [1.0, 2.0, 2.0], "n": [1, 2, 3]}, "not(t.n > s.n and t.x <= s.x)", 2)
    assert not any(column == "x" for column, *_ in found)


def test_a_rule_against_a_difference_suggests_what_most_have() -> None:
    columns = {"a": [1, 1, 1, 1], "b": ["x", "x", "y", "x"], "n": [1, 2, 3, 4]}
    rule = "not(t.a = s.a and t.b != s.b and t.n > s.n)"
    assert ("b", "x", 0.667, None, None) in suggested(columns, rule, 2)


@pytest.mark.parametrize(
    ("columns", "rule", "expected"),
    [
        ({"x": [25]}, "not(t.x > 20)", {("x", "20", 0.5, None, None)}),
        ({"x": [25]}, "not(t.x >= 20)", {("x", "19", 0.5, None, None)}),
        ({"x": [25]}, "not(t.x != 20)", {("x", "20", 1.0, None, None)}),
        ({"x": [25]}, "not(t.x = 25)", set()),
        ({"x": [25]}, "not(t.x > 30)", set()),
        ({"x": [2.5]}, "not(t.x > 2)", {("x", "2.0", 0.5, None, None)}),
        ({"x": [5], "y": [3.7]}, "not(t.x > t.y)", {("x", "3", 0.5, None, None), ("y", "5.0", 0.5, None, None)}),
        (
            {"x": [dt.date(2024, 2, 1)], "y": [dt.datetime(2024, 1, 31, 12)]},
            "not(t.x > t.y)",
            {("x", "2024-01-31", 0.5, None, None), ("y", "2024-02-01 00:00:00", 0.5, None, None)},
        ),
        ({"x": ["payd"]}, "not(t.x not in ('open', 'paid'))", {("x", "paid", 0.75, None, None)}),
        ({"x": [True]}, "not(t.x = true)", set()),
    ],
)
def test_a_rule_on_one_row_suggests_its_constant_or_the_other_value(
    columns: dict[str, Any], rule: str, expected: set[Any]
) -> None:
    assert suggested(columns, rule, 0) == expected


def test_nothing_is_like_no_listed_value() -> None:
    rule = "not(t.x not in ('open', 'paid'))"
    assert suggested({"x": pa.array([None], pa.string())}, rule, 0, "equal") == {("x", "open", 0.0, None, None)}


def test_the_key_is_not_changed() -> None:
    rows = pa.table({"id": [1, 2], "x": [2, 1]})
    trial = trial_of(rows, as_rule_set(["not(t.id > t.x)"]), key=("id",))
    assert {line["column"] for line in trial.suggestions().to_pylist()} == {"x"}


def test_a_changed_row_is_read_again_with_its_condition() -> None:
    rows = pa.table({"kind": ["a", "a", "a", "b"], "x": [1, 1, 2, 5]})
    rules = parse_rules("version: 1\nrules:\n  - {name: one, rule: kind -> x, where: x < 4}\n")
    (line,) = [one for one in trial_of(rows, rules).suggestions().to_pylist() if one["column"] == "x"]
    assert (line["suggested"], line["resolves"], line["adds"], line["value"]) == ("1", 2, 0, "2")


def test_a_row_that_is_not_there_is_told() -> None:
    trial = trial_of(pa.table({"id": [1], "x": [1]}), as_rule_set(["not(t.x > 0)"]), key=("id",))
    with pytest.raises(OptionError, match="orders has no row with id = '7'"):
        explained_row(trial, "7", table="orders")


def test_a_row_without_faults_breaks_nothing() -> None:
    told = explained_row(trial_of(pa.table({"x": [1, 5]}), as_rule_set(["not(t.x > 3)"])), 0, table="numbers")
    assert (told.key, told.row, told.broken, told.suggestions, told.values) == ("_row", 0, (), (), {"x": 1})
