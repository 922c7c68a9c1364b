"""Suggestions of Deequ and rule sets in DQDL as rules."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import RuleFileError
from holdfast.exchange.deequ import _CONSTRAINTS, _DQDL, read_dqdl, read_suggestions
from holdfast.exchange.imported import ImportedRules

SUGGESTED: list[tuple[str, str, str]] = [
    ('.isComplete("a")', "not(t.a is null)", "0"),
    ('.hasCompleteness("a", _ >= 0.95, Some("It should be above 0.95!"))', "not(t.a is null)", "5%"),
    ('.hasCompleteness("a", lambda x: x >= 0.95, "It should be above 0.95!")', "not(t.a is null)", "5%"),
    ('.isUnique("a")', "unique(a)", "0"),
    ('.isPrimaryKey("a", "b")', "unique(a, b)", "0"),
    ('.hasUniqueness(Seq("a", "b"), _ == 1.0)', "unique(a, b)", "0"),
    ('.isContainedIn("a", Array("x, (y)", "z"))', "not(t.a not in ('x, (y)', 'z'))", "0"),
    ('.isContainedIn("a", ["x"], lambda x: x >= 0.9)', "not(t.a not in ('x'))", "10%"),
    ('.isNonNegative("a")', "not(t.a < 0)", "0"),
    ('.isPositive("a")', "not(t.a <= 0)", "0"),
    ('.isLessThan("a", "b")', "not(t.a >= t.b)", "0"),
    ('.isLessThanOrEqualTo("a", "b")', "not(t.a > t.b)", "0"),
    ('.isGreaterThan("a", "b")', "not(t.a <= t.b)", "0"),
    ('.isGreaterThanOrEqualTo("a", "b")', "not(t.a < t.b)", "0"),
    ('.satisfies("a > b", "name", _ >= 0.5)', "not(t.a <= t.b)", "50%"),
    ('.hasPattern("a", "^[a-z]+$")', "not(t.a not matches '[a-z]+')", "0"),
]


@pytest.mark.parametrize(("code", "said", "allow"), SUGGESTED)
def test_a_suggestion_is_a_rule(code: str, said: str, allow: str) -> None:
    (rule,) = read_suggestions({"constraint_suggestions": [{"code_for_constraint": code}]}, origin="x").rules
    assert (str(rule), str(rule.allow)) == (str(hf.parse_rule(said)), allow)


def test_every_constraint_is_tried() -> None:
    assert {code[1:].partition("(")[0] for code, _, _ in SUGGESTED} == set(_CONSTRAINTS)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('.hasDataType("a", ConstrainableDataTypes.Integral)', "--types"),
        ('.hasMin("a", _ >= 3)', "the whole table"),
        ('.containsURL("a")', "do not know it"),
        ('.hasCompleteness("a", _ <= 0.5)', "at least so much"),
        ('.isContainedIn("a", 1, 2)', "lists no values"),
        ("isComplete", "no call"),
        (None, "no call"),
    ],
)
def test_what_cannot_be_said_of_a_suggestion_is_told(code: Any, reason: str) -> None:
    found = read_suggestions([code], origin="x")
    assert found.rules == ()
    assert reason in found.left_out[0].reason


def dqdl(*rules: str, table: str | None = None) -> ImportedRules:
    return read_dqdl(f"# ours\nRules = [\n  {', '.join(rules)}\n]\nAnalyzers = [ RowCount ]", origin="x", table=table)


IN_DQDL: list[tuple[str, list[str], str]] = [
    ('IsComplete "a"', ["not(t.a is null)"], "0"),
    ('Completeness "a" >= 0.9', ["not(t.a is null)"], "10%"),
    ('IsUnique "a"', ["unique(a)"], "0"),
    ('IsPrimaryKey "a" "b"', ["unique(a, b)", "not(t.a is null)", "not(t.b is null)"], "0"),
    ('Uniqueness "a" >= 0.9', ["unique(a)"], "10%"),
    ('ColumnValues "a" in ["x", "y, ]"]', ["not(t.a not in ('x', 'y, ]'))", "not(t.a is null)"], "0"),
    ('ColumnValues "a" not in [1, 2]', ["not(t.a in (1, 2))"], "0"),
    ('ColumnValues "a" in ["x"] with threshold >= 0.75', ["not(t.a not in ('x'))"], "25%"),
    ('ColumnValues "a" != 3', ["not(t.a = 3)"], "0"),
    ('ColumnValues "a" > 3', ["not(t.a <= 3)", "not(t.a is null)"], "0"),
    ('ColumnValues "a" between 1 and 5', ["if t.a is not null then t.a > 1 and t.a < 5", "not(t.a is null)"], "0"),
    ('ColumnValues "a" matches "^[a-z]+$"', ["not(t.a not matches '[a-z]+')", "not(t.a is null)"], "0"),
    ('ColumnLength "a" = 5', ["not(length(t.a) != 5)", "not(t.a is null)"], "0"),
]


@pytest.mark.parametrize(("text", "said", "allow"), IN_DQDL)
def test_a_rule_in_dqdl_is_a_rule(text: str, said: list[str], allow: str) -> None:
    found = dqdl(text)
    assert [str(rule) for rule in found.rules] == [str(hf.parse_rule(one)) for one in said]
    assert {str(rule.allow) for rule in found.rules} == {allow}
    assert found.left_out == ()


def test_every_kind_of_rule_is_tried() -> None:
    assert {text.partition(" ")[0] for text, _, _ in IN_DQDL} | {"ReferentialIntegrity"} == set(_DQDL)


def test_references_and_conditions() -> None:
    found = dqdl('ReferentialIntegrity "a,b" "shop.{c,d}" = 1.0', 'IsComplete "a" where "b > 3"', table="orders")
    assert [(str(rule), rule.where) for rule in found.rules] == [
        ("orders(a, b) in shop(c, d)", None),
        ("not(t.a is null)", "b > 3"),
    ]
    assert "--table" in dqdl('ReferentialIntegrity "a" "shop.c" = 1.0').left_out[0].reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("RowCount > 100", "the whole table"),
        ('ColumnDataType "a" = "INTEGER"', "--types"),
        ('(IsComplete "a") and (IsUnique "a")', "one by one"),
        ('ColumnValues "a" in ["x", NULL]', "no value"),
        ('Completeness "a" between 0.1 and 0.5', ""),
    ],
)
def test_what_cannot_be_said_of_dqdl_is_told(text: str, reason: str) -> None:
    found = dqdl(text)
    assert found.rules == ()
    assert reason in found.left_out[0].reason


def test_other_files_are_refused() -> None:
    with pytest.raises(RuleFileError, match="no DQDL"):
        read_dqdl("IsComplete", origin="x")
    with pytest.raises(RuleFileError, match="no suggestions of Deequ"):
        read_suggestions({"a": 1}, origin="x")
