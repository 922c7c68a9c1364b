"""The examples that run on Spark: in the session that is there, under spark-submit, and on Spark Connect."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.engines.spark.java import find_java, newest_java, spark_java_home
from postgres_server import driver_jar, postgres_server

HEAD = "order_id,zip,city,total,_change_type\n"
MONDAY = "1,02139,Cambridge,10,insert\n2,02139,Cambridge,20,\n3,98101,Seattle,5,insert\n4,02139,Cambrige,7,insert\n"
TUESDAY = "4,02139,Cambridge,7,update_postimage\n3,,,,delete\n5,98101,Seattle,-1,insert\n"


@pytest.fixture
def load(examples: Path, spark: SparkSession) -> Callable[[str], dict[str, Any]]:
    """What an example defines; it runs in the session that is there."""
    return lambda name: runpy.run_path(str(examples / name))


def submitted(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, with the Java that Holdfast would choose."""
    java = spark_java_home(find_java(os.environ, newest=newest_java()), os.environ)
    env = {**os.environ, "JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable, **variables}
    return subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=900)


# pyspark_job.py ---------------------------------------------------------------------------------------------------


def test_a_job_goes_on_with_the_rows_that_hold(
    load: Callable[[str], dict[str, Any]], spark: SparkSession, demo: Path, tmp_path: Path
) -> None:
    job = load("pyspark_job.py")
    out = tmp_path / "out"
    job["main"](str(demo / "orders.csv"), str(demo / "rules.yaml"), str(out))
    aside, revenue = (spark.read.parquet(str(out / name)) for name in ("quarantine", "revenue"))
    with hf.check(str(demo / "orders.csv"), str(demo / "rules.yaml"), key="order_id") as result:
        wanted = sorted(row["order_id"] for row in result.split()[1])
    assert sorted(row["order_id"] for row in aside.collect()) == wanted
    assert all(row["_broken_rules"] for row in aside.collect())
    assert {row["country"]: row["currency"] for row in revenue.collect()} == {"US": "USD", "DE": "EUR", "CH": "CHF"}
    assert sum(row["n"] for row in revenue.collect()) == 240 - len(wanted)


def test_a_job_stops_where_too_much_is_wrong(load: Callable[[str], dict[str, Any]], demo: Path, tmp_path: Path) -> None:
    job = load("pyspark_job.py")
    strict = tmp_path / "strict.yaml"
    strict.write_text("key: order_id\nrules: [{name: all-different, rule: unique(country)}]\n", encoding="utf-8")
    with pytest.raises(job["BadData"], match=r"237 of 240 rows are bad:\n(.|\n)*all-different"):
        job["main"](str(demo / "orders.csv"), str(strict), str(tmp_path / "out"))
    assert not (tmp_path / "out/revenue").exists()


# streaming_watch.py and streaming_evolve.py -----------------------------------------------------------------------


