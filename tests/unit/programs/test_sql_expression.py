"""Predicates as SQL: nulls as the mode says, constants in their column's type, senseless comparisons refused."""

from __future__ import annotations

import datetime as dt
import sqlite3
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from holdfast.encode.column_type import column_type
from holdfast.errors import TypeMismatchError
from holdfast.programs.sql_expression import Bound, Encoder, bind_constant, comparison_sql
from holdfast.programs.sql_text import text_literal
from holdfast.reference import satisfied
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, Predicate
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE

TYPES = {
    "n": "bigint",
    "m": "bigint",
    "small": "int",
    "d": "double",
    "f": "float",
    "money": "decimal(10,2)",
    "x": "string",
    "y": "string",
    "ci": "string collate UNICODE_CI",
    "flag": "boolean",
    "day": "date",
    "time": "timestamp_ntz",
    "zoned": "timestamp",
    "blob": "binary",
    "nothing": "void",
    "list": "array<int>",
}
A = Column("t", "A")


def encoder(nulls: Any = "sql") -> Encoder:
    return Encoder({name: column_type(sql) for name, sql in TYPES.items()}, nulls, lambda c: f"{c.row}.{c.name}")


def sql_of(text: str, nulls: Any = "sql") -> str:
    (predicate,) = parse_constraint(f"not({text})").predicates
    return encoder(nulls).predicate(predicate)


@pytest.mark.parametrize(
    ("text", "strict", "equal"),
    [
        ("t.n = s.n", "t.n = s.n", "t.n <=> s.n"),
        ("t.n != s.n", "t.n != s.n", "NOT (t.n <=> s.n)"),
        ("t.n < s.n", "t.n < s.n", "t.n < s.n"),
        ("t.n >= s.n", "t.n >= s.n", "(t.n >= s.n OR (t.n IS NULL AND s.n IS NULL))"),
        ("t.n is null", "t.n IS NULL", "t.n IS NULL"),
        ("t.n is not null", "t.n IS NOT NULL", "t.n IS NOT NULL"),
        ("t.n = 3", "t.n = CAST('3' AS BIGINT)", "t.n = CAST('3' AS BIGINT)"),
        ("t.n != 3", "t.n != CAST('3' AS BIGINT)", "(t.n != CAST('3' AS BIGINT) OR t.n IS NULL)"),
        ("t.x = 'EDI'", "t.x = 'EDI'", "t.x = 'EDI'"),
        ("t.flag = true", "t.flag = true", "t.flag = true"),
        ("t.nothing = 3", "false", "false"),
        ("t.nothing != 3", "false", "true"),
    ],
)
def test_a_predicate_is_written_for_both_null_modes(text: str, strict: str, equal: str) -> None:
    assert sql_of(text, "sql") == strict
    assert sql_of(text, "equal") == equal


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("allowed", [EQ, NE, LT, LE, GT, GE])
def test_a_comparison_is_true_exactly_when_the_reference_says_so(allowed: int, nulls: Any) -> None:
    predicate = Comparison(Column("t", "A"), allowed, Column("s", "A"))
    for a, b in product([None, 1, 2], repeat=2):
        condition = comparison_sql("?1", allowed, "?2", nulls).replace("<=>", "IS")
        (found,) = sqlite3.connect(":memory:").execute(f"SELECT {condition}", (a, b)).fetchone()
        assert bool(found) == satisfied(predicate, {"A": a}, {"A": b}, nulls), (a, b)


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("constant", ["0", "2", "2.5", "-1", "1e30", "-1e30", "9223372036854775807"])
def test_an_integer_beside_any_number_is_compared_by_value(constant: str, nulls: Any) -> None:
    number = Constant(int(constant) if constant.lstrip("-").isdigit() else Decimal(constant))
    column = Column("t", "n")
    predicates: list[Predicate] = [Comparison(column, allowed, number) for allowed in (EQ, NE, LT, LE, GT, GE)]
    predicates += [Membership(column, frozenset({number, Constant(1)}), inside) for inside in (True, False)]
    for predicate, value in product(predicates, [None, -1, 0, 1, 2, 3, 2**63 - 1]):
        condition = encoder(nulls).predicate(predicate)
        query = f"SELECT {condition} FROM (SELECT ? AS n) t"
        (found,) = sqlite3.connect(":memory:").execute(query, (value,)).fetchone()
        assert bool(found) == satisfied(predicate, {"n": value}, {}, nulls), (condition, value)


