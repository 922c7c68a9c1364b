"""What is said of single columns, and what is not since the next rows may well break it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from holdfast.discovery.column_rules import column_rules, column_rules_json, read_column_rules
from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.rules.rule import Nulls
from holdfast.search.clock import Clock

SHUFFLED = np.random.default_rng(3).permutation(60)


def rules(values: Any, *, name: str = "x", nulls: Nulls = "sql") -> list[str]:
    """What is said of a column with these values, beside that it is never null, as rules or in words."""
    column = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({name: column})
    found = column_rules(table, {name: arrow_column_type(column.type)}, nulls=nulls).rules
    assert all(0 <= entry.breaks <= 0.05 for entry in found)
    return [entry.says if entry.rule is None else str(entry.rule) for entry in found if entry.kind != "not null"]


def shuffled(values: list[Any]) -> list[Any]:
    return [values[i] for i in np.random.default_rng(5).permutation(len(values))]


def test_no_null_is_a_rule_where_there_are_enough_rows() -> None:
    def said(values: list[Any]) -> list[str]:
        table = pa.table({"zip code": pa.array(values, pa.int64())})
        found = column_rules(table, {"zip code": arrow_column_type(pa.int64())}).rules
        return [str(entry.rule) for entry in found if entry.kind == "not null"]

    assert said([3, 1, 2] * 10) == ['not(t."zip code" is null)']
    assert said([3, 1, 2]) == []
    assert said([3, 1, None] * 10) == []


def test_a_list_of_values_is_one_where_each_came_often() -> None:
    assert rules(["a", "b", "o'x"] * 20) == ["not(t.x not in ('a', 'b', 'o''x'))"]
    assert rules(["a", "b"] * 30 + ["c"]) == [], "the one value came once, and so may others"
    assert rules(["a", None] * 30) == ["not(t.x != 'a')"]
    assert rules(shuffled([0.0, 0.05, -0.0, 0.1] * 15)) == ["not(t.x not in (0, 0.05, 0.1))"]
    assert rules([True, False] * 30) == []
    assert rules([True] * 30) == ["not(t.x != true)"]
    assert rules(pa.array([None] * 30, pa.string())) == ["not(t.x is not null)"]


def test_a_limit_is_one_where_many_rows_reach_it() -> None:
    assert rules(shuffled([*range(1, 31)] * 10)) == ["not(t.x < 1)", "not(t.x > 30)"]
    assert rules(shuffled([*range(1, 31)] * 10 + [99])) == ["not(t.x < 1)"], "99 came once"
    assert rules(shuffled([1, 3, 10, 400, 5_000, 12_345] * 1 + list(range(7, 60)))) == ["not(t.x < 0)"]
    assert rules(shuffled([-5, *range(40)])) == []
    nans = [float("nan"), *np.linspace(0.13, 77.77, 50).tolist()]
    assert rules(shuffled(nans)) == [], "NaN is beyond all limits"


def test_what_time_brings_is_no_limit() -> None:
    days = [dt.date(2024, 1, 1 + i % 20) for i in range(200)]
    assert rules(shuffled(days)) == []
    assert rules([dt.datetime(2024, 1, 31)] * 50) == []
    assert rules([2013] * 50, name="Year of birth") == []
    assert rules([2013] * 50, name="pieces") == ["not(t.pieces != 2013)"]
    assert rules(shuffled([20240100 + 1 + i % 20 for i in range(200)])) == []


def test_what_the_first_half_would_have_said_must_last() -> None:
    states = [name for name in ("AK", "AL", "TX", "WY") for _ in range(20)]
    assert rules(shuffled(states)) == ["not(t.x not in ('AK', 'AL', 'TX', 'WY'))"]
    # Sorted by the column, half of the rows have half of the values, and tomorrow's file may have others.
    assert rules(states) == []
    assert rules(shuffled([1, 2, 3] * 20) + shuffled([2, 3, 9] * 20)) == []


def test_numbers_are_rounded_to_a_unit() -> None:
    amounts = [float(f"{i * 37 % 997}.{i * 7 % 100:02}") for i in range(200)]
    assert rules(amounts) == ["not(t.x < 0)", "not(t.x != round(t.x, 2))"]
    assert rules([float(i * 37 % 997) for i in range(200)]) == ["not(t.x < 0)", "not(t.x != round(t.x))"]
    assert "not(t.x % 25 != 0)" in rules([25 * (i * 37 % 997) - 3000 for i in range(200)])
    decimals = pa.array([Decimal(i * 37 % 997).scaleb(-1) for i in range(200)], pa.decimal128(10, 4))
    assert rules(decimals) == ["not(t.x < 0)", "not(t.x != round(t.x, 1))"]
    assert rules([i / 7 for i in range(-90, 110)]) == ["rises from row to row"]


def test_texts_have_a_format_or_a_length() -> None:
    assert rules([f"C-{i:03}" for i in SHUFFLED]) == [r"not(t.x not matches 'C-\d{3}')"]
    assert rules([f"é{i:03}" for i in SHUFFLED]) == ["not(length(t.x) != 4)"]
    cut = [(str(i) + "ü" * (3 + i % 20))[:12] for i in SHUFFLED]
    assert rules(cut) == ["not(length(t.x) > 12)"]


def test_an_order_of_rows_is_a_fact() -> None:
    assert rules([i * i * 3 - 7 for i in range(40)]) == ["rises from row to row"]
    assert rules([dt.date(2024, 1, 30 - i // 2) for i in range(40)]) == ["never rises from row to row"]
    assert rules([1, 2, None]) == []


def test_a_null_is_no_value_beside_which_a_rule_fails() -> None:
    values = ["ab", "cd", None] * 20
    assert rules(values, nulls="equal") == ["not(t.x is not null and t.x not in ('ab', 'cd'))"]


def test_columns_that_there_is_no_time_for_are_counted() -> None:
    table = pa.table({"a": [1] * 30, "b": [2] * 30})
    types = {name: arrow_column_type(pa.int64()) for name in table.column_names}
    found = column_rules(table, types, clock=Clock(0.0))
    assert (found.rules, found.skipped) == ((), 2)


def test_rules_cross_to_the_driver_as_they_are() -> None:
    table = pa.table({'q"t': [f"a'{i:03}" for i in range(60)], "Ünï": ["\x00\U0001f40c", "b"] * 30, "n": range(60)})
    types = {name: arrow_column_type(table.column(name).type) for name in table.column_names}
    found = column_rules(table, types)
    assert len(found.rules) > 5
    assert read_column_rules(column_rules_json(found)) == found


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_say_nothing(rows: int) -> None:
    assert rules(pa.array([1.5] * rows, pa.float64())) == []
