"""`holdfast check` of several tables, as a user types it, counted by hand; and the jobs that are of one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.errors import RuleFileError
from holdfast.rules.rule_file import dump_rules, parse_rules

ORDERS = """\
order_id,customer_id,ordered,invoice,net,total
1,7,2024-01-05,A1,10,12
2,7,2024-03-01,A2,10,12
3,9,2024-03-02,A3,10,8
4,99,2024-03-03,A3,10,12
5,99,2024-03-04,A5,10,12
6,,2024-03-04,A6,10,12
"""
CUSTOMERS = """\
code,id,signed_up,name
k7,7,2024-02-01,Ann
k9,9,2024-01-01,Bob
"""
RULES = """\
version: 1
tables:
  orders: {data: data/orders.csv, key: order_id}
  customers: {data: data/customers.csv, key: code, types: {name: text}}
rules:
  - {name: exists, rule: orders(customer_id) in customers(id)}
  - {name: invoice, table: orders, rule: unique(invoice)}
  - {name: signup, rule: "not(orders.customer_id = customers.id and orders.ordered < customers.signed_up)"}
  - {name: total, rule: not(orders.net > orders.total)}
"""
IND = "orders(customer_id) in customers(id)"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "orders.csv").write_text(ORDERS, encoding="utf-8")
    (tmp_path / "data" / "customers.csv").write_text(CUSTOMERS, encoding="utf-8")
    (tmp_path / "shop.yaml").write_text(RULES, encoding="utf-8")
    return tmp_path


def holdfast(*arguments: Any) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


def test_json_counts_what_the_rules_find(shop: Path) -> None:
    done = holdfast("check", shop / "shop.yaml", "--format", "json")
    assert done.exit_code == 1, done.output
    result = json.loads(done.stdout)
    assert (result["rows"], result["key"], result["holds"]) == (8, None, False)
    assert result["tables"] == [
        {"name": "orders", "rows": 6, "key": "order_id"},
        {"name": "customers", "rows": 2, "key": "code"},
    ]
    counted = ("violating_pairs", "violating_rows", "suspect_rows", "violating_groups")
    assert {rule["name"]: (rule["kind"], *(rule[count] for count in counted)) for rule in result["rules"]} == {
        "exists": ("ind", None, 2, 2, 1),
        "invoice": ("key", 1, 2, 1, None),
        "signup": ("dc", 1, 2, 1, None),
        "total": ("row", None, 1, 1, None),
    }
    both = ["orders", "customers"]
    assert [rule.get("tables") for rule in result["rules"]] == [both, None, both, None]
    assert [rule.get("table") for rule in result["rules"]] == [None, "orders", None, "orders"]


def test_violations_and_quarantine_say_which_table_a_row_is_of(shop: Path) -> None:
    done = holdfast("check", shop / "shop.yaml", "--violations", shop / "v", "--quarantine", shop / "q")
    assert done.exit_code == 1, done.output
    pairs = pq.read_table(shop / "v" / "pairs").to_pylist()
    keys = [(row["rule"], row["left_table"], row["left"], row["right_table"], row["right"]) for row in pairs]
    # Keys of different types are text.
    assert keys == [("invoice", "orders", "3", "orders", "4"), ("signup", "orders", "1", "customers", "k7")]
    (group,) = pq.read_table(shop / "v" / "groups").to_pylist()
    assert (group["rule"], group["value"], group["rows"], group["keys"]) == ("exists", "99", 2, ["4", "5"])
    rows = pq.read_table(shop / "v" / "rows").to_pylist()
    assert {(row["table"], row["key"]) for row in rows if row["rule"] == "signup"} == {
        ("orders", "1"),
        ("customers", "k7"),
    }
    quarantined = pq.read_table(shop / "q" / "orders" / "quarantined").to_pylist()
    assert {row["order_id"]: row["_broken_rules"] for row in quarantined} == {
        3: ["total"],
        4: ["exists", "invoice"],
        5: ["exists"],
    }
    assert pq.read_table(shop / "q" / "orders" / "clean").num_rows == 3
    # Of the one order and the one customer in conflict, the one that comes later in the rule is suspect.
    assert pq.read_table(shop / "q" / "customers" / "quarantined")["code"].to_pylist() == ["k7"]
    again = holdfast("check", shop / "shop.yaml", "--violations", shop / "v", "--quarantine", shop / "q")
    assert again.exit_code == 1, again.output


def test_text_and_page_show_both_tables(shop: Path) -> None:
    page = shop / "report.html"
    done = holdfast("check", shop / "shop.yaml", "--report", page)
    for words in ("missing: 99 (2 rows)", "customers   k7", "orders      1", "orders.ordered", "customers.signed_up"):
        assert words in done.stdout
    html = page.read_text("utf-8")
    for words in ("Values that are not there", "not in customers(id)", "customers.signed_up", "<i>customers</i>"):
        assert words in html
    assert "Suggestion, not applied" not in html


def test_hidden_values_are_shown_nowhere(shop: Path) -> None:
    page = shop / "report.html"
    hidden = ("--redact", "orders.customer_id,code,id")
    done = holdfast("check", shop / "shop.yaml", "--report", page, *hidden)
    for shown in (done.stdout, page.read_text("utf-8")):
        assert "k7" not in shown
        assert "99" not in shown
        assert "2024-02-01" in shown
    assert holdfast("check", shop / "shop.yaml", "--redact", "orders.name").exit_code == 2


@pytest.mark.parametrize("format", ["junit", "sarif"])
def test_other_formats_tell_the_missing_values(shop: Path, format: str) -> None:
    done = holdfast("check", shop / "shop.yaml", "--format", format)
    assert done.exit_code == 1, done.output
    assert "missing: 99 (2 rows)" in done.stdout


def test_tables_may_be_named_on_the_command_line(shop: Path) -> None:
    tables = [f"--table={name}={shop / 'data' / f'{name}.csv'}" for name in ("orders", "customers")]
    done = holdfast("check", IND, *tables, "--key", "orders.order_id", "--format", "json", "--nulls", "equal")
    result = json.loads(done.stdout)
    assert [table["key"] for table in result["tables"]] == ["order_id", "_row"]
    assert result["rules"][0]["violating_rows"] == 3  # with the order that has no customer
    assert result["rules"][0]["violating_groups"] == 2
    explained = holdfast("check", IND, *tables, "--explain")
    assert explained.exit_code == 0
    assert IND in explained.stdout


def test_a_key_that_repeats_falls_back_to_row_numbers_and_says_so(shop: Path) -> None:
    done = holdfast("check", shop / "shop.yaml", "--key", "orders.invoice,customers.code", "--format", "json")
    assert [table["key"] for table in json.loads(done.stdout)["tables"]] == ["_row", "code"]
    told = holdfast("check", shop / "shop.yaml", "--key", "orders.invoice").stdout
    assert "orders: the key invoice is not unique: 'A3' occurs 2 times" in told


def test_a_row_of_either_table_is_explained(shop: Path) -> None:
    told = holdfast("explain", shop / "shop.yaml", 4, "--of", "orders", "--format", "json")
    assert told.exit_code == 0, told.output
    order = json.loads(told.stdout)
    assert (order["key"], order["row"], order["violations"]) == ("order_id", 4, 2)
    assert [(rule["name"], rule["violations"]) for rule in order["rules"]] == [("exists", 1), ("invoice", 1)]
    assert [(s["column"], s["suggested"], s["rules"]) for s in order["suggestions"]] == [
        ("customer_id", "9", ["exists"]),
    ]
    told = holdfast("explain", shop / "shop.yaml", "k7", "--of", "customers")
    assert told.exit_code == 0, told.output
    assert "in conflict with orders 1" in told.stdout
    assert "signed_up: 2024-02-01 -> 2024-01-05" in told.stdout


def test_what_is_hidden_is_hidden_in_explanations_too(shop: Path) -> None:
    for hidden in ("customers.code,customers.signed_up", "orders.order_id,customers.signed_up"):
        for row, of in ((1, "orders"), ("k7", "customers")):
            told = holdfast("explain", shop / "shop.yaml", row, "--of", of, "--redact", hidden)
            assert told.exit_code == 0, told.output
            assert "2024-02-01" not in told.stdout
    told = holdfast("explain", shop / "shop.yaml", 1, "--of", "orders", "--redact", "customers.code")
    assert "k7" not in told.stdout


def test_suggestions_say_of_which_table_the_row_is(shop: Path) -> None:
    done = holdfast("check", shop / "shop.yaml", "--suggest", shop / "mends")
    assert done.exit_code == 1, done.output
    found = pq.read_table(shop / "mends" / "suggestions").to_pylist()
    told = {(line["table"], line["key"], line["column"], line["suggested"]) for line in found}
    assert ("orders", "4", "customer_id", "9") in told
    assert ("customers", "k7", "signed_up", "2024-01-05") in told


def test_a_row_that_is_not_there_or_of_no_table_is_refused(shop: Path) -> None:
    for arguments, words in (
        ([shop / "shop.yaml", 1], ["which row is to be explained", "--of NAME"]),
        ([shop / "shop.yaml", 99, "--of", "orders"], ["orders has no row with order_id = '99'"]),
        ([shop / "shop.yaml", 1, "--of", "order"], ["no table 'order'", "did you mean 'orders'"]),
        ([shop / "data" / "orders.csv", "unique(invoice)", 1, "--of", "orders"], ["both DATA", "--of"]),
    ):
        done = holdfast("explain", *arguments)
        assert done.exit_code == 2, done.output
        for word in words:
            assert word in done.stderr


BAD = {
    "unknown table": (["orders(a) in customer(id)"], ["RuleSyntaxError", "no table 'customer'", "^", "'customers'"]),
    "no table": (["unique(invoice)"], ["does not say of which table", "orders, customers"]),
    "unknown column": (["orders(cust) in customers(id)"], ["UnknownColumnError", "'orders.cust'", "customer_id"]),
    "unknown column of two": (["not(orders.net = customers.nett)"], ["'customers.nett'", "name"]),
    "types": (["orders(invoice) in customers(id)"], ["TypeMismatchError", "orders.invoice (text)", "customers.id ("]),
    "types of two": (["not(orders.invoice = customers.id)"], ["TypeMismatchError", "orders.invoice (text)"]),
    "key without a table": ([IND, "--key", "id"], ["--key names 'id'", "orders.id"]),
    "key of no table": ([IND, "--key", "x.id"], ["table 'x'"]),
    "baseline": ([IND, "--baseline", "known.json"], ["--baseline", "one table"]),
    "no name": ([IND, "--table", "orders.csv"], ["does not say name=DATA"]),
    "twice": ([IND, "--table", "orders=orders.csv"], ["'orders' twice"]),
    "no name of a table": ([IND, "--table", "s=orders.csv"], ["cannot be called 's'"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_2_and_is_explained(shop: Path, arguments: list[str], words: list[str]) -> None:
    tables = [f"--table={name}={shop / 'data' / f'{name}.csv'}" for name in ("orders", "customers")]
    done = holdfast("check", *arguments, *tables)
    assert done.exit_code == 2, done.output
    for word in words:
        assert word in done.stderr


# What is wrong, the rule up to the place that the caret points at, and the rest of it.
WRONG_USE = {
    "there is no table 'customer'.": ("orders(customer_id) in ", "customer(id)"),
    "there is no table 'place'.": ("not(orders.net = ", "place.net)"),
    "the rule calls a row orders, by its table, and another t: of which table that is, it does not say.": (
        "not(",
        "orders.customer_id = customers.id and t.net > 3)",
    ),
    "the rule 'invoice -> net' does not say of which table it is.": ("", "invoice -> net"),
    "the rule calls its rows orders, customers, orders2.": (
        "not(orders.net = customers.id and customers.id = ",
        "orders2.net)",
    ),
    "there is no function 'flor'.": ("not(", "flor(orders.net) = customers.id)"),
    "rule 'orders-net-customers-id-orders-invoice' subtracts 1 (integer) from orders.invoice (text).": (
        "not(orders.net = customers.id and ",
        "orders.invoice - 1 > 3)",
    ),
    "engines differ in look-around, named groups and flags.": ("not(orders.invoice not matches ", "'(?=a)b')"),
}


@pytest.mark.parametrize(("reason", "rule"), WRONG_USE.items(), ids=WRONG_USE)
def test_wrong_use_of_tables_has_a_reason_and_a_caret(shop: Path, reason: str, rule: tuple[str, str]) -> None:
    tables = [f"--table={name}={shop / 'data' / 'orders.csv'}" for name in ("orders", "orders2")]
    before, after = rule
    done = holdfast("check", before + after, *tables, f"--table=customers={shop / 'data' / 'customers.csv'}")
    assert done.exit_code == 2, done.output
    assert reason in done.stderr
    assert f"\n\n  {before}{after}\n  {' ' * len(before)}^\n" in done.stderr


def test_a_rule_of_tables_is_refused_where_there_is_one(shop: Path) -> None:
    orders = shop / "data" / "orders.csv"
    for arguments in (
        ["check", orders, IND],
        ["check", orders, shop / "shop.yaml"],
        ["check", IND],
        ["explain", orders, IND, 1],
        ["sql", IND, "--table", "orders"],
        ["watch", "init", shop / "state", "--data", orders, "--rules", IND, "--key", "order_id"],
    ):
        done = holdfast(*arguments)
        assert done.exit_code == 2, done.output
        assert "Hint:" in done.stderr
    with pytest.raises(RuleFileError, match="a monitor with one key is of one table"):
        hf.Monitor(IND, key="id")
    (shop / "sites.yaml").write_text(f"key: id\nsites:\n  A: {{columns: [x]}}\nrules: ['{IND}']\n", encoding="utf-8")
    done = holdfast("fragments", "plan", shop / "sites.yaml")
    assert done.exit_code == 2
    assert "fragments is of one table" in done.stderr


BAD_FILES = {
    "unknown table": ("  - {table: order, rule: unique(invoice)}", ["line 6", "no table 'order'", "'orders'"]),
    "no table": ("  - unique(invoice)", ["line 6", "does not say of which table"]),
    "caret": ("  - not(orders.x = client.y)", ["line 6", "no table 'client'", "^"]),
    "both": ("  - {table: orders, rule: orders(x) in customers(y)}", ["line 6", "leave out table"]),
    "where": ("  - {rule: not(orders.x = customers.y), where: x > 1}", ["line 6", "has no where"]),
}


@pytest.mark.parametrize(("entry", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_rule_file_names_file_line_and_rule(shop: Path, entry: str, words: list[str]) -> None:
    head = RULES.split("  - {name: exists")[0]
    (shop / "shop.yaml").write_text(f"{head}{entry}\n", encoding="utf-8")
    done = holdfast("check", shop / "shop.yaml")
    assert done.exit_code == 2, done.output
    for word in ("shop.yaml", *words):
        assert word in done.stderr


def test_a_setting_of_a_table_that_nobody_knows_is_told(shop: Path) -> None:
    (shop / "shop.yaml").write_text(RULES.replace("key: code", "kye: code"), encoding="utf-8")
    done = holdfast("check", shop / "shop.yaml")
    assert done.exit_code == 2
    assert "line 4: there is no setting 'kye'" in done.stderr


def test_a_rule_file_with_tables_is_read_back() -> None:
    rules = parse_rules(RULES)
    assert parse_rules(dump_rules(rules)) == rules
    assert [rule.tables for rule in rules] == [
        ("orders", "customers"),
        ("orders",),
        ("orders", "customers"),
        ("orders",),
    ]


def test_a_table_may_refer_to_itself() -> None:
    staff = pa.table({"id": [1, 2, 3], "boss": [None, 1, 9]})
    result = hf.check({"staff": staff}, "staff(boss) in staff(id)", key={"staff": "id"})
    assert [(row["table"], row["key"]) for row in result.suspects] == [("staff", 3)]
    assert result.to_dict()["rules"][0]["tables"] == ["staff"]
