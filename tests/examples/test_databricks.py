"""The notebook for Databricks, cell by cell, as a client of Spark Connect that refuses what serverless compute does."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app

CELL_MARK, MAGIC = "# COMMAND ----------", "# MAGIC "
REFUSED = ("persist", "cache", "sparkContext", "_jvm", "_jdf", "rdd", "checkpoint", "broadcast", "environ")
# Runs the cells with what a notebook of Databricks has, and writes what each of them shows.
RUNNER = """
import ast, json, sys
from types import SimpleNamespace
from pyspark.sql import SparkSession
from refusing_platform import refuse_like_serverless

cells, widgets = map(json.loads, sys.argv[1:])
defaults = {}
box = SimpleNamespace(text=lambda name, value, label: defaults.setdefault(name, value), get=widgets.__getitem__)
refuse_like_serverless()
shown = []
names = {
    "spark": SparkSession.builder.getOrCreate(),
    "dbutils": SimpleNamespace(widgets=box),
    "display": lambda frame: shown.append([tuple(map(str, row)) for row in frame.collect()]),
}
error = ""
for cell in cells:
    body = ast.parse(cell).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    try:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last is not None else None
    except RuntimeError as problem:
        error = str(problem)
        break
    if hasattr(value, "_repr_html_"):
        shown.append(value._repr_html_())
assert defaults.keys() == widgets.keys()
print(json.dumps({"shown": shown, "error": error}))
"""


@pytest.fixture
def cells(examples: Path) -> list[str]:
    text = (examples / "databricks_notebook.py").read_text("utf-8")
    assert text.startswith("# Databricks notebook source\n")
    return [cell.strip() for cell in text.partition("\n")[2].split(f"\n{CELL_MARK}\n")]


@pytest.fixture
def shop(spark: SparkSession, examples: Path, demo: Path, tmp_path: Path) -> Iterator[str]:
    """A table of orders, in a schema that lies in a folder of the test; so do the results."""
    for schema in ("shop", "shop_quality"):
        spark.sql(f"CREATE SCHEMA {schema} LOCATION '{tmp_path / schema}'")
    columns = runpy.run_path(str(examples / "pyspark_job.py"))["SCHEMA"]
    spark.read.csv(str(demo / "orders.csv"), schema=columns, header=True).write.saveAsTable("shop.orders")
    yield "shop.orders"
    for schema in ("shop", "shop_quality"):
        spark.sql(f"DROP SCHEMA {schema} CASCADE")


def test_cells_are_as_databricks_reads_them(cells: list[str]) -> None:
    assert len(cells) > 10
    magic = [cell.splitlines() for cell in cells if cell.startswith(MAGIC)]
    assert all(line.startswith(MAGIC.rstrip()) for lines in magic for line in lines)
    commands = [lines[0].removeprefix(MAGIC) for lines in magic]
    assert set(commands) == {"%md", "%pip install holdfast", "%restart_python"}
    assert commands.index("%restart_python") == commands.index("%pip install holdfast") + 1
    code = [cell for cell in cells if not cell.startswith(MAGIC)]
    assert not [cell for cell in code if MAGIC in cell]
    attributes = {node.attr for cell in code for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Attribute)}
    assert attributes.isdisjoint(REFUSED)


def test_a_table_is_checked_on_serverless(
    cells: list[str], spark: SparkSession, connect_url: str, shop: str, tmp_path: Path
) -> None:
    widgets = {"table": shop, "key": "order_id", "results": "shop_quality"}
    tests = str(Path(__file__).resolve().parents[1])
    env = {**os.environ, "SPARK_REMOTE": connect_url, "PYTHONPATH": os.pathsep.join([*sys.path, tests])}
    command = [sys.executable, "-c", RUNNER, json.dumps(cells), json.dumps(widgets)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    discovered, checked, history = answer["shown"]
    assert "zip -&gt; " in discovered
    assert "are violated" in checked
    assert re.search(r"\d of 6 rules are violated", answer["error"])

    (cell,) = [cell for cell in cells if cell.startswith("RULES = ")]
    rules = ast.literal_eval(cell.removeprefix("RULES = ").partition("\n\n")[0])
    with hf.check(spark.table(shop), rules, key="order_id") as result:
        counts = result.to_dict()["rules"]
        clean, quarantine = result.split()
        assert clean.count() > quarantine.count() > 0
        for name, rows in (("checked", result.annotated()), ("clean", clean), ("quarantine", quarantine)):
            assert in_order(spark.table(f"shop_quality.orders_{name}")) == in_order(rows.to_spark())
    metrics = spark.table("shop_quality.orders_metrics")
    kept = metrics.select("rule", "violating_rows", "suspect_rows", "verdict").collect()
    verdicts = {True: ("holds", "allowed"), False: ("violated", "warning")}
    assert len(kept) == len(counts)
    for line, rule in zip(sorted(kept), sorted(counts, key=lambda rule: rule["name"]), strict=True):
        assert tuple(line)[:3] == (rule["name"], rule["violating_rows"], rule["suspect_rows"])
        assert line["verdict"] in verdicts[rule["holds"]]
    assert all(words in history for words in (*(rule["name"] for rule in counts), "1 run"))
    told = CliRunner().invoke(app, ["history", "spark:shop_quality.orders_metrics", "--format", "json"])
    assert {rule["rule"] for rule in json.loads(told.stdout)["rules"]} == {rule["name"] for rule in counts}


def in_order(rows: DataFrame) -> list[str]:
    return sorted(str(row.asDict(recursive=True)) for row in rows.collect())
