"""Tests of a dbt project made of rules: dbt's own where it has them, and queries that DuckDB runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest
import yaml

import holdfast as hf
from holdfast.demo.run import copy_demo
from holdfast.exchange.dbt import SCHEMA_FILE
from holdfast.rules.rule_file import parse_rules


def rendered(text: str) -> str:
    """What dbt sends to the database, its models being tables."""
    return jinja2.Template(text).render(ref=lambda name: name, config=lambda **_: "")


def own_tests(made: Any) -> list[tuple[str, str, str, Any]]:
    """(model, column, test, settings) of the schema file."""
    content = yaml.safe_load(made.files[SCHEMA_FILE])
    return [
        (model["name"], column["name"], *next(iter(test.items())))
        for model in content["models"]
        for column in model["columns"]
        for test in column["data_tests"]
    ]


def test_what_dbt_has_is_its_own() -> None:
    rules = parse_rules(
        """
tables: {orders: {key: id}, customers: {key: id}}
rules:
  - {table: orders, rule: unique(id)}
  - {table: orders, rule: not(t.zip is null), severity: warn, where: "country = 'US'"}
  - {table: orders, rule: "not(t.status not in ('a', 'b c'))", allow: 3}
  - {table: orders, rule: "not(t.n not in (1, 2))"}
  - orders(customer) in customers(id)
""",
        origin="rules",
    )
    made = hf.export_dbt(rules, {"orders": "stg_orders"}, dialect="duckdb")
    assert list(made.files) == [SCHEMA_FILE]
    assert own_tests(made) == [
        ("stg_orders", "id", "unique", {"name": "unique_id"}),
        ("stg_orders", "zip", "not_null", {"name": "zip", "config": {"where": "country = 'US'", "severity": "warn"}}),
        (
            "stg_orders",
            "status",
            "accepted_values",
            {"name": "status", "arguments": {"values": ["a", "b c"]}, "config": {"error_if": ">3", "warn_if": ">3"}},
        ),
        ("stg_orders", "n", "accepted_values", {"name": "n", "arguments": {"values": [1, 2], "quote": False}}),
        (
            "stg_orders",
            "customer",
            "relationships",
            {"name": "orders_customer_in_customers", "arguments": {"to": "ref('customers')", "field": "id"}},
        ),
    ]


def test_other_rules_are_queries_that_list_what_check_counts(tmp_path: Path) -> None:
    place = copy_demo(tmp_path)
    rules = hf.read_rules(place / "rules.yaml")
    made = hf.export_dbt(rules, "orders", key="order_id", dialect="duckdb")
    database = duckdb.connect(":memory:")
    database.read_csv(str(place / "orders.csv"), all_varchar=False, dtype={"zip": "VARCHAR"}).create("orders")
    with hf.check(place / "orders.csv", rules, key="order_id") as result:
        wanted = {r.rule.name.replace("-", "_"): r for r in result.outcome.rules}
    queries = {Path(name).stem: text for name, text in made.files.items() if name.endswith(".sql")}
    assert len(queries) == 8
    for name, text in queries.items():
        outcome = wanted[name]
        listed = len(database.execute(rendered(text)).fetchall())
        pairs = outcome.violating_rows if outcome.violating_pairs is None else outcome.violating_pairs
        assert listed == (0 if outcome.rule.allow.percent is not None and outcome.holds else pairs), name
    assert made.files["tests/one_address.sql"].startswith("{{ config(severity='warn') }}\n")


def test_with_nulls_that_are_equal_all_are_queries() -> None:
    made = hf.export_dbt(["unique(a)", "not(t.a is null)"], "t", key="id", nulls="equal", dialect="duckdb")
    assert sorted(made.files) == ["tests/a.sql", "tests/unique_a.sql"]


@pytest.mark.parametrize("text", ["it's", "a\\", "{{ a }}", "{% b"])
def test_accepted_values_that_dbt_would_misread_are_a_query(text: str) -> None:
    rule = "not(t.a not in ('{}', 'x'))".format(text.replace("'", "''"))
    (query,) = hf.export_dbt([rule], "t", key="id", dialect="duckdb").files.values()
    database = duckdb.connect(":memory:")
    database.execute("CREATE TABLE t (id INTEGER, a VARCHAR)")
    database.execute("INSERT INTO t VALUES (1, ?), (2, 'x'), (3, 'y')", [text])
    assert database.execute(rendered(query)).fetchall() == [(3,)]


@pytest.mark.parametrize(("where", "rows"), [("a <> 'it''s'", [2, 3]), ('a <> "it\'s"', [2, 3]), ("a = 'it''s'", [1])])
def test_a_condition_speaks_of_the_same_rows_in_the_database(where: str, rows: list[int]) -> None:
    given = [dataclasses.replace(hf.parse_rule(text), where=where) for text in ("not(t.id > 0)", "not(t.a is null)")]
    made = hf.export_dbt(given, "t", key="id", dialect="duckdb")
    ((*_, settings),) = own_tests(made)
    (query,) = (text for name, text in made.files.items() if name.endswith(".sql"))
    database = duckdb.connect(":memory:")
    database.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'it''s'), (2, 'its'), (3, 'x')) AS v(id, a)")
    assert database.execute(f"SELECT id FROM t WHERE {settings['config']['where']}").fetchall() == [(n,) for n in rows]
    assert sorted(database.execute(rendered(query)).fetchall()) == [(n,) for n in rows]


@pytest.mark.parametrize("pattern", ["a{{b}}", "{%x", "{#x#}", "[0-9]{5}"])
def test_a_text_that_looks_like_a_template_stays_a_text(pattern: str) -> None:
    text = pattern.replace("#", "%")
    made = hf.export_dbt([f"not(t.a = '{text}')"], "t", key="id", dialect="duckdb")
    (query,) = made.files.values()
    database = duckdb.connect(":memory:")
    database.execute("CREATE TABLE t (id INTEGER, a VARCHAR)")
    database.execute("INSERT INTO t VALUES (1, ?), (2, 'x')", [text])
    assert database.execute(rendered(query)).fetchall() == [(1,)]


def test_a_share_that_is_allowed_is_asked_of_all_rows() -> None:
    database = duckdb.connect(":memory:")
    database.execute("CREATE TABLE t AS SELECT i AS id, CASE WHEN i < 3 THEN NULL ELSE i END AS a FROM range(10) r(i)")
    for allow, listed in (("29%", 3), ("30%", 0)):
        rules = parse_rules(f"key: id\nrules: [{{rule: not(t.a is null), allow: {allow}}}]", origin="x")
        (query,) = hf.export_dbt(rules, "t", dialect="duckdb").files.values()
        assert len(database.execute(rendered(query)).fetchall()) == listed


def test_two_thresholds_and_tags_are_in_the_config() -> None:
    text = (
        "key: id\nrules:\n- {rule: not(t.a is null), warn: 1, error: 5, tags: [shop]}\n- {rule: a -> b, tags: [shop]}"
    )
    made = hf.export_dbt(parse_rules(text, origin="x"), "t")
    ((*_, settings),) = own_tests(made)
    assert settings["config"] == {"error_if": ">5", "warn_if": ">1", "tags": ["shop"]}
    assert made.files["tests/a_b.sql"].startswith("{{ config(tags=['shop']) }}\n")


def test_what_dbt_counts_otherwise_is_told() -> None:
    rules = parse_rules(
        "key: id\nrules: [{rule: a -> b, allow: 3, name: r}, {rule: a -> c, allow_pairs: 1%}]", origin="x"
    )
    first, second = hf.export_dbt(rules, "t").remarks
    assert "suspect rows" in first
    assert "allow_pairs" in second
