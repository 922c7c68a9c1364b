"""`holdfast discover` over several tables: what it shows, writes and refuses."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.errors import OptionError

REFERENCE = "orders(customer_id) in customers(id)"
ALONG = "if orders.customer_id = customers.id then orders.ordered >= customers.signed_up"


def holdfast(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Customers, and their orders, which come after they signed up; a quantity is the number of some customer, too."""
    chance = random.Random(5)
    people = [(i, f"2024-{chance.randint(1, 9):02d}-{chance.randint(1, 28):02d}", f"c{i % 7}") for i in range(1, 81)]
    lines = ["id,signed_up,city", *(",".join(map(str, person)) for person in people)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "customers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = ["order_id,customer_id,quantity,ordered,replaces"]
    for i in range(5001, 5501):
        who, since, _ = chance.choice(people)
        month = chance.randint(int(since[5:7]), 12)
        day = since[8:] if month == int(since[5:7]) else f"{chance.randint(1, 28):02d}"
        replaces = chance.randint(5001, i - 1) if i > 5100 and i % 4 == 0 else ""
        lines.append(f"{i},{who},{chance.randint(1, 40)},2024-{month:02d}-{day},{replaces}")
    (tmp_path / "data" / "orders.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def named(shop: Path) -> list[str]:
    return [part for n in ("orders", "customers") for part in ("--table", f"{n}={shop / 'data' / f'{n}.csv'}")]


def test_references_are_shown_written_and_checked(shop: Path) -> None:
    done = holdfast("discover", *named(shop), "-o", shop / "rules.yaml", "--quiet")
    assert done.exit_code == 0, done.output
    for text in (
        "orders, customers  580 rows, 8 columns",
        "2 inclusions, 1 comparison along them.",
        "each customer_id of orders is the id of a row of customers",
        f"{REFERENCE}   tested by 500 rows, uses",
        "orders(replaces) in orders(order_id)   tested by 100 rows",
        "ordered of orders is at least signed_up of the row of customers that it refers to",
        "by chance as it seems; --top all shows them.",
    ):
        assert text in done.stdout
    assert "quantity" not in done.stdout
    rules = hf.read_rules(shop / "rules.yaml")
    assert [str(rule) for rule in rules][:2] == [REFERENCE, ALONG]
    assert {table.name: (table.data, table.key) for table in rules.tables} == {
        "orders": ("data/orders.csv", ("order_id",)),
        "customers": ("data/customers.csv", ("id",)),
    }
    checked = holdfast("check", shop / "rules.yaml", "--format", "json")
    assert checked.exit_code == 0, checked.output
    (shop / "data" / "customers.csv").write_text("id,signed_up,city\n1,2024-01-01,c1\n", encoding="utf-8")
    assert holdfast("check", shop / "rules.yaml", "--format", "json").exit_code == 1


def test_a_folder_has_a_table_per_file(shop: Path) -> None:
    (shop / "data" / "notes.txt").write_text("not a table", encoding="utf-8")
    done = holdfast("discover", "--tables", shop / "data", "--format", "json", "--quiet")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert list(told) == ["tables", "rows", "complete", "seconds", "engine", "rules"]
    assert told["tables"] == [
        {"name": "customers", "rows": 80, "columns": 3},
        {"name": "orders", "rows": 500, "columns": 5},
    ]
    first, second, *_ = told["rules"]
    assert list(first) == [
        *("rule", "dc", "kind", "tables", "score", "coverage", "violating_pairs", "violating_rows"),
    ]
    assert (first["rule"], first["kind"], first["dc"], first["violating_rows"]) == (REFERENCE, "ind", None, 0)
    assert (second["rule"], second["kind"], second["violating_pairs"]) == (ALONG, "dc", 0)
    assert second["dc"].startswith("not(orders.customer_id = customers.id and ")


def test_top_cuts_and_all_shows_what_holds_by_chance_too(shop: Path) -> None:
    one = json.loads(holdfast("discover", *named(shop), "--top", "1", "--format", "json", "--quiet").stdout)
    assert [rule["rule"] for rule in one["rules"]] == [REFERENCE]
    done = holdfast("discover", *named(shop), "--top", "1", "--quiet")
    assert "2 rules more with --top N or all." in done.stdout
    every = json.loads(holdfast("discover", *named(shop), "--top", "all", "--format", "json", "--quiet").stdout)
    rules = [rule["rule"] for rule in every["rules"]]
    assert "orders(quantity) in customers(id)" in rules
    assert rules.index("orders(quantity) in customers(id)") > rules.index("orders(replaces) in orders(order_id)")


def test_some_rows_may_refer_to_nothing(shop: Path) -> None:
    orders = shop / "data" / "orders.csv"
    orders.write_text(orders.read_text(encoding="utf-8") + "6001,999,1,2024-12-31,\n", encoding="utf-8")
    assert REFERENCE not in holdfast("discover", *named(shop), "--quiet").stdout
    done = holdfast("discover", *named(shop), "--error-rows", "1%", "-o", shop / "rules.yaml", "--quiet")
    assert f"{REFERENCE}   tested by 501 rows" in done.stdout
    assert "broken by 1 row" in done.stdout
    assert "that at most 1% of the rows break" in done.stdout
    assert str(hf.read_rules(shop / "rules.yaml")["orders-customer_id-in-customers"].allow) == "1%"
    assert holdfast("check", shop / "rules.yaml", "--format", "json").exit_code == 0


def test_how_tables_are_read_is_written_beside_them(shop: Path) -> None:
    options = ("--null-values", "c1", "--delimiter", ",", "-o", shop / "rules.yaml", "--quiet")
    done = holdfast("discover", *named(shop), *options)
    assert done.exit_code == 0, done.output
    (orders, _) = hf.read_rules(shop / "rules.yaml").tables
    assert orders.reading == {"null_values": ("c1",), "delimiter": ","}


def test_the_library_takes_tables_in_memory() -> None:
    rows = pa.table({"id": ["a", "b", "c"], "n": [1, 2, 3]})
    found = hf.discover({"visits": pa.table({"person_id": ["a", "b", "a", None]}), "people": rows})
    assert [str(rule) for rule in found.rules] == ["visits(person_id) in people(id)"]
    assert "visits, people  7 rows, 3 columns" in repr(found)
    assert found.complete
    assert found.seconds >= 0
    assert hf.check({"visits": pa.table({"person_id": ["z"]}), "people": rows}, found).holds is False


def test_tables_without_references_say_so() -> None:
    found = hf.discover({"one": pa.table({"a": [1.5]}), "other": pa.table({"b": ["x"]})})
    assert "No inclusions." in found.summary()
    assert len(found.rules) == 0


BAD = {
    "nothing": ([], ["there is no DATA", "--tables FOLDER"]),
    "both": (["orders.csv", "--table", "a=orders.csv"], ["both DATA", "--table name=DATA"]),
    "no name": (["--table", "orders.csv"], ["does not say name=DATA"]),
    "twice": (["--table", "a=orders.csv", "--table", "a=customers.csv"], ["'a' names two tables"]),
    "no table name": (["--table", "t=orders.csv"], ["a table cannot be called 't'"]),
    "no folder": (["--tables", "orders.csv"], ["is no folder"]),
    "empty folder": (["--tables", "none"], ["has no data files"]),
    "one table's option": (["--table", "a=orders.csv", "--one-row"], ["one-row is for the discovery of one table"]),
    "constants": (["--table", "a=orders.csv", "--constants"], ["constants is for the discovery of one table"]),
    "no arithmetic": (["--table", "a=orders.csv", "--no-arithmetic"], ["arithmetic is for the discovery of one table"]),
    "accidents": (["--table", "a=orders.csv", "--max-accidents", "1%"], ["max-accidents is for the discovery of one"]),
    "report": (["--table", "a=orders.csv", "--report", "r.html"], ["--report is for the discovery of one table"]),
    "no share": (["--table", "a=orders.csv", "--error-rows", "2"], ["error-rows is 2"]),
    "no file": (["--table", "a=nowhere.csv"], ["nowhere.csv"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_wrong_use_is_told(shop: Path, arguments: list[str], words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop / "data")
    (shop / "data" / "none").mkdir()
    done = holdfast("discover", *arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    for word in words:
        assert word in " ".join(done.stderr.split())
    assert "Traceback" not in done.output


def test_the_library_refuses_what_is_for_one_table() -> None:
    tables = {"a": pa.table({"x": [1]})}
    with pytest.raises(OptionError, match="cross-columns is for the discovery of one table"):
        hf.discover(tables, cross_columns="off")
    with pytest.raises(OptionError, match="there are no tables"):
        hf.discover({})


def test_files_of_one_name_need_names_of_their_own(shop: Path) -> None:
    (shop / "data" / "orders.json").write_text('{"a": 1}\n', encoding="utf-8")
    done = holdfast("discover", "--tables", shop / "data")
    assert done.exit_code == 2
    assert "would both be called 'orders'" in done.stderr