@pytest.mark.parametrize(
    ("constant", "kind", "bound"),
    [
        (3, "bigint", Bound("CAST('3' AS BIGINT)")),
        (3, "int", Bound("CAST('3' AS BIGINT)")),
        (2**63 - 1, "bigint", Bound("CAST('9223372036854775807' AS BIGINT)")),
        (-(2**63), "bigint", Bound("CAST('-9223372036854775808' AS BIGINT)")),
        (2**63, "bigint", Bound(None, exact=False, all_are=LT)),
        (-(2**63) - 1, "bigint", Bound(None, exact=False, all_are=GT)),
        (Decimal("2.5"), "bigint", Bound("CAST('2' AS BIGINT)", exact=False)),
        (Decimal("-2.5"), "bigint", Bound("CAST('-3' AS BIGINT)", exact=False)),
        (Decimal("2.0"), "bigint", Bound("CAST('2' AS BIGINT)")),
        (Decimal("1.255"), "decimal(10,2)", Bound("CAST('1.25' AS DECIMAL(10,2))", exact=False)),
        (Decimal("1.250"), "decimal(10,2)", Bound("CAST('1.25' AS DECIMAL(10,2))")),
        (Decimal("99999999.99"), "decimal(10,2)", Bound("CAST('99999999.99' AS DECIMAL(10,2))")),
        (Decimal("99999999.991"), "decimal(10,2)", Bound(None, exact=False, all_are=LT)),
        (Decimal("0.1"), "double", Bound("CAST('0.1' AS DOUBLE)")),
        (Decimal("0.1"), "float", Bound("CAST('0.1' AS FLOAT)")),
        ("EDI", "string", Bound("'EDI'")),
        (True, "boolean", Bound("true")),
        (dt.date(2024, 1, 31), "date", Bound("DATE '2024-01-31'")),
        (dt.date(2024, 1, 31), "timestamp_ntz", Bound("CAST(DATE '2024-01-31' AS TIMESTAMP_NTZ)")),
        (dt.datetime(2024, 1, 31, 12), "timestamp", Bound("CAST('2024-01-31 12:00:00' AS TIMESTAMP)")),
        (dt.datetime(2024, 1, 31, 12), "date", Bound("CAST('2024-01-31 12:00:00' AS TIMESTAMP_NTZ)")),
        ("2024-01-31", "date", Bound("DATE '2024-01-31'")),
    ],
)
def test_a_constant_takes_the_type_of_its_column(constant: Any, kind: str, bound: Bound) -> None:
    assert bind_constant(Constant(constant), column_type(kind), A) == bound


@pytest.mark.parametrize(
    ("text", "kind", "bound"),
    [
        ("131", "bigint", Bound("CAST('131' AS BIGINT)")),
        ("0131", "string", Bound("'0131'")),
        ("NO", "string", Bound("'NO'")),
        ("true", "boolean", Bound("true")),
        ("FALSE", "boolean", Bound("false")),
        ("1.5", "decimal(10,2)", Bound("CAST('1.50' AS DECIMAL(10,2))")),
        ("2024-01-31", "date", Bound("DATE '2024-01-31'")),
        ("inf", "bigint", Bound(None, exact=False, all_are=LT)),
        ("-inf", "bigint", Bound(None, exact=False, all_are=GT)),
    ],
)
def test_a_tableau_value_is_read_in_the_type_of_its_column(text: str, kind: str, bound: Bound) -> None:
    assert bind_constant(Constant(text, raw=True), column_type(kind), A) == bound


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t.n = 'EDI'", ["t.n (integer)", "'EDI' (text)"]),
        ("t.x > 3", ["t.x (text)", "3 (a number)"]),
        ("t.x = true", ["t.x (text)", "true (true or false)"]),
        ("t.n = true", ["t.n (integer)", "true"]),
        ("t.day > 3", ["t.day (date)", "3 (a number)"]),
        ("t.day = 'soon'", ["t.day (date)", "'soon' (text)"]),
        ("t.n = date '2024-01-31'", ["t.n (integer)", "date '2024-01-31' (a date)"]),
        ("t.n = s.x", ["t.n (integer)", "s.x (text)"]),
        ("t.day = s.n", ["t.day (date)", "s.n (integer)"]),
        ("t.flag < s.flag", ["uses <", "boolean", "no order"]),
        ("t.blob >= s.blob", ["uses >=", "binary", "no order"]),
        ("t.list = s.list", ["t.list", "array<int>", "cannot be compared"]),
        ("t.list < s.list", ["t.list", "array<int>", "cannot be compared"]),
        ("t.list = 3", ["t.list", "array<int>", "cannot be compared"]),
        ("t.n in (1, 'x')", ["t.n (integer)", "'x' (text)"]),
    ],
)
def test_a_comparison_without_meaning_is_refused_in_the_users_terms(text: str, words: list[str]) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        sql_of(text)
    for word in words:
        assert word in caught.value.message


@pytest.mark.parametrize("text", ["t.blob < 3", "t.blob = 'x'", "t.flag > true"])
def test_what_has_no_order_is_not_ordered_against_constants(text: str) -> None:
    with pytest.raises(TypeMismatchError):
        sql_of(text)


def test_columns_of_different_numeric_types_do_not_meet_as_doubles() -> None:
    assert sql_of("t.small = s.n") == "CAST(t.small AS bigint) = s.n"
    assert "holdfast_digits" in sql_of("t.money = s.d")
    assert "named_struct" in sql_of("t.n = s.d")
    assert sql_of("t.f = s.d") == "CAST(t.f AS double) = s.d"


def test_text_is_compared_by_its_bytes_also_in_a_collated_column() -> None:
    assert sql_of("t.ci = s.x") == "collate(t.ci, 'UTF8_BINARY') = s.x"
    assert sql_of("t.ci < 'b'") == "collate(t.ci, 'UTF8_BINARY') < 'b'"
    assert "collate(t.ci, 'UTF8_BINARY')" in sql_of("lower(t.ci) = s.x")
    assert "collate" not in sql_of("lower(t.x) = s.x")


@pytest.mark.parametrize(
    "value", ["EDI", "", "it's", "a\\b", "${x}", "{rows}", "é", "\U0001f40c", "a\nb", "%_", '"', "`", "-- x"]
)
def test_text_survives_as_a_literal(value: str) -> None:
    literal = text_literal(value)
    if literal.startswith("'"):
        assert literal == f"'{value}'"
        assert not set(value) & set("'\\{}`\"\n")
    else:
        hexadecimal = literal.removeprefix("CAST(X'").removesuffix("' AS STRING)")
        assert bytes.fromhex(hexadecimal).decode() == value
