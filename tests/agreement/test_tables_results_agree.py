"""A check of several tables finds and shows the same in this process and on Spark."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from math import nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.engines.spark.arrow_table import frame_of
from holdfast.engines.tables.result import TablesCheckResult
from holdfast.errors import OptionError, TypeMismatchError
from holdfast.rules.parse import parse_body
from holdfast.rules.rule import Nulls, Rule, RuleSet

ORDERS = "number,region,customer,amount,invoice,placed\n" + "\n".join(
    f"{i},{'NORTH' if i % 3 else 'SOUTH'},{f'C{i % 11:02d}' if i % 7 else ''},"
    f"{i % 5}.50,{i % 17},2024-01-{i % 28 + 1:02d}"
    for i in range(60)
)
CUSTOMERS = "id,code,since,limit\n" + "\n".join(
    f"{i},C{i:02d},2024-01-{3 * i + 1:02d},{'' if i == 4 else f'{i % 4}.5'}" for i in range(9)
)
RULES = """\
version: 1
nulls: NULLS
tables:
  orders: {data: orders.csv, key: KEY}
  customers: {data: customers.csv, key: id}
rules:
  - orders(customer) in customers(code)
  - {name: north, rule: orders(customer) in customers(code), where: "region = 'NORTH'", warn: 1, error: "10%",
     message: "customer {customer} is not there"}
  - {name: number, rule: orders(number) in customers(id)}
  - {name: exact, rule: orders(amount) in customers(limit)}
  - {name: since, rule: not(orders.customer = customers.code and orders.placed < customers.since)}
  - {name: limit, rule: not(orders.customer = customers.code and orders.amount > customers.limit + 1), severity: warn}
  - {name: either, rule: not(customers.id = orders.number and customers.limit != orders.amount)}
  - {name: invoice, table: orders, rule: "invoice -> customer"}
  - {name: once, table: customers, rule: unique(limit)}
  - {name: itself, rule: customers(id) in customers(limit)}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text(ORDERS, encoding="utf-8")
    (tmp_path / "customers.csv").write_text(CUSTOMERS, encoding="utf-8")
    return tmp_path


def both(shop: Path, *, nulls: str, key: str, **options: Any) -> tuple[TablesCheckResult, TablesCheckResult]:
    rules = shop / "rules.yaml"
    rules.write_text(RULES.replace("NULLS", nulls).replace("KEY", key), encoding="utf-8")
    here = hf.check({}, rules, engine="local", **options)
    return here, hf.check({}, rules, engine="spark", **options)


def lines(table: Any) -> Counter[str]:
    return Counter(str(list(row.items())) for row in table)


