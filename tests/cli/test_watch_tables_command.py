"""`holdfast watch` of several tables, as a user types it, counted by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.errors import ChangeError, OptionError, SourceError

ORDERS = """\
order_id,customer_id,ordered,amount
1,C-101,2024-01-05,10
2,C-101,2024-03-01,
3,C-1O2,2024-03-02,30
"""
CUSTOMERS = """\
code,id,signed_up
k1,C-101,2024-02-01
k2,C-102,2024-01-01
"""
RULES = """\
tables:
  orders: {data: orders.csv, key: order_id}
  customers: {data: customers.csv, key: code}
rules:
  - {name: exists, rule: orders(customer_id) in customers(id)}
  - {name: once, table: customers, rule: unique(id)}
  - {name: signup, rule: "not(orders.customer_id = customers.id and orders.ordered < customers.signed_up)"}
  - {name: amount, table: orders, rule: not(t.amount is null)}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for name, text in (("orders.csv", ORDERS), ("customers.csv", CUSTOMERS), ("rules.yaml", RULES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def holdfast(*arguments: Any) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


def applied(state: Path, *tables: str) -> dict[str, Any]:
    done = holdfast("watch", "apply", state, *(f"--table={table}" for table in tables), "--format", "json")
    assert done.exit_code == 0, done.output
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_a_parent_that_goes_breaks_its_children_and_one_that_comes_mends_them(shop: Path) -> None:
    state = shop / "state"
    done = holdfast("watch", "init", state, "--rules", shop / "rules.yaml")
    assert done.exit_code == 0, done.output
    gone, back = shop / "gone.csv", shop / "back.csv"
    gone.write_text("code,_change_type\nk1,delete\n", encoding="utf-8")
    back.write_text("code,id,signed_up\nk7,C-101,2024-01-01\nk8,C-1O2,2024-01-01\n", encoding="utf-8")
    first = applied(state, f"customers={gone}")
    assert first["added"] == [
        {"rule": "exists", "left": ["orders", "1"]},
        {"rule": "exists", "left": ["orders", "2"]},
    ]
    assert first["removed"] == [{"rule": "signup", "left": ["orders", "1"], "right": ["customers", "k1"]}]
    assert first["totals"] == {"exists": 3, "once": 0, "signup": 0, "amount": 1}
    again = applied(state, f"customers={gone}")
    assert (again["applied"], again["totals"]) == (False, first["totals"])
    second = applied(state, f"customers={back}")
    assert [line["left"] for line in second["removed"]] == [["orders", "1"], ["orders", "2"], ["orders", "3"]]
    assert second["totals"] == {"exists": 0, "once": 0, "signup": 0, "amount": 1}


def test_changes_of_both_tables_are_one_batch(shop: Path) -> None:
    state = shop / "state"
    assert holdfast("watch", "init", state, "--rules", shop / "rules.yaml").exit_code == 0
    (shop / "o.csv").write_text(
        "order_id,customer_id,ordered,amount,_change_type\n2,C-9,2024-03-01,5,update_postimage\n"
        "9,C-9,2024-03-01,7,insert\n",
        encoding="utf-8",
    )
    (shop / "c.csv").write_text("code,id,signed_up\nk9,C-9,2024-03-01\n", encoding="utf-8")
    both = applied(state, f"orders={shop / 'o.csv'}", f"customers={shop / 'c.csv'}")
    assert (both["added"], both["removed"]) == ([], [{"rule": "amount", "left": ["orders", "2"]}])
    assert applied(state, f"customers={shop / 'c.csv'}", f"orders={shop / 'o.csv'}")["applied"] is False
    shown = holdfast("watch", "show", state, "--violations", shop / "now", "--report", shop / "now.html")
    assert shown.exit_code == 0, shown.output
    assert "orders, customers  version 1, 7 rows, 1 batch" in shown.stdout
    assert sorted(pq.read_table(shop / "now" / "rows").to_pylist(), key=str) == sorted(
        [
            {"rule": "exists", "key": "3", "conflicts": 0, "table": "orders"},
            {"rule": "signup", "key": "1", "conflicts": 1, "table": "orders"},
            {"rule": "signup", "key": "k1", "conflicts": 1, "table": "customers"},
        ],
        key=str,
    )
    assert "Holdfast: orders, customers, watched" in (shop / "now.html").read_text(encoding="utf-8")
    assert holdfast("watch", "verify", state).exit_code == 0


def test_keys_of_one_type_keep_it_and_those_of_several_columns_are_text(tmp_path: Path) -> None:
    lines = pa.table({"id": [1, 2], "item": [7, 8]})
    items = pa.table({"id": [7]})
    rule = "lines(item) in items(id)"
    more = tmp_path / "more.parquet"
    pq.write_table(pa.table({"id": [8]}), more)
    state = hf.WatchState.create(
        tmp_path / "one", {"lines": lines, "items": items}, rule, key={"lines": "id", "items": "id"}
    )
    assert [violation.left for violation in state.apply({"items": more}).removed] == [("lines", 2)]
    lines = lines.append_column("part", pa.array(["a,b", "c\\"]))
    keys = {"lines": ["part", "id"], "items": "id"}
    state = hf.WatchState.create(tmp_path / "two", {"lines": lines, "items": items}, rule, key=keys)
    assert [violation.left for violation in state.apply({"items": more}).removed] == [("lines", "c\\\\,2")]
    with pytest.raises(SourceError, match=r"key items\.id is "):
        hf.WatchState.create(tmp_path / "three", {"lines": lines, "items": pa.table({"id": [7.0]})}, rule, key=keys)


def test_a_folder_of_each_table_is_followed(shop: Path) -> None:
    assert holdfast("watch", "init", shop / "state", "--rules", shop / "rules.yaml").exit_code == 0
    deletes = {"orders": "order_id,_change_type\n3,delete\n", "customers": "code,_change_type\nk1,delete\n"}
    for name, text in deletes.items():
        (shop / name).mkdir()
        file = shop / name / "monday.csv"
        file.write_text(text, encoding="utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))
    folders = [f"--table={name}={shop / name}" for name in ("orders", "customers")]
    done = holdfast("watch", "run", shop / "state", *folders, "--once", "--format", "json")
    assert done.exit_code == 0, done.output
    batches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [batch["totals"]["exists"] for batch in batches] == [0, 2]
    assert holdfast("watch", "run", shop / "state", *folders, "--once", "--format", "json").stdout == ""
    assert applied(shop / "state", f"customers={shop / 'customers' / 'monday.csv'}")["applied"] is False
    (shop / "customers" / "monday.csv").write_text(deletes["customers"] + "k2,delete\n", encoding="utf-8")
    os.utime(shop / "customers" / "monday.csv", (1_700_000_000, 1_700_000_000))
    done = holdfast("watch", "run", shop / "state", *folders, "--once")
    assert done.exit_code == 2
    assert "monday.csv" in done.stderr


def test_a_batch_that_is_not_committed_leaves_no_trace(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = hf.WatchState.create(shop / "state", {}, shop / "rules.yaml")
    gone = shop / "gone.csv"
    gone.write_text("code,_change_type\nk1,delete\n", encoding="utf-8")
    before = state.status

    def broken(*_: Any) -> None:
        raise OSError("no more room")

    with monkeypatch.context() as patched:
        patched.setattr("holdfast.engines.states.state_table.commit", broken)
        with pytest.raises(OSError, match="no more room"):
            state.apply({"customers": gone})
    assert (state.status.version, state.status.totals) == (before.version, before.totals)
    assert state.apply({"customers": gone}).totals["exists"] == 3
    assert hf.WatchState.open(shop / "state").show().totals["exists"] == 3


BAD = {
    "one file": (["apply", "state", "x.csv"], ["is of orders, customers", "--table NAME=CHANGES"]),
    "no file": (["apply", "state"], ["no changes are given"]),
    "both": (["apply", "state", "x.csv", "--table", "orders=x.csv"], ["both CHANGES ('x.csv') and --table"]),
    "unknown table": (["apply", "state", "--table", "order=orders.csv"], ["has no table 'order'", "'orders'"]),
    "no name": (["apply", "state", "--table", "x.csv"], ["does not say name=CHANGES"]),
    "there already": (
        ["apply", "state", "--table", "orders=orders.csv"],
        ["orders.csv: the key orders, 1 is inserted"],
    ),
    "column": (["apply", "state", "--table", "customers=orders.csv"], ["column 'order_id'", "does not have"]),
    "run": (["run", "state", "--source", "."], ["is of orders, customers", "--table NAME=DIR"]),
    "no source": (["run", "state"], ["no folder is given"]),
    "no folder": (["run", "state", "--once", "--table", "orders=there"], ["no folder there"]),
    "run of no table": (["run", "state", "--once", "--table", "order=."], ["has no table 'order'"]),
    "rules": (["rules", "state", "zip -> city"], ["is of orders, customers", "new state"]),
    "nothing": (["init", "new", "--rules", "zip -> city"], ["not said what to watch", "--data DATA"]),
    "data and table": (
        ["init", "new", "--rules", "rules.yaml", "--data", "orders.csv", "--table", "orders=orders.csv"],
        ["both --data and --table"],
    ),
    "twice": (["init", "new", "--rules", "rules.yaml", "--key", "orders.customer_id"], ["'C-101' occurs 2 times"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_2_and_is_explained(
    shop: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(shop)
    assert holdfast("watch", "init", "state", "--rules", "rules.yaml").exit_code == 0
    done = holdfast("watch", *arguments)
    assert done.exit_code == 2, done.output
    for word in words:
        assert word in done.stderr


def test_deletes_of_one_table_may_be_short_beside_whole_rows_of_another(shop: Path) -> None:
    state = hf.WatchState.create(shop / "state", {}, shop / "rules.yaml")
    gone, new, short = shop / "gone.csv", shop / "new.csv", shop / "short.csv"
    gone.write_text("code,_change_type\nk1,delete\n", encoding="utf-8")
    new.write_text("order_id,customer_id,ordered,amount\n7,C-102,2024-03-01,5\n", encoding="utf-8")
    short.write_text("order_id,customer_id\n8,C-102\n", encoding="utf-8")
    with pytest.raises(ChangeError, match="the key orders, 8 is inserted or updated, but the changes lack columns"):
        state.apply({"customers": gone, "orders": short})
    outcome = state.apply({"customers": gone, "orders": new})
    assert (outcome.rows, outcome.totals["exists"]) == (5, 3)


def test_a_condition_speaks_of_the_columns_of_its_table(shop: Path) -> None:
    rules = """\
rules:
  - {name: exists, rule: orders(customer_id) in customers(id), where: "amount > 10"}
  - {name: once, table: orders, rule: unique(customer_id), where: "amount > 10"}
  - {name: code, table: customers, rule: "not(t.id = 'C-101')", where: "code like 'k%'"}
"""
    (shop / "where.yaml").write_text(RULES.partition("rules:")[0] + rules, encoding="utf-8")
    assert holdfast("watch", "init", shop / "state", "--rules", shop / "where.yaml").exit_code == 0
    (shop / "more.csv").write_text("order_id,customer_id,ordered,amount\n4,C-1O2,2024-03-02,11\n", encoding="utf-8")
    found = applied(shop / "state", f"orders={shop / 'more.csv'}")
    assert found["added"] == [
        {"rule": "exists", "left": ["orders", "4"]},
        {"rule": "once", "left": ["orders", "3"], "right": ["orders", "4"]},
    ]
    assert found["totals"] == {"exists": 2, "once": 1, "code": 1}
    update = "order_id,customer_id,ordered,amount,_change_type\n3,C-1O2,2024-03-02,,update_postimage\n"
    (shop / "smaller.csv").write_text(update, encoding="utf-8")
    assert applied(shop / "state", f"orders={shop / 'smaller.csv'}")["totals"] == {"exists": 1, "once": 0, "code": 1}
    (shop / "gone.csv").write_text("order_id,_change_type\n4,delete\n", encoding="utf-8")
    assert applied(shop / "state", f"orders={shop / 'gone.csv'}")["totals"] == {"exists": 0, "once": 0, "code": 1}
    assert json.loads(holdfast("watch", "show", shop / "state", "--format", "json").stdout)["totals"]["code"] == 1


def test_a_condition_that_has_no_meaning_is_refused(shop: Path) -> None:
    rule = 'rules:\n  - {rule: orders(customer_id) in customers(id), where: "since > 1"}\n'
    (shop / "where.yaml").write_text(RULES.partition("rules:")[0] + rule, encoding="utf-8")
    done = holdfast("watch", "init", shop / "new", "--rules", shop / "where.yaml", "--engine", "local")
    assert done.exit_code == 2
    assert "since" in done.stderr
    assert not (shop / "new").exists()


def test_what_is_not_watched_over_several_tables_is_refused(shop: Path) -> None:
    with pytest.raises(OptionError, match="the table customers has no key"):
        hf.WatchState.create(
            shop / "new", {"orders": shop / "orders.csv", "customers": shop / "customers.csv"},
            "orders(customer_id) in customers(id)", key={"orders": "order_id"},
        )  # fmt: skip
    one = hf.WatchState.create(shop / "one", shop / "customers.csv", "unique(id)", key="code")
    with pytest.raises(OptionError, match="is of one table"):
        one.apply({"customers": shop / "customers.csv"})
