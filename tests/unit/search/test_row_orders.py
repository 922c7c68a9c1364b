"""How two columns stand to each other in every row is what the reference reads off the rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.rules.predicate import Column, comparison
from holdfast.rules.relation import ANY, EQ, GT, LT, NE
from holdfast.rules.rule import Nulls
from holdfast.search.coded_rows import coded_rows
from holdfast.search.options import DiscoverOptions
from holdfast.search.row_orders import RowOrder, orders_from_lists, orders_to_lists, row_orders

NUMBERS, TEXTS = ("a", "b", "c"), ("u", "v")
OPTIONS: dict[Nulls, DiscoverOptions] = {
    nulls: DiscoverOptions(nulls=nulls, cross_columns=0.0) for nulls in ("sql", "equal")
}


def found(rows: list[dict[str, Any]], nulls: Nulls, *, over: bool = False) -> tuple[RowOrder, ...]:
    kinds = {**dict.fromkeys(NUMBERS, "bigint"), **dict.fromkeys(TEXTS, "string")}
    arrow = {"bigint": pa.int64(), "string": pa.string()}
    table = pa.table({name: pa.array([row[name] for row in rows], arrow[kind]) for name, kind in kinds.items()})
    coded = coded_rows(table, {name: column_type(kind) for name, kind in kinds.items()}, OPTIONS[nulls])
    return row_orders(coded, nulls_equal=nulls == "equal", over=lambda: over)


def holds(rows: list[dict[str, Any]], order: RowOrder, nulls: Nulls) -> bool:
    return not any(reference.violates(order.constraint, row, row, nulls) for row in rows)


def seen(rows: list[dict[str, Any]], left: str, right: str, relation: int, nulls: Nulls) -> bool:
    predicate = comparison(Column("t", left), relation, Column("t", right))
    return any(reference.satisfied(predicate, row, row, nulls) for row in rows)


@st.composite
def rows_of(draw: st.DrawFn) -> list[dict[str, Any]]:
    number, text = st.sampled_from([0, 1, 2, 3, None]), st.sampled_from(["x", "y", None])
    domains: Mapping[str, Any] = {**dict.fromkeys(NUMBERS, number), **dict.fromkeys(TEXTS, text)}
    return [
        {name: draw(domain) for name, domain in domains.items()}
        for _ in range(draw(st.integers(min_value=1, max_value=5)))
    ]


@settings(max_examples=150)
@given(rows_of(), st.sampled_from(["sql", "equal"]))
def test_row_orders_are_those_that_every_row_keeps(rows: list[dict[str, Any]], nulls: Nulls) -> None:
    orders = found(rows, nulls)
    assert all(holds(rows, order, nulls) for order in orders)
    known = {(order.left, order.right): order.allowed for order in orders}
    compared = [*combinations(NUMBERS, 2), *combinations(TEXTS, 2)]
    for left, right in compared:
        if not {row[name] for row in rows for name in (left,)} - {None}:
            continue
        ordered = left in NUMBERS
        states = (LT, EQ, GT) if ordered else (EQ, NE)
        one_null = nulls == "equal" and ordered and any((row[left] is None) != (row[right] is None) for row in rows)
        allowed = ANY if one_null else sum(state for state in states if seen(rows, left, right, state, nulls))
        if (left, right) in known:
            assert known[left, right] == allowed
        elif allowed not in (0, ANY) and {row[right] for row in rows} - {None}:
            # Columns are compared where they share values, or both share some with a third one.
            assert not {row[left] for row in rows} & {row[right] for row in rows} - {None}


def test_orders_travel_as_plain_values_and_are_cut_when_time_is_up() -> None:
    rows = [{"a": 0, "b": 1, "c": 1, "u": "x", "v": "x"}, {"a": 1, "b": 2, "c": 0, "u": "y", "v": "y"}]
    orders = found(rows, "sql")
    assert orders == (
        RowOrder("a", "b", LT), RowOrder("a", "c", NE), RowOrder("b", "c", GT | EQ), RowOrder("u", "v", EQ)
    )  # fmt: skip
    assert orders_from_lists(orders_to_lists(orders)) == orders
    assert found(rows, "sql", over=True) == ()


@pytest.mark.parametrize(
    ("allowed", "words"),
    [(LT | EQ, "every row's Low is at most its High"), (NE, "every row's Low differs from its High")],
)
def test_an_order_is_said_in_words(allowed: int, words: str) -> None:
    assert RowOrder("Low", "High", allowed).words == words