@pytest.mark.parametrize(
    ("nulls", "key"),
    [
        ("equal", "[region, number]"),
        *(pytest.param("sql", key, marks=pytest.mark.soak) for key in ("number", "invoice")),
    ],
)
def test_counts_tables_and_what_is_shown_are_the_same(spark: SparkSession, shop: Path, nulls: str, key: str) -> None:
    here, there = both(shop, nulls=nulls, key=key, redact=["customers.since"])
    told, wanted = here.to_dict(), there.to_dict()
    assert told["rules"] == wanted["rules"]
    assert told["tables"] == wanted["tables"]
    assert (told["engine"], wanted["engine"]) == ("local", "spark")
    assert sum(not rule["holds"] for rule in told["rules"]) >= 8
    assert here.outcome.notes == there.outcome.notes
    for name in ("pairs", "rows", "groups", "suspects"):
        one, other = getattr(here, name), getattr(there, name)
        assert one.columns == other.columns
        assert lines(one) == lines(other), name
    there_annotated = there.annotated(partners=2)
    for table, one in here.annotated(partners=2).items():
        other = there_annotated[table]
        assert one.columns == other.columns
        assert lines(one) == lines(other), table
    there_parts = there.split()
    for table, parts in here.split().items():
        for one, other in zip(parts, there_parts[table], strict=True):
            assert one.columns == other.columns
            assert lines(one) == lines(other)
    for found, other in zip(here.shown.rules, there.shown.rules, strict=True):
        assert (found.groups, found.worst, found.duplicates) == (other.groups, other.worst, other.duplicates)
        assert len(found.witnesses) == len(other.witnesses)
    assert re.sub(r"[\d.]+ s\b", "", here.summary()) == re.sub(r"[\d.]+ s\b", "", there.summary())
    assert "2024-01-25" not in there.to_html()
    suspected = {(row["table"], str(row["key"])): row["key"] for row in here.suspects}
    for (table, _), row in [*suspected.items()][:: max(len(suspected) // 2, 1)]:
        given = [*row.values()] if isinstance(row, dict) else row
        told, wanted = (result.explain(given, table=table).to_dict() for result in (here, there))
        assert told | {"seconds": 0} == wanted | {"seconds": 0}
        assert told["rules"]
    assert here.suggestions.columns == there.suggestions.columns
    assert lines(here.suggestions) == lines(there.suggestions)
    assert len(list(there.suggestions)) > 5
    assert here.write_suggestions(str(shop / "here")) == there.write_suggestions(str(shop / "there"))
    for result in (here, there):
        name = result.outcome.engine
        result.write_violations(str(shop / name))
        result.write_quarantine(str(shop / f"{name}-split"))
        result.append_metrics(str(shop / "metrics"))
    for part in ("pairs", "rows", "groups"):
        assert lines(pq.read_table(shop / "local" / part).to_pylist()) == lines(
            pq.read_table(shop / "spark" / part).to_pylist()
        )
    there.close()


def test_tables_of_the_caller_are_checked_on_the_callers_session(spark: SparkSession) -> None:
    orders = spark.createDataFrame([(1, 7), (2, 8), (3, None)], "id int, customer bigint")
    customers = spark.createDataFrame([(Decimal(7),), (Decimal(9),)], "id decimal(20,2)")
    result = hf.check({"orders": orders, "customers": customers}, "orders(customer) in customers(id)")
    assert result.outcome.engine == "spark"
    assert [(row["value"], row["rows"], row["table"]) for row in result.groups] == [("8", 1, "orders")]
    assert [one.rule.name for one in result.explain(0, table="orders").broken] == []
    (broken,) = result.explain(1, table="orders").broken
    assert (broken.rule.kind, broken.violations) == ("ind", 1)
    with pytest.raises(OptionError, match=r"orders has no row with _row = 7\."):
        result.explain(7, table="orders")
    asked = hf.check(
        {"orders": orders, "customers": customers},
        RuleSet((Rule("known", parse_body("orders(customer) in customers(id)"), where="rlike(string(id), '.')"),)),
    )
    with pytest.raises(
        OptionError, match="not explained on Spark where they are told without Spark SQL: rule 'known': the condition"
    ):
        asked.explain(1, table="orders")
    with pytest.raises(TypeMismatchError, match=r"orders.id \(int\)"):
        hf.check(
            {"orders": orders, "customers": customers.selectExpr("CAST(id AS STRING) AS id")},
            "orders(id) in customers(id)",
        )


def test_references_are_found_on_spark_as_here(
    spark: SparkSession, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: shop / f"{name}.csv" for name in ("orders", "customers")}
    told = [hf.discover(files, engine=engine, error_rows="60%", top="all").to_dict() for engine in ("local", "spark")]
    assert [one.pop("engine") for one in told] == ["local", "spark"]
    assert {**told[0], "seconds": 0} == {**told[1], "seconds": 0}
    assert "orders(customer) in customers(code)" in [rule["rule"] for rule in told[1]["rules"]]
    frames = {name: spark.read.csv(str(file), header=True, inferSchema=True) for name, file in files.items()}
    found = hf.discover(frames, error_rows="60%")
    assert found.outcome.engine == "spark"
    assert [table.table.data for table in found.outcome.tables] == [None, None]
    assert hf.discover({name: frame.limit(0) for name, frame in frames.items()}).rules.rules == ()
    monkeypatch.setattr("holdfast.engines.spark.tables.discover.MOST_ROWS", 68)
    with pytest.raises(OptionError, match="searched by one task, which is given up to 68 rows, and the tables have 69"):
        hf.discover(frames)


@pytest.mark.usefixtures("ansi")
def test_wide_numbers_are_compared_by_value_and_not_as_doubles(spark: SparkSession) -> None:
    wide = 2**53
    left = spark.createDataFrame([(wide + 1,), (wide,), (3,)], "n bigint")
    right = spark.createDataFrame([(float(wide),), (3.0,)], "x double")
    result = hf.check({"a": left, "b": right}, ["a(n) in b(x)", "not(a.n = b.x)"])
    assert [found.violating_rows for found in result.outcome.rules] == [1, 4]
    assert [row["value"] for row in result.groups] == [str(wide + 1)]


@pytest.mark.parametrize(("nulls", "missing"), [("sql", [nan]), ("equal", [nan, None])])
def test_a_value_that_is_no_number_refers_to_something_too(
    spark: SparkSession, nulls: Nulls, missing: list[float | None]
) -> None:
    """NaN is a value, as elsewhere, and no null: the other table has it, or has it not."""
    left, right = {"x": [1.0, nan, None, 2.0]}, {"y": [2.0, 1.0, 3.0]}
    rules = RuleSet((Rule("known", parse_body("a(x) in b(y)")),), nulls=nulls)
    for other in (right, {"y": [*right["y"], *missing]}):
        tables = {"a": pa.table(left), "b": pa.table(other)}
        here = hf.check(tables, rules, engine="local")
        there = hf.check({name: frame_of(spark, table) for name, table in tables.items()}, rules)
        assert here.to_dict()["rules"] == there.to_dict()["rules"]
        assert here.outcome.rules[0].violating_rows == (len(missing) if other is right else 0)


def test_a_run_may_be_of_some_of_the_rows_of_a_table(spark: SparkSession, shop: Path) -> None:
    here, there = both(shop, nulls="sql", key="number", where={"orders": "region = 'NORTH'"})
    assert here.to_dict()["rules"] == there.to_dict()["rules"]
    assert here.to_dict()["tables"] == there.to_dict()["tables"]
    assert here.outcome.notes == there.outcome.notes
    assert here.outcome.tables[0].rows == 40
    assert [part.count() for part in here.split()["orders"]] == [part.count() for part in there.split()["orders"]]
    with pytest.raises(OptionError, match="there are several tables"):
        hf.check({}, shop / "rules.yaml", where="region = 'NORTH'")
