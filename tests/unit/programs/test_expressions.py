"""Expressions: what they are worth, on values and on columns, and what has no meaning."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast import reference
from holdfast.encode.column_type import UNBOUNDED, column_type
from holdfast.engines.local.check import plan_check, run_check
from holdfast.errors import TypeMismatchError
from holdfast.programs.expression_type import TYPES, expression_type
from holdfast.programs.function_sql import SPARK
from holdfast.programs.shifted import first_double
from holdfast.reference import operand_value
from holdfast.rules.functions import FUNCTIONS
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Comparison, Operand
from holdfast.rules.rule import rule_set
from holdfast.tables.local_table import LocalTable

NAN, INF = math.nan, math.inf
ROW: dict[str, Any] = {
    "i": 7,
    "j": -2,
    "zero": 0,
    "wide": 2**63 - 1,
    "dec": Decimal("2.50"),
    "x": 0.1,
    "big": 1e308,
    "nan": NAN,
    "text": " Åb ",
    "day": dt.date(2024, 3, 1),
    "first": dt.date(2024, 2, 28),
    "at": dt.datetime(2024, 3, 1, 23, 59, 59, 500_000),
    "none": None,
}


def operand(text: str) -> Operand:
    (predicate,) = parse_constraint(f"not({text} is null)").predicates
    return predicate.column  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("t.i + t.j * 3", 1),
        ("(t.i + t.j) * 3", 15),
        ("t.wide + t.wide", 2**64 - 2),
        ("t.wide * t.wide", (2**63 - 1) ** 2),
        ("t.wide * t.wide * t.wide", None),
        ("t.dec * t.dec", Decimal("6.25")),
        ("t.dec - t.i", Decimal("-4.50")),
        ("t.i - 2.50", Decimal("4.50")),
        ("t.i * 1.100", Decimal("7.700")),
        ("t.i + 10.0", Decimal("17.0")),
        ("t.x + 0.2", 0.1 + 0.2),
        ("t.x * 3", 0.1 * 3),
        ("t.big * 10", INF),
        ("t.i / t.j", -3.5),
        ("t.dec / t.i", 2.5 / 7),
        ("t.i / t.zero", None),
        ("t.x / t.zero", None),
        ("t.i % t.j", 1),
        ("-t.i % t.j", -1),
        ("t.dec % 1", Decimal("0.50")),
        ("t.i % t.zero", None),
        ("abs(t.j)", 2),
        ("-t.dec", Decimal("-2.50")),
        ("round(t.dec)", Decimal(3)),
        ("round(-t.dec)", Decimal(-3)),
        ("round(t.dec * 1.01, 2)", Decimal("2.53")),
        ("round(2.675 * t.x / t.x, 2)", 2.68),
        ("floor(-t.dec)", Decimal(-3)),
        ("ceil(t.dec)", Decimal(3)),
        ("floor(t.x)", 0.0),
        ("lower(t.text)", " åb "),
        ("upper(trim(t.text))", "ÅB"),
        ("length(t.text)", 4),
        ("substr(t.text, 2, 1)", "Å"),
        ("substr(t.text, 3)", "b "),
        ("coalesce(t.none, t.i)", 7),
        ("t.none + 1", None),
        ("year(t.day) * 100 + month(t.day)", 202403),
        ("day(t.at) + hour(t.at)", 24),
        ("t.day - t.first", 2),
        ("t.at - t.day", Decimal("86399.5")),
    ],
)
def test_an_expression_is_worth_the_same_by_value_and_as_a_column(text: str, value: Any) -> None:
    found = operand_value(operand(text), ROW, ROW)
    assert found == value
    assert type(found) in (type(value), int, Decimal)
    table = pa.table({name: pa.array([cell, None]) for name, cell in ROW.items()})
    table = table.append_column("id", pa.array([1, 2]))
    checked = hf.check(table, [f"not({text} is null)"], key="id").outcome.rules[0]
    assert (checked.violating_rows == 2) == (value is None)
    if isinstance(value, int | Decimal) and -(2**62) < value < 2**62:
        assert hf.check(table, [f"not({text} = {value})"], key="id").outcome.rules[0].violating_rows == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("t.i + 1", "decimal(20,0)"),
        ("t.small + t.small", "integer"),
        ("t.i * t.i", "decimal(38,0)"),
        ("t.price * 1.19", "decimal(13,4)"),
        ("t.price / 2", "double"),
        ("t.price * t.x", "double"),
        ("round(t.price, 1)", "decimal(10,1)"),
        ("day(t.day)", "integer"),
        ("t.day - t.day", "integer"),
        ("t.at - t.day", "decimal(20,6)"),
        ("coalesce(t.x, 0)", "double"),
    ],
)
def test_expressions_have_types(text: str, kind: str) -> None:
    types = {"i": "bigint", "small": "int", "price": "decimal(10,2)", "x": "double", "day": "date", "at": "timestamp"}
    assert str(expression_type(operand(text), {name: column_type(sql) for name, sql in types.items()})) == kind


def test_long_decimals_keep_all_their_digits() -> None:
    kind = expression_type(operand("t.a * t.a"), {"a": column_type("decimal(38,18)")})
    assert kind == UNBOUNDED


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("not(t.city - t.n > 1)", "rule 'r' subtracts t.n (integer) from t.city (text)"),
        ("not(t.n + t.day = 3)", "rule 'r' adds t.n (integer) and t.day (date)"),
        ("not(t.city * t.n = 3)", "rule 'r' multiplies t.city (text)"),
        ("not(t.n % t.city = 3)", "rule 'r' "),
        ("not(lower(t.n) = 'x')", "rule 'r' uses lower on t.n (integer)"),
        ("not(hour(t.day) = 1)", "rule 'r' uses hour on t.day (date)"),
        ("not(abs(t.city) > 1)", "rule 'r' uses abs on t.city (text)"),
        ("not(-t.city > 1)", "rule 'r' takes the negative of t.city (text)"),
        ("not(t.n / t.city > 1)", "rule 'r' divides t.n (integer) by t.city (text)"),
        ("not(coalesce(t.n, t.city) = 1)", "rule 'r' uses coalesce on t.n (integer), t.city (text)"),
        ("not(coalesce(t.n, t.x) = 1)", "rule 'r' uses coalesce on t.n (integer), t.x (double)"),
        ("not(abs(t.city - s.city) > 1)", "rule 'r' subtracts s.city (text) from t.city (text)"),
        ("not(t.day - s.n > 1)", "rule 'r' subtracts s.n (integer) from t.day (date)"),
        ("not(t.x - s.x > 1e400)", "beyond what a double holds"),
        ("not(length(t.city) = t.city)", "rule 'r' compares length(t.city) (integer) with t.city (text)"),
        ("not(length(t.city) matches 'a')", "rule 'r' uses matches on length(t.city) (integer)"),
        ("not(t.n * 2 = 'a')", "rule 'r' compares t.n * 2"),
    ],
)
def test_what_has_no_meaning_is_told_with_rule_and_types(rule: str, told: str) -> None:
    table = pa.table({"city": ["a"], "n": [1], "x": [0.5], "day": [dt.date(2024, 1, 1)]})
    with pytest.raises(TypeMismatchError) as refused:
        hf.check(table, [hf.parse_rule(rule, name="r")])
    assert told in refused.value.message


def test_every_function_has_a_meaning_a_type_and_sql() -> None:
    assert FUNCTIONS.keys() == TYPES.keys()
    assert FUNCTIONS.keys() <= SPARK.keys()


NASTY = (
    0.0, -0.0, 1.0, -1.0, 0.1, 0.2, 0.3, 2.0**-53, 2.0**-54, 3 * 2.0**-54, 1 + 2.0**-52, 1 - 2.0**-53, 5e-324, -5e-324,
    2.2250738585072014e-308, 2.0**53, 2.0**53 + 2, 1e16, -1e16, 1.7976931348623157e308, -1.7976931348623157e308, INF,
    -INF, NAN,
)  # fmt: skip
CONSTANTS = (0.0, 1.0, -1.0, 0.1, 2.0**-53, 5e-324, -5e-324, 1 + 2.0**-52, 1e16, 1.7976931348623157e308, -0.1)
doubles = st.one_of(st.sampled_from(NASTY), st.floats(width=64))


@settings(max_examples=400)
@given(
    values=st.lists(doubles, min_size=1, max_size=8),
    others=st.lists(doubles, min_size=1, max_size=8),
    constant=st.one_of(st.sampled_from(CONSTANTS), st.floats(allow_nan=False, allow_infinity=False)),
    above=st.booleans(),
)
@example(values=[-1.0], others=[2.0**-53, 3 * 2.0**-54, 0.0], constant=1.0, above=True)
@example(values=list(NASTY), others=list(NASTY), constant=1.0, above=False)
def test_a_bound_divides_doubles_where_the_rounded_difference_does(
    values: list[float], others: list[float], constant: float, above: bool
) -> None:
    bounds = first_double(np.array(values), constant, above=above)
    for y, bound in zip(values, bounds.tolist(), strict=True):
        for x in [*others, bound, math.nextafter(bound, INF), math.nextafter(bound, -INF)]:
            apart = reference.relation(x - y if not math.isnan(x - y) else NAN, constant)
            reaches = apart == 4 if above else apart >= 2
            assert (reference.relation(x, bound) >= 2) == reaches, (x, y, bound)


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), doubles), max_size=7),
    constant=st.sampled_from(["0", "1", "0.1", "1e-16", "5e-324", "-1", "1e16", "1.0000000000000002"]),
    operator=st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    absolute=st.booleans(),
    nulls=st.sampled_from(["sql", "equal"]),
)
def test_tolerances_of_nasty_doubles_mean_what_they_say(
    values: list[float | None], constant: str, operator: str, absolute: bool, nulls: Any
) -> None:
    apart = "abs(t.x - s.x)" if absolute else "t.x - s.x"
    try:
        rules = rule_set([f"not({apart} {operator} {constant})"], key=("id",), nulls=nulls)
    except hf.HoldfastError:
        return  # an absolute difference below zero
    rows = [{"id": i, "x": value} for i, value in enumerate(values)]
    table = LocalTable(
        pa.table({"id": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, pa.float64())}), "x"
    )
    (expected,) = reference.check(rows, rules)
    result = run_check(table, plan_check(table, rules, ("id",)), limit=None)
    assert result.outcome.rules[0].violating_pairs == len(expected.pairs or ())
    assert {(pair["left"], pair["right"]) for pair in result.pairs} == set(expected.pairs or ())


def test_a_tolerance_is_no_comparison_of_all_pairs() -> None:
    n = 60_000  # all pairs would be 3.6 billion
    table = pa.table({"id": np.arange(n), "x": np.arange(n) * 10, "d": np.arange(n) * 0.5})
    rules = ["not(abs(t.x - s.x) <= 10)", "not(abs(t.d - s.d) < 1)", "not(t.x - s.x = 20)"]
    found = hf.check(table, rules, key="id", limit=0).outcome.rules
    assert [rule.violating_pairs for rule in found] == [n - 1, n - 1, n - 2]
    assert isinstance(parse_constraint(rules[0]).predicates[0], Comparison)