def test_batches_of_a_stream_are_watched(
    load: Callable[[str], dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main, incoming, place = load("streaming_watch.py")["main"], tmp_path / "incoming", tmp_path / "watched"
    incoming.mkdir()
    rules = tmp_path / "rules.yaml"
    rules.write_text('rules: ["zip -> city", "not(t.total < 0)"]\n', encoding="utf-8")

    def run() -> list[str]:
        main(str(incoming), str(rules), str(place))
        return capsys.readouterr().out.splitlines()

    (incoming / "monday.csv").write_text(HEAD + MONDAY, encoding="utf-8")
    told = run()
    assert sorted(told[:2]) == [f"batch 0: zip-city is broken by {n} with 4" for n in (1, 2)]
    assert told[2] == "batch 0: +2 -0, now {'zip-city': 2, 'total': 0}"
    (incoming / "tuesday.csv").write_text(HEAD + TUESDAY, encoding="utf-8")
    assert run() == ["batch 1: total is broken by 5", "batch 1: +1 -2, now {'zip-city': 0, 'total': 1}"]
    assert run() == []
    for note in (place / "query/commits").glob("*1*"):  # killed before Spark noted that the batch was done
        note.unlink()
    assert run() == ["batch 1: +0 -0, now {'zip-city': 0, 'total': 1}"]


def test_batches_of_a_stream_change_the_rules(
    load: Callable[[str], dict[str, Any]], demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    (incoming / "monday.csv").write_text(
        "order_id,zip,city,state,_change_type\nSO-9001,98101,Seatle,WA,insert\n", encoding="utf-8"
    )
    load("streaming_evolve.py")["main"](str(demo / "clean.csv"), str(incoming), str(tmp_path / "kept"))
    told = capsys.readouterr().out
    assert "batch 0: no longer holds: not(t.zip = s.zip and t.city != s.city)\n    broken by SO-9001 and SO-" in told
    assert "('city', 'Seatle', 'Seattle')" in told


# database_table.py ------------------------------------------------------------------------------------------------


def test_a_table_of_a_database_is_checked_there(
    load: Callable[[str], dict[str, Any]], spark: SparkSession, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "jdbc:derby:memory:shop;create=true"
    orders = spark.read.csv(str(demo / "orders.csv"), schema=load("pyspark_job.py")["SCHEMA"], header=True)
    orders.write.jdbc(url, "orders")
    assert load("database_table.py")["main"](url, "orders", str(demo / "rules.yaml")) == 1
    assert "8 of 10 rules are violated" in capsys.readouterr().out
    back = spark.read.jdbc(url, "orders_violations")
    with hf.check(orders, str(demo / "rules.yaml"), key="order_id") as result:
        assert sorted(map(tuple, back.collect())) == sorted(map(tuple, result.rows.to_spark().collect()))


@pytest.mark.soak  # Derby goes the same way in every run, and a site of fragments lies in PostgreSQL
def test_a_table_of_postgres_is_checked_there(examples: Path, demo: Path, tmp_path: Path) -> None:
    names = (demo / "orders.csv").read_text("utf-8").partition("\n")[0].split(",")
    types = {"quantity": "int", "unit_price": "numeric(10,2)", "discount": "float8", "shipping": "numeric(10,2)"}
    types |= dict.fromkeys(("ordered", "shipped", "delivered"), "date")
    columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in names)
    made = f"create table orders ({columns})"
    with postgres_server(tmp_path, [made, f"\\copy orders from '{demo / 'orders.csv'}' csv header"]) as url:
        # A driver is loaded when a session starts, so that this has one of its own.
        script = examples / "database_table.py"
        done = submitted(sys.executable, script, url, "orders", demo / "rules.yaml", str(driver_jar()), cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "8 of 10 rules are violated" in done.stdout


# submitted_job.py and connect_client.py ---------------------------------------------------------------------------


def test_a_submitted_job_ends_as_the_command_does(
    examples: Path, spark: SparkSession, demo: Path, tmp_path: Path
) -> None:
    submit = Path(pyspark.__file__).parent / "bin/spark-submit"
    settings = ("--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=1")
    job = examples / "submitted_job.py"
    done = submitted(submit, *settings, job, demo / "orders.csv", demo / "rules.yaml", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    with hf.check(str(demo / "orders.csv"), str(demo / "rules.yaml"), key="order_id") as result:
        assert told["rules"] == result.to_dict()["rules"]
        written = spark.read.parquet(str(tmp_path / "out/pairs"))
        assert sorted(map(tuple, written.collect())) == sorted(map(tuple, result.pairs.to_spark().collect()))


def test_a_submitted_job_tells_bad_input(load: Callable[[str], dict[str, Any]], tmp_path: Path, demo: Path) -> None:
    main = load("submitted_job.py")["main"]
    assert main(str(tmp_path / "nowhere.csv"), str(demo / "rules.yaml"), str(tmp_path / "out")) == 2
    assert main(str(demo / "orders.csv"), "zipp -> city", str(tmp_path / "out")) == 2
    assert main(str(demo / "clean.csv"), "zip -> city", str(tmp_path / "out")) == 0


def test_a_client_of_spark_connect_sees_the_same(
    examples: Path, spark: SparkSession, connect_url: str, demo: Path, tmp_path: Path
) -> None:
    client = examples / "connect_client.py"
    done = submitted(
        *(sys.executable, client, demo / "orders.csv", demo / "rules.yaml"), cwd=tmp_path, SPARK_REMOTE=connect_url
    )
    assert done.returncode == 1, done.stderr
    with hf.check(str(demo / "orders.csv"), str(demo / "rules.yaml"), key="order_id") as result:
        said = result.summary().splitlines()
        worst = [row.key for found in result.detailed.rules for row in found.worst[:1]]
    assert done.stdout.splitlines()[2 : len(said)] == said[2:]
    assert any(f"'{key}'" in done.stdout.splitlines()[-1] for key in worst)


# All of them ------------------------------------------------------------------------------------------------------


def opened_examples(file: Path) -> set[str]:
    """The examples that the functions of a test file open, as `load("NAME")` or `… "examples" / "NAME"`; of those that
    `make test` runs."""
    found = set()
    for function in ast.parse(file.read_text("utf-8")).body:
        if not isinstance(function, ast.FunctionDef) or "soak" in map(_last_name, function.decorator_list):
            continue
        for node in ast.walk(function):
            named: ast.expr | None = None
            if isinstance(node, ast.Call) and _last_name(node.func) == "load":
                named = node.args[0]
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                folder = node.left.right if isinstance(node.left, ast.BinOp) else node.left
                named = node.right if _last_name(folder) == "examples" else None
            if isinstance(named, ast.Constant):
                found.add(str(named.value))
    return found


def _last_name(node: ast.expr) -> object:
    """The last name of `a.b.c`, and the text of a constant."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else getattr(node, "value", None)


def test_every_example_is_run_and_listed(examples: Path) -> None:
    opened = set().union(*map(opened_examples, Path(__file__).parent.glob("test_*.py")))
    names = {file.name for file in examples.iterdir() if file.is_file()} - {"README.md"}
    assert len(names) > 10
    assert opened - {"README.md"} == names
    assert set(re.findall(r"\]\(([^)/]+)\)", (examples / "README.md").read_text("utf-8"))) == names
