"""Expectations as rules: each says what the expectation says, or is told to be left out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.errors import RuleFileError
from holdfast.exchange.great_expectations import _READERS, read_suite
from holdfast.exchange.imported import ImportedRules


def read(*expectations: tuple[str, dict[str, Any]], **more: Any) -> ImportedRules:
    entries = [{"type": kind, "kwargs": given, **more} for kind, given in expectations]
    return read_suite({"expectations": entries}, origin="suite.json")


A, B = {"column": "a"}, {"column": "b"}
PAIR = {"column_A": "a", "column_B": "b"}
# Every expectation that is read, with rules that say the same.
SAID: list[tuple[str, dict[str, Any], list[str]]] = [
    ("expect_column_values_to_be_unique", A, ["unique(a)"]),
    ("expect_compound_columns_to_be_unique", {"column_list": ["a", "b"]}, ["unique(a, b)"]),
    ("expect_multicolumn_values_to_be_unique", {"column_list": ["a", "b"]}, ["not(t.a = t.b)"]),
    (
        "expect_select_column_values_to_be_unique_within_record",
        {"column_list": ["a", "b", "c"]},
        ["not(t.a = t.b)", "not(t.a = t.c)", "not(t.b = t.c)"],
    ),
    ("expect_column_values_to_not_be_null", A, ["not(t.a is null)"]),
    ("expect_column_values_to_be_null", A, ["not(t.a is not null)"]),
    ("expect_column_values_to_be_in_set", {**A, "value_set": [1, "it's"]}, ["not(t.a not in (1, 'it''s'))"]),
    ("expect_column_distinct_values_to_be_in_set", {**A, "value_set": [True]}, ["not(t.a not in (true))"]),
    ("expect_column_values_to_not_be_in_set", {**A, "value_set": [0.5]}, ["not(t.a in (0.5))"]),
    (
        "expect_column_values_to_be_between",
        {**A, "min_value": 1, "max_value": 2.5, "strict_max": True},
        ["if t.a is not null then t.a >= 1 and t.a < 2.5"],
    ),
    ("expect_column_min_to_be_between", {**A, "min_value": 1}, ["if t.a is not null then t.a >= 1"]),
    ("expect_column_max_to_be_between", {**A, "max_value": 1}, ["if t.a is not null then t.a <= 1"]),
    (
        "expect_column_value_lengths_to_be_between",
        {**A, "min_value": 2},
        ["if length(t.a) is not null then length(t.a) >= 2"],
    ),
    ("expect_column_value_lengths_to_equal", {**A, "value": 2}, ["not(length(t.a) != 2)"]),
    ("expect_column_values_to_match_regex", {**A, "regex": "^[0-9]+$"}, ["not(t.a not matches '[0-9]+')"]),
    ("expect_column_values_to_not_match_regex", {**A, "regex": "^x$"}, ["not(t.a matches 'x')"]),
    (
        "expect_column_values_to_match_regex_list",
        {**A, "regex_list": ["^x$", "^y$"]},
        ["not(t.a not matches '(?:x)|(?:y)')"],
    ),
    (
        "expect_column_values_to_match_regex_list",
        {**A, "regex_list": ["^x$", "^.$"], "match_on": "all"},
        ["not(t.a not matches 'x')", "not(t.a not matches '.')"],
    ),
    (
        "expect_column_values_to_not_match_regex_list",
        {**A, "regex_list": ["^x$", "^y$"]},
        ["not(t.a matches 'x')", "not(t.a matches 'y')"],
    ),
    ("expect_column_values_to_match_like_pattern", {**A, "like_pattern": "x_"}, ["not(t.a not matches 'x(?:.|\\n)')"]),
    ("expect_column_values_to_not_match_like_pattern", {**A, "like_pattern": "x"}, ["not(t.a matches 'x')"]),
    (
        "expect_column_values_to_match_like_pattern_list",
        {**A, "like_pattern_list": ["x", "y"]},
        ["not(t.a not matches '(?:x)|(?:y)')"],
    ),
    (
        "expect_column_values_to_not_match_like_pattern_list",
        {**A, "like_pattern_list": ["x"]},
        ["not(t.a matches 'x')"],
    ),
    ("expect_column_pair_values_to_be_equal", PAIR, ["not(t.a != t.b)"]),
    ("expect_column_pair_values_a_to_be_greater_than_b", PAIR, ["not(t.a <= t.b)"]),
    ("expect_column_pair_values_a_to_be_greater_than_b", {**PAIR, "or_equal": True}, ["not(t.a < t.b)"]),
    ("expect_multicolumn_sum_to_equal", {"column_list": ["a", "b"], "sum_total": 3}, ["not(t.a + t.b != 3)"]),
]


@pytest.mark.parametrize(("kind", "given", "said"), SAID)
def test_an_expectation_is_a_rule(kind: str, given: dict[str, Any], said: list[str]) -> None:
    found = read((kind, given))
    assert [str(rule) for rule in found.rules] == [str(hf.parse_rule(text)) for text in said]
    assert found.left_out == ()


def test_every_reader_is_tried() -> None:
    assert {kind for kind, _, _ in SAID} == set(_READERS)


@pytest.mark.parametrize(
    ("kind", "given", "reason"),
    [
        ("expect_column_mean_to_be_between", A, "computed from the whole column"),
        ("expect_table_row_count_to_be_between", {}, "number of rows"),
        ("expect_column_to_exist", A, "the table's columns"),
        ("expect_column_values_to_be_of_type", {**A, "type_": "int"}, "--types"),
        ("expect_column_values_to_be_increasing", A, "no order of their own"),
        ("expect_column_values_to_be_in_set", A, "lists no values"),
        ("expect_column_values_to_be_in_set", {**A, "value_set": [None]}, "no single value"),
        ("expect_column_values_to_be_between", A, "no bound"),
        ("expect_column_values_to_match_regex", {**A, "regex": r"(?i)x"}, "look-around"),
        ("expect_column_values_to_not_be_null", {**A, "mostly": 2}, "no share"),
        ("expect_column_values_to_not_be_null", {**A, "row_condition": "f(b)"}, "cannot be read"),
        ("expect_column_values_to_not_be_null", {}, "no 'column'"),
        ("expect_multicolumn_values_to_be_unique", {"column_list": 3}, "not of the kind"),
    ],
)
def test_what_cannot_be_said_is_told(kind: str, given: dict[str, Any], reason: str) -> None:
    found = read((kind, given))
    assert found.rules == ()
    (left,) = found.left_out
    assert left.check.startswith(kind)
    assert reason in left.reason


def test_a_bound_from_the_other_side_is_told_beside_the_rule() -> None:
    found = read(("expect_column_max_to_be_between", {**A, "min_value": 1, "max_value": 9}))
    assert [str(rule) for rule in found.rules] == ["if t.a is not null then t.a <= 9"]
    assert "min_value" in found.left_out[0].check


def test_mostly_is_a_share_of_the_values_that_are_there() -> None:
    table = pa.table({"id": list(range(6)), "a": [1, 1, 1, 9, None, None]})
    for share, holds in ((0.75, True), (0.76, False)):
        found = read(("expect_column_values_to_be_between", {**A, "max_value": 5, "mostly": share}))
        assert hf.check(table, found, key="id").holds == holds
    nulls = read(("expect_column_values_to_not_be_null", {**A, "mostly": 0.66}))
    assert str(nulls.rules[0].allow) == "34%"
    assert hf.check(table, nulls, key="id").holds
    unique = read(("expect_column_values_to_be_unique", {**A, "mostly": 0.5}))
    assert "all but one" in unique.remarks[0].reason


CONDITION = {"type": "comparison", "column": {"name": "b"}, "operator": "==", "parameter": "x"}
LATER = {"type": "comparison", "column": {"name": "id"}, "operator": ">=", "parameter": 1}
KNOWN = {"type": "nullity", "column": {"name": "d"}, "is_null": False}


@pytest.mark.parametrize(
    "given",
    [
        {"row_condition": 'b == "x" and id >= 1', "condition_parser": "pandas"},
        {"row_condition": "b = 'x' AND id >= 1", "condition_parser": "spark"},
        {"row_condition": '(col("b") == "x") & (col("id") >= 1)', "condition_parser": "great_expectations"},
        {"row_condition": {"type": "and", "conditions": [CONDITION, LATER]}},
        {"row_condition": {"type": "and", "conditions": [{**CONDITION, "operator": "IN", "parameter": ["x"]}, KNOWN]}},
        {"row_condition": 'b in ["x"] and d.notnull()', "condition_parser": "pandas"},
    ],
)  # fmt: skip
def test_a_row_condition_is_a_where(given: dict[str, Any]) -> None:
    table = pa.table({"id": [0, 1, 2], "a": [None, None, None], "b": ["x", "x", "y"], "d": [None, 1, 1]})
    found = read(("expect_column_values_to_not_be_null", {**A, **given}))
    with hf.check(table, found, key="id") as result:
        assert [row["key"] for row in result.rows] == [1]


def test_severity_and_notes_come_along_in_both_forms() -> None:
    old = {
        "expectation_suite_name": "orders",
        "expectations": [
            {
                "expectation_type": "expect_column_values_to_not_be_null",
                "kwargs": A,
                "meta": {"notes": {"content": ["why"]}},
            }
        ],
    }
    assert read_suite(old, origin="x").rules[0].description == "why"
    new = read(("expect_column_values_to_not_be_null", A), severity="warning", description="so")
    assert (new.rules[0].severity, new.rules[0].description) == ("warn", "so")
    assert read(("expect_column_values_to_not_be_null", A), severity="critical").rules[0].severity == "error"


@pytest.mark.parametrize("content", [None, [], {"rules": []}, {"expectations": 3}])
def test_another_file_is_refused(content: Any) -> None:
    with pytest.raises(RuleFileError, match=r"x\.json is no suite"):
        read_suite(content, origin="x.json")
