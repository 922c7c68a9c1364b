"""Rules over two tables that can be followed by hand: checked, watched, kept in memory, explained and found."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.rules.parse import parse_body
from holdfast.rules.rule import Rule, RuleSet

ORDERS = [
    {"id": 1, "customer": "ann", "net": 100, "tax": 19, "total": 119, "placed": dt.date(2024, 1, 5)},
    {"id": 2, "customer": "bob", "net": 200, "tax": 38, "total": 238, "placed": dt.date(2024, 1, 2)},
    {"id": 3, "customer": None, "net": 50, "tax": 9, "total": 59, "placed": dt.date(2024, 1, 1)},
    {"id": 4, "customer": "zed", "net": 10, "tax": 2, "total": 12, "placed": dt.date(2024, 1, 9)},
    {"id": 5, "customer": "zed", "net": 30, "tax": 6, "total": 36, "placed": dt.date(2024, 1, 9)},
]
CUSTOMERS = [
    {"id": "ann", "since": dt.date(2024, 1, 1)},
    {"id": "bob", "since": dt.date(2024, 1, 3)},  # the day after the order
    {"id": "cyd", "since": dt.date(2024, 1, 4)},
]
TABLES = {"orders": ORDERS, "customers": CUSTOMERS}
KEYS = {"orders": "id", "customers": "id"}
EXISTS = "orders(customer) in customers(id)"
NOT_BEFORE = "if orders.customer = customers.id then orders.placed >= customers.since"
RULES = [EXISTS, NOT_BEFORE, "not(orders.total != orders.net + orders.tax)"]


def arrow() -> dict[str, pa.Table]:
    return {name: pa.Table.from_pylist(rows) for name, rows in TABLES.items()}


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_check_finds_what_can_be_counted_by_hand(spark: SparkSession, engine: Any, tmp_path: Path) -> None:
    for name, table in arrow().items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    files = {name: tmp_path / f"{name}.parquet" for name in TABLES}
    with hf.check(files, RULES, key=KEYS, engine=engine) as result:
        exists, not_before, adds_up = result.outcome.rules
        assert (exists.violating_rows, exists.violating_groups) == (2, 1)  # a null refers to nothing
        assert (not_before.violating_pairs, not_before.violating_rows, not_before.suspect_rows) == (1, 2, 1)
        assert adds_up.holds
        assert [(row["table"], row["column"], row["value"], row["rows"]) for row in result.groups] == [
            ("orders", "customer", "zed", 2)
        ]
        assert [(p["left_table"], p["left"], p["right_table"], p["right"]) for p in result.pairs] == [
            ("orders", "2", "customers", "bob")
        ]


def test_a_null_refers_to_something_where_nulls_are_equal() -> None:
    result = hf.check(arrow(), RuleSet((Rule("known", parse_body(EXISTS)),), nulls="equal"), key=KEYS, engine="local")
    assert sorted(row["key"] for row in result.rows) == ["3", "4", "5"]


def test_a_missing_reference_is_told_with_the_nearest_that_are_there() -> None:
    with hf.check(arrow(), RULES, key=KEYS, engine="local") as result:
        (broken,) = result.explain(4, table="orders").broken
        assert (broken.rule.kind, broken.violations) == ("ind", 1)


def test_a_monitor_follows_parents_that_come_and_go() -> None:
    monitor = hf.Monitor(RULES, key=KEYS)
    monitor.insert(TABLES)
    exists, not_before, adds_up = monitor.totals
    assert dict(monitor.totals) == {exists: 2, not_before: 1, adds_up: 0}
    monitor.insert({"id": "zed", "since": dt.date(2024, 1, 9)}, table="customers")
    assert dict(monitor.totals) == {exists: 0, not_before: 1, adds_up: 0}
    monitor.delete("ann", table="customers")
    monitor.delete("bob", table="customers")
    assert dict(monitor.totals) == {exists: 2, not_before: 0, adds_up: 0}


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_state_follows_parents_that_come_and_go(spark: SparkSession, engine: Any, tmp_path: Path) -> None:
    for name, table in arrow().items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    files = {name: tmp_path / f"{name}.parquet" for name in TABLES}
    state = hf.WatchState.create(tmp_path / "state", files, RULES, key=KEYS, engine=engine)
    assert list(state.show().to_dict()["totals"].values()) == [2, 1, 0]
    changes = [
        {"id": "zed", "since": dt.date(2024, 1, 9), "_change_type": "insert"},
        {"id": "bob", "since": dt.date(2024, 1, 3), "_change_type": "delete"},
    ]
    pq.write_table(pa.Table.from_pylist(changes), tmp_path / "changes.parquet")
    outcome = state.apply({"customers": tmp_path / "changes.parquet"}).to_dict()
    assert list(outcome["totals"].values()) == [1, 0, 0]
    assert (outcome["added_count"], outcome["removed_count"]) == (1, 3)


def test_references_and_what_holds_along_them_are_found() -> None:
    """Four hundred orders of forty customers, none of them placed before its customer was there."""
    first = dt.date(2024, 1, 1)
    customers = [{"code": f"C{i:02d}", "since": first + dt.timedelta(days=i)} for i in range(40)]
    orders = [
        {
            "number": 1000 + i,
            "customer": f"C{i * 7 % 40:02d}",
            "quantity": i * 11 % 9 + 1,
            "placed": first + dt.timedelta(days=i * 7 % 40 + i * 13 % 50),
        }
        for i in range(400)
    ]
    tables = {"orders": pa.Table.from_pylist(orders), "customers": pa.Table.from_pylist(customers)}
    found = hf.discover(tables, engine="local")
    shown = [str(rule.body) for rule in found.rules.rules]
    assert shown[0] == "orders(customer) in customers(code)"
    assert any("orders.placed >= customers.since" in text for text in shown[1:])
    assert not any("quantity" in text for text in shown)


def test_a_column_that_is_the_sum_of_two_others_is_found() -> None:
    rows = [{"id": i, "net": i * 37 % 101 + 1, "tax": i * 53 % 29, "noise": i * 71 % 97} for i in range(200)]
    table = pa.Table.from_pylist([{**row, "total": row["net"] + row["tax"]} for row in rows])
    found = hf.discover(table, engine="local")
    shown = [str(rule.body) for rule in found.rules.rules]
    assert any("t.total != t.net + t.tax" in text or "t.total != t.tax + t.net" in text for text in shown)
