"""Checks of DQX as rules: what Spark says of the same check is what the rules say."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import RuleFileError
from holdfast.exchange.dqx import _READERS, read_checks
from holdfast.exchange.imported import ImportedRules

A = {"column": "a"}
SAID: list[tuple[str, dict[str, Any], list[str]]] = [
    ("is_not_null", A, ["not(t.a is null)"]),
    ("is_null", A, ["not(t.a is not null)"]),
    ("is_not_empty", A, ["not(t.a = '')"]),
    ("is_not_empty", {**A, "trim_strings": True}, ["not(trim(t.a) = '')"]),
    ("is_not_null_and_not_empty", A, ["not(coalesce(t.a, '') = '')"]),
    ("is_in_list", {**A, "allowed": ["'x'", 1]}, ["not(t.a not in ('x', 1))"]),
    ("is_in_list", {**A, "allowed": ["'X'"], "case_sensitive": False}, ["not(lower(t.a) not in ('x'))"]),
    ("is_not_null_and_is_in_list", {**A, "allowed": [1]}, ["not(t.a is null)", "not(t.a not in (1))"]),
    ("is_not_in_list", {**A, "forbidden": [1]}, ["not(t.a in (1))"]),
    ("is_equal_to", {**A, "value": "b"}, ["not(t.a != t.b)"]),
    ("is_equal_to", {**A, "value": "b", "abs_tolerance": 0.5}, ["not(abs(t.a - t.b) > 0.5)"]),
    ("is_not_equal_to", {**A, "value": "'x'"}, ["not(t.a = 'x')"]),
    ("is_not_equal_to", {**A, "value": 1, "abs_tolerance": 2}, ["not(abs(t.a - 1) <= 2)"]),
    ("is_not_less_than", {**A, "limit": 1}, ["not(t.a < 1)"]),
    ("is_not_less_than", {**A, "limit": "2024-01-01"}, ["not(t.a < date '2024-01-01')"]),
    ("is_not_greater_than", {**A, "limit": "b + 1", "allow_nulls": False}, ["not(t.a is null)", "not(t.a > t.b + 1)"]),
    ("is_in_range", {**A, "min_limit": 1, "max_limit": 2}, ["if t.a is not null then t.a >= 1 and t.a <= 2"]),
    ("is_not_in_range", {**A, "min_limit": 1, "max_limit": 2}, ["not(t.a >= 1 and t.a <= 2)"]),
    ("regex_match", {**A, "regex": "^x$"}, ["not(t.a not matches 'x')"]),
    ("regex_match", {**A, "regex": "^x$", "negate": True}, ["not(t.a matches 'x')"]),
    ("sql_expression", {"expression": "a < b OR c IS NULL"}, ["not(t.a >= t.b and t.c is not null)"]),
    ("sql_expression", {"expression": "a < b", "negate": True}, ["not(t.a < t.b)"]),
    ("is_unique", {"columns": ["a", "b"]}, ["unique(a, b)"]),
]


def read(function: str, given: dict[str, Any], *, table: str | None = None, **more: Any) -> ImportedRules:
    entry = {"criticality": "error", "check": {"function": function, "arguments": given}, **more}
    return read_checks([entry], origin="checks.yaml", table=table)


@pytest.mark.parametrize(("function", "given", "said"), SAID)
def test_a_check_is_a_rule(function: str, given: dict[str, Any], said: list[str]) -> None:
    found = read(function, given)
    assert [str(rule) for rule in found.rules] == [str(hf.parse_rule(text)) for text in said]
    assert found.left_out == ()


def test_every_reader_is_tried() -> None:
    assert {function for function, _, _ in SAID} == set(_READERS)


@pytest.mark.parametrize(
    ("function", "given", "reason"),
    [
        ("is_aggr_equal", A, "many rows"),
        ("is_not_in_future", A, "time of the check"),
        ("is_valid_email", A, "matches"),
        ("is_valid_date", A, "--types"),
        ("sql_query", {"query": "select 1"}, "query"),
        ("made_up", A, "do not know it"),
        ("is_in_list", {**A, "allowed": ["x"]}, "do not know 'x'"),
        ("is_in_list", A, "no 'allowed'"),
        ("sql_expression", {"expression": "a LIKE"}, "cannot be read"),
        ("is_equal_to", {**A, "value": 1, "rel_tolerance": 0.1}, "relative"),
        ("foreign_key", {"columns": ["a"], "ref_columns": ["id"], "ref_table": "c.d.customers"}, "--table"),
    ],
)
def test_what_cannot_be_said_is_told(function: str, given: dict[str, Any], reason: str) -> None:
    found = read(function, given)
    assert found.rules == ()
    assert reason in found.left_out[0].reason


def test_names_criticality_and_filters_come_along() -> None:
    (rule,) = read("is_not_null", A, name="there", criticality="warn", filter="b > 3").rules
    assert (rule.name, rule.severity, rule.where) == ("there", "warn", "b > 3")
    broken = read("is_not_null", A, filter="b >")
    assert "cannot be read" in broken.left_out[0].reason


def test_a_check_for_each_column_is_a_rule_for_each() -> None:
    entry = {"check": {"function": "is_not_null", "for_each_column": ["a", "b"], "arguments": {}}}
    assert [str(rule) for rule in read_checks([entry], origin="x").rules] == ["not(t.a is null)", "not(t.b is null)"]


def test_foreign_keys_name_both_tables() -> None:
    given = {"columns": ["a"], "ref_columns": ["id"], "ref_table": "cat.shop.customers"}
    entries = [
        {"check": {"function": "foreign_key", "arguments": given}},
        {"check": {"function": "is_not_null", "arguments": A}},
    ]
    found = read_checks(entries, origin="x", table="orders")
    assert [str(rule) for rule in found.rules] == ["orders(a) in customers(id)", "not(t.a is null)"]
    assert [rule.tables for rule in found.rules] == [("orders", "customers"), ("orders",)]
    assert [table.name for table in found.rule_set.tables] == ["customers", "orders"]
    nulls = read("foreign_key", {**given, "null_safe": True}, table="orders")
    assert "not null" in nulls.left_out[0].reason


@pytest.mark.parametrize("content", [None, "x", {"checks": 3}])
def test_another_file_is_refused(content: Any) -> None:
    with pytest.raises(RuleFileError, match=r"x\.yaml is no list of DQX checks"):
        read_checks(content, origin="x.yaml")


def test_an_entry_that_is_none_is_left_out() -> None:
    assert "which function" in read_checks([3], origin="x").left_out[0].reason
