"""`holdfast sql` as a user types it: queries that run, without Spark."""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.demo.run import copy_demo


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["sql", *map(str, arguments)])


def test_the_demo_is_checked_by_a_database(tmp_path: Path) -> None:
    place = copy_demo(tmp_path / "demo")
    with (place / "orders.csv").open(newline="", encoding="utf-8") as lines:
        head, *rows = csv.reader(lines)
    database = sqlite3.connect(":memory:")
    numbers = {"quantity", "discount", "unit_price", "shipping"}
    columns = ", ".join(f"{name} {'REAL' if name in numbers else 'TEXT'}" for name in head)
    database.execute(f"CREATE TABLE orders ({columns})")
    marks = ", ".join("?" * len(head))
    database.executemany(f"INSERT INTO orders VALUES ({marks})", [[cell or None for cell in row] for row in rows])

    asked = (place / "rules.yaml", "--table", "orders", "--key", "order_id", "--dialect", "sqlite")
    counted = run(*asked, "--count", "--output", tmp_path / "all.sql")
    assert counted.exit_code == 0, counted.output
    found = dict(database.execute((tmp_path / "all.sql").read_text("utf-8").rstrip().rstrip(";")).fetchall())
    assert found == {
        "invoice-once": 1,
        "zip-place": 53,
        "currency": 1,
        "gold-ships-free": 0,
        "volume-discount": 96,
        "replacement": 1,
        "ship-date": 2,
        "delivery-date": 2,
        "one-address": 7,
        "reachable": 2,
    }
    each = run(*asked)
    assert each.stdout.count("-- ") == 10
    assert "-- zip-place: zip -> city, state" in each.stdout
    for query in each.stdout.split(";\n")[:-1]:
        database.execute(query)


def test_what_is_wrong_is_told() -> None:
    assert "by what rows are named" in run("zip -> city", "--table", "t").stderr
    wrong = run("zip -> city", "--table", "t", "--key", "id", "--dialect", "mysq")
    assert (wrong.exit_code, "did you mean 'mysql'" in wrong.stderr) == (2, True)
    assert run("zip ->", "--table", "t", "--key", "id").exit_code == 2
    equal = run("a -> b", "--table", "t", "--key", "id", "--nulls", "equal")
    assert "t.a IS NULL AND s.a IS NULL" in equal.stdout
    assert "what the database calls the table" in run("a -> b", "--key", "id").stderr
    several = run("o(a) in p(b)", "--table", "o", "--key", "o.id")
    assert "say which it is, as in --table o=o" in " ".join(several.stderr.split())
    typed = run("not(t.a - t.b > 3)", "--table", "t", "--key", "id", "--types", "a=datum")
    assert (typed.exit_code, "a=datum" in typed.stderr or "'datum'" in typed.stderr) == (2, True)


def test_tables_are_called_as_the_database_calls_them() -> None:
    named = run("o(a) in p(b)", "--table", "o=shop.orders", "--key", "o.id", "--dialect", "duckdb")
    assert named.exit_code == 0, named.stderr
    assert "FROM shop.orders AS t" in named.stdout
    assert "FROM p AS s" in named.stdout
    wrong = run("o(a) in p(b)", "--table", "q=shop.orders", "--key", "o.id")
    assert (wrong.exit_code, "no table 'q'" in wrong.stderr) == (2, True)


def test_differences_of_dates_are_days_where_types_are_given() -> None:
    asked = ("not(t.paid - t.sent > 30)", "--table", "t", "--key", "id", "--dialect", "duckdb")
    assert "DATE_DIFF('DAY', t.sent, t.paid) > 30" in run(*asked, "--types", "paid=date,sent=date").stdout
    assert "(\n    t.paid - t.sent\n  ) > 30" in run(*asked).stdout
