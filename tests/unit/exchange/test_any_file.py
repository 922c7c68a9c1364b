"""Whatever is in a file, it is read as rules, or refused in words; and what is read is a rule file that reads back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import HoldfastError
from holdfast.exchange.deequ import _CONSTRAINTS, _DQDL, read_dqdl, read_suggestions
from holdfast.exchange.dqx import _READERS as CHECKS
from holdfast.exchange.dqx import read_checks
from holdfast.exchange.great_expectations import _READERS as EXPECTATIONS
from holdfast.exchange.great_expectations import read_suite
from holdfast.exchange.imported import ImportedRules
from holdfast.exchange.odcs import read_contract
from holdfast.rules.rule_file import parse_rules

TEXTS = [
    "a",
    "percent",
    "5",
    "warn",
    "a b",
    "",
    "'x'",
    "a > 3",
    "^x$",
    "2024-01-31",
    "t",
    'q"t',
    "orders.id",
    "(",
    "NO",
    "%",
]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(TEXTS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "value", "b"]), inner, max_size=2)
    ),
    max_leaves=4,
)
# The arguments of all checks.
NAMES = """
column column_A column_B column_list value_set min_value max_value strict_min regex regex_list like_pattern mostly
value sum_total or_equal row_condition condition_parser match_on columns allowed forbidden limit min_limit max_limit
expression negate trim_strings ref_columns ref_table case_sensitive abs_tolerance allow_nulls nulls_distinct
"""
GIVEN = st.dictionaries(st.sampled_from(NAMES.split()), VALUES, max_size=5)


def assert_reads_back(read: Callable[[], ImportedRules]) -> None:
    try:
        found = read()
    except HoldfastError:
        return
    assert all(left.reason for left in (*found.left_out, *found.remarks))
    again = parse_rules(found.to_yaml(), origin="again")
    assert again.rules == found.rules


@settings(max_examples=100)
@given(
    kind=st.sampled_from(sorted(EXPECTATIONS)),
    given=GIVEN,
    more=st.dictionaries(st.sampled_from(["meta", "severity", "description", "kwargs"]), VALUES),
)
@example(kind="expect_column_values_to_be_unique", given={"column": "a"}, more={"kwargs": [1]})
def test_any_expectation(kind: str, given: dict[str, Any], more: dict[str, Any]) -> None:
    assert_reads_back(lambda: read_suite({"expectations": [{"type": kind, "kwargs": given, **more}]}, origin="x"))


@settings(max_examples=100)
@given(function=st.sampled_from([*sorted(CHECKS), "foreign_key"]), given=GIVEN, entry=VALUES, where=VALUES)
@example(function="is_unique", given=[1], entry=None, where=None)
def test_any_check(function: str, given: Any, entry: Any, where: Any) -> None:
    checks = [entry, {"filter": where, "check": {"function": function, "arguments": given}}]
    assert_reads_back(lambda: read_checks(checks, origin="x", table="orders"))


CODE_WORDS = """ "a" "b>3" Array( ) , _ >= 0.5 [ ] ' " """


@settings(max_examples=100)
@given(name=st.sampled_from(sorted(_CONSTRAINTS)), words=st.lists(st.sampled_from(CODE_WORDS.split()), max_size=8))
def test_any_suggestion(name: str, words: list[str]) -> None:
    assert_reads_back(lambda: read_suggestions([f".{name}({' '.join(words)})"], origin="x"))


DQDL_WORDS = """ "a" "b.c" "a>1" in not [ ] , between and 1 0.5 > = where with threshold ( """


@settings(max_examples=100)
@given(name=st.sampled_from(sorted(_DQDL)), words=st.lists(st.sampled_from(DQDL_WORDS.split()), max_size=8))
def test_any_dqdl(name: str, words: list[str]) -> None:
    assert_reads_back(lambda: read_dqdl(f"Rules = [ {name} {' '.join(words)} ]", origin="x", table="orders"))


PROPERTY = """
name required unique primaryKey primaryKeyPosition enum logicalTypeOptions quality relationships properties
"""
QUALITY = st.fixed_dictionaries(
    {"metric": st.sampled_from(["nullValues", "duplicateValues", "missingValues", "invalidValues", "rowCount"])},
    optional={
        "arguments": st.dictionaries(
            st.sampled_from(["properties", "missingValues", "validValues", "pattern"]), VALUES
        ),
        "mustBe": VALUES,
        "mustBeLessThan": VALUES,
        "mustBeLessOrEqualTo": VALUES,
        "mustBeBetween": st.one_of(VALUES, st.lists(st.one_of(st.just(0), VALUES), min_size=2, max_size=2)),
        "unit": st.one_of(st.just("percent"), VALUES),
        "severity": VALUES,
        "tags": VALUES,
        "dimension": VALUES,
        "name": VALUES,
        "description": VALUES,
    },
)


@settings(max_examples=100)
@given(
    one=st.dictionaries(st.sampled_from(PROPERTY.split()), VALUES, max_size=5),
    quality=st.lists(QUALITY, max_size=2),
    table=st.dictionaries(st.sampled_from(["relationships", "quality", "properties"]), VALUES),
    others=st.lists(st.sampled_from(["orders", "shop", "a b", "t", "null"]), max_size=2),
)
@example(one={}, quality=[{"metric": "nullValues", "mustBe": False, "tags": [None, None]}], table={}, others=[])
@example(one={}, quality=[{"metric": "nullValues", "mustBe": 0, "tags": [None, "", "x", "x"]}], table={}, others=[])
@example(one={"primaryKey": True, "primaryKeyPosition": "a"}, quality=[], table={}, others=[])
@example(one={}, quality=[{"metric": "rowCount"}, {"metric": "nullValues", "mustBe": 0}], table={}, others=["a b"])
def test_any_contract(one: dict[str, Any], quality: list[Any], table: dict[str, Any], others: list[str]) -> None:
    key = {"primaryKey": True, "primaryKeyPosition": 1}
    orders = {"name": "orders", "properties": [{"name": "a", **one}, {"name": "b", "quality": quality, **key}], **table}
    more = [{"name": name, "properties": [{"name": "b", "quality": quality}]} for name in others]
    content = {"kind": "DataContract", "apiVersion": "v3.1.0", "schema": [orders, *more]}
    assert_reads_back(lambda: read_contract(content, origin="x"))


@pytest.mark.parametrize("read", [read_suite, read_checks, read_suggestions, read_contract])
@given(content=VALUES)
def test_any_content(read: Callable[..., ImportedRules], content: Any) -> None:
    assert_reads_back(lambda: read(content, origin="x"))
