"""A monitor of several tables: what it is given, what it tells, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.errors import ChangeError, OptionError, RuleFileError, TypeMismatchError
from holdfast.monitor.reference_index import ValueCounts
from holdfast.rules.rule import Nulls, Rule

KEYS = {"orders": "order_id", "customers": "id"}
EXISTS = "orders(customer) in customers(id)"
NOT_BEFORE = "not(orders.customer = customers.id and orders.ordered < customers.since)"
EXISTS_NAME, NOT_BEFORE_NAME = "orders-customer-in-customers", "orders-customer-customers-id-orders-ordered"


def order(key: int, customer: str | None, ordered: int = 5) -> dict[str, Any]:
    return {"order_id": key, "customer": customer, "ordered": ordered}


def customer(key: str, since: int = 1) -> dict[str, Any]:
    return {"id": key, "since": since}


def shop(**options: Any) -> hf.Monitor:
    monitor = hf.Monitor([EXISTS, NOT_BEFORE], key=KEYS, **options)
    monitor.insert({"customers": [customer("A"), customer("B", since=9)], "orders": [order(1, "A"), order(2, "B")]})
    return monitor


def test_a_parent_that_goes_breaks_its_children_and_one_that_comes_mends_them() -> None:
    monitor = shop()
    gone = monitor.delete("A", table="customers")
    assert gone.added == {EXISTS_NAME: [(("orders", 1), None)]}
    back = monitor.insert(customer("A"), table="customers")
    assert back.removed == {EXISTS_NAME: [(("orders", 1), None)]}
    moved = monitor.apply({"customers": {"id": "B", "_change_type": "delete"}})
    assert moved.added == {EXISTS_NAME: [(("orders", 2), None)]}
    assert moved.removed == {NOT_BEFORE_NAME: [(("orders", 2), ("customers", "B"))]}
    assert monitor.totals == {EXISTS_NAME: 1, NOT_BEFORE_NAME: 0}
    assert [monitor.unit(rule) for rule in monitor.rules] == ["row", "pair"]
    monitor.assert_invariants()


def test_one_change_of_both_tables_is_one_change() -> None:
    change = shop().apply(
        {"customers": [customer("D")], "orders": [{**order(2, "D"), "_change_type": "update_postimage"}]}
    )
    assert change.added == {}
    assert change.removed == {NOT_BEFORE_NAME: [(("orders", 2), ("customers", "B"))]}


def test_a_value_that_another_row_still_has_breaks_nothing() -> None:
    monitor = hf.Monitor("orders(zip) in places(zip)", key={"orders": "id", "places": "id"})
    monitor.insert({"places": [{"id": 1, "zip": "a"}, {"id": 2, "zip": "a"}], "orders": {"id": 1, "zip": "a"}})
    assert not monitor.delete({"places": 1})
    assert not monitor.update({"places": {"id": 2, "zip": "a"}})
    assert monitor.delete({"places": [2]}).added_count == 1


def test_a_null_refers_to_nothing_unless_nulls_are_equal() -> None:
    modes: list[tuple[Nulls, int]] = [("sql", 0), ("equal", 1)]
    for nulls, missing in modes:
        monitor = hf.Monitor(EXISTS, key=KEYS, nulls=nulls)
        monitor.insert({"orders": order(1, None), "customers": customer("A")})
        assert monitor.totals == {EXISTS_NAME: missing}


def test_rows_come_as_mappings_lists_arrow_tables_and_frames() -> None:
    rows = [order(1, "A"), order(2, "B"), order(3, "C")]
    for given in (rows, pa.Table.from_pylist(rows), pd.DataFrame(rows), pa.Table.from_pylist(rows).to_batches()[0]):
        monitor = hf.Monitor([EXISTS, NOT_BEFORE], key=KEYS)
        monitor.insert(pd.DataFrame([customer("A"), customer("B", since=9)]), table="customers")
        change = monitor.insert(given, table="orders")
        assert change.totals == {EXISTS_NAME: 1, NOT_BEFORE_NAME: 1}
        assert monitor.delete(np.array([1, 3]), table="orders").removed_count == 1
        monitor.assert_invariants()


def test_a_key_of_two_columns_is_a_tuple() -> None:
    keys = {"lines": ["order", "line"], "orders": "id"}
    monitor = hf.Monitor("lines(order) in orders(id)", key=keys)
    change = monitor.insert({"lines": [{"order": 1, "line": 1}, {"order": 1, "line": 2}]})
    assert change.added == {"lines-order-in-orders": [(("lines", (1, 1)), None), (("lines", (1, 2)), None)]}
    assert monitor.delete({"lines": (1, 2)}).removed_count == 1
    with pytest.raises(ChangeError, match="no row with key \\('lines', \\(1, 2\\)\\)"):
        monitor.delete([(1, 2)], table="lines")


def test_conditions_speak_of_the_columns_of_their_table() -> None:
    large = "amount > 10 or amount is null"
    rules = [
        Rule("paid", hf.parse_rule(EXISTS).body, where=large, message="no customer {customer}"),
        Rule("invoice", hf.parse_rule("unique(invoice)").body, table="orders", where=large, message="{invoice} twice"),
    ]
    monitor = hf.Monitor(rules, key=KEYS)

    def row(key: int, amount: int | None) -> dict[str, Any]:
        return {"order_id": key, "customer": "X", "invoice": 1, "amount": amount}

    monitor.insert({"orders": [row(1, 5), row(2, 11), row(3, None)], "customers": {"id": "A"}})
    assert monitor.totals == {"paid": 2, "invoice": 1}
    change = monitor.update({"orders": row(1, 12)})
    assert change.added["paid"] == [(("orders", 1), None)]
    assert change.added_count == 3
    assert monitor.apply({"orders": {"order_id": 2, "_change_type": "delete"}}).removed_count == 3
    with pytest.raises(ChangeError, match="the change of orders has no column 'amount'"):
        monitor.insert({"order_id": 9, "customer": "A", "invoice": 1}, table="orders")


def test_a_table_that_comes_later_is_calculated_with() -> None:
    rules = [EXISTS, "not(orders.total != orders.net + orders.tax)", "not(customers.spent < customers.due * 2)"]
    monitor = hf.Monitor(rules, key=KEYS, keep="pairs")
    monitor.insert({"orders": []})
    monitor.insert({"id": "A", "spent": 1.5, "due": 1}, table="customers")
    assert list(monitor.totals.values()) == [0, 0, 1]
    sums = {"order_id": 1, "customer": "B", "total": 3, "net": 1, "tax": 1}
    assert monitor.insert(sums, table="orders").added_count == 2
    assert monitor.update({**sums, "tax": 2}, table="orders").removed_count == 1
    assert monitor.delete("A", table="customers").removed_count == 1
    monitor.assert_invariants()


def test_types_are_named_by_table_or_by_whole_name() -> None:
    given: list[Any] = [{"orders": {"ordered": "date"}}, {"orders.ordered": "date"}]
    for schema in given:
        monitor = hf.Monitor(NOT_BEFORE, key=KEYS, schema=schema)
        with pytest.raises(ChangeError, match=r"has 5 in column 'orders.ordered', which holds date"):
            monitor.insert(order(1, "A"), table="orders")
    with pytest.raises(OptionError, match="schema names the table 'others'"):
        hf.Monitor(NOT_BEFORE, key=KEYS, schema={"others": {"ordered": "date"}})


def test_columns_that_cannot_be_compared_are_refused_when_both_tables_are_there() -> None:
    monitor = hf.Monitor(EXISTS, key=KEYS)
    monitor.insert(order(1, "A"), table="orders")
    with pytest.raises(TypeMismatchError, match=r"orders\.customer"):
        monitor.insert({"id": 7, "since": 1}, table="customers")
    assert len(monitor) == 1
    assert monitor.insert(customer("A"), table="customers").removed_count == 1


def test_what_does_not_say_its_table_is_refused() -> None:
    monitor = shop()
    given: Any
    for given in (order(9, "A"), [order(9, "A")], {"orders": [], "others": []}):
        with pytest.raises(
            ChangeError, match="the monitor is of orders, customers, and nothing says of which these rows"
        ):
            monitor.insert(given)
    with pytest.raises(ChangeError, match=r"no table 'order'\.\n\nHint: did you mean 'orders'"):
        monitor.insert(order(9, "A"), table="order")
    with pytest.raises(ChangeError, match="row 1 of the change of orders has no value in the key column 'order_id'"):
        monitor.insert([order(9, "A"), {**order(8, "A"), "order_id": None}], table="orders")
    with pytest.raises(ChangeError, match=r"row with key \('orders', 1\) already"):
        monitor.insert({"orders": order(1, "A")})
    assert len(monitor) == 4


def test_rules_have_to_say_their_table_and_tables_their_key() -> None:
    with pytest.raises(RuleFileError, match="does not say of which table it is"):
        hf.Monitor("unique(invoice)", key=KEYS)
    with pytest.raises(RuleFileError, match="there is no table 'customers'"):
        hf.Monitor([Rule("r", hf.parse_rule(EXISTS).body)], key={"orders": "order_id"})
    with pytest.raises(RuleFileError, match="names 'orders' and 'customers', and a monitor with one"):
        hf.Monitor(EXISTS, key="order_id")
    with pytest.raises(OptionError, match="the table customers has no key"):
        hf.Monitor(EXISTS, key={"orders": "order_id", "customers": []})
    with pytest.raises(OptionError, match="the monitor is of one table, and table is 'orders'"):
        hf.Monitor("unique(invoice)", key="id").insert({"id": 1, "invoice": 1}, table="orders")


def test_tables_and_keys_may_be_those_of_the_rule_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(
        "tables:\n  orders: {data: orders.csv, key: order_id}\n  customers: {data: customers.csv, key: id}\n"
        f"rules:\n  - {{name: exists, rule: {EXISTS}}}\n"
    )
    monitor = hf.Monitor(str(file))
    assert monitor.insert(order(1, "A"), table="orders").added == {"exists": [(("orders", 1), None)]}


def test_changes_are_told_as_json_and_as_a_table() -> None:
    change = shop().delete("A", table="customers")
    assert change.to_dict()["added"] == [{"rule": EXISTS_NAME, "left": ["orders", 1]}]
    assert change.to_arrow().to_pylist() == [{"rule": EXISTS_NAME, "left": ["orders", "1"], "right": None, "change": 1}]


def test_explain_says_how_partners_are_found() -> None:
    lines = shop().explain().splitlines()
    assert lines[2:4] == [
        '  as left row: looked up among the values of "customers.id" (2 values)',
        '  as right row: rows by "orders.customer" (2 rows)',
    ]


def test_what_goes_is_forgotten_in_the_end() -> None:
    counts, draw = ValueCounts(2), np.random.default_rng(1)
    there: list[tuple[int, int]] = []
    for _ in range(40):
        lines = draw.integers(0, 120, (500, 2))
        counts.add(lines)
        there += [(a, b) for a, b in lines.tolist()]
        draw.shuffle(there)
        gone, there = there[:480], there[480:]
        counts.remove(np.array(gone, np.int64))
        wanted = {line: there.count(line) for line in set(there)}
        assert counts.listed() == wanted
        assert counts.has(np.array([[0, 0], [999, 0]], np.int64)).tolist() == [(0, 0) in wanted, False]
    assert counts.bytes < 2_000_000
