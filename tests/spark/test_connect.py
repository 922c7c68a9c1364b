"""check and discover on Spark Connect give what they give on a classic session."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from holdfast import check, discover
from holdfast.engines.spark.java import find_java, newest_java, spark_java_home
from small_table_settings import SET_SMALL_TABLES

ROWS = "id,zip,city,salary,rate,tax\n" + "\n".join(
    f"{i},{8000 + i % 5},{'Zürich' if i % 7 else 'Zurich'},{(i * 37) % 50},{(i * 11) % 13},{i / 4}" for i in range(40)
)
RULES = [
    "unique(zip, salary)",
    "zip -> city",
    "zip = 8001 -> city = 'Zürich'",
    "not(t.zip = s.zip and t.salary > s.salary and t.rate < s.rate)",
    "not(t.salary >= t.tax and t.rate > 5)",
    "not(t.salary = s.tax and t.zip != s.zip)",
]
SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
from holdfast import check, discover
spark = SparkSession.builder.remote("local[2]").getOrCreate()
SETTINGS
path, rules, engine = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
from holdfast.engines.spark.checking.check import plan_check, run_check
from holdfast.engines.spark.sources.sources import read_table
from holdfast.rules.rule import rule_set
table = read_table(spark, path)
with run_check(spark, table, plan_check(table, rule_set(rules), ("id",)), limit=None, engine=engine) as result:
    tables = (result.pairs, result.rows, result.groups, result.suspects)
    counts = [sorted(map(str, table.to_spark().collect())) for table in tables]
    clean, bad = result.split()
    said = [[result.to_dict()["rules"], counts, clean.count(), bad.count(), result.summary().splitlines()[2:]]]
keyless = check(path, rules)
said.append([keyless.to_dict()["rules"], keyless.to_dict()["key"]])
found = discover(path, top=8)
frame = spark.read.csv(path, header=True, inferSchema=True)
told = [found.to_dict()["rules"], len(discover(frame, top=3).rules)]
with check(path, found) as result:
    print(json.dumps([*said, [*told, result.to_dict()["holds"]]]))
"""


TABLES = """
import json, sys
from pyspark.sql import SparkSession
from holdfast import check
spark = SparkSession.builder.remote("local[2]").getOrCreate()
SETTINGS
tables = {"people": sys.argv[1], "more": spark.createDataFrame([(1, 8001), (2, 8002)], "id bigint, zip bigint")}
with check(tables, json.loads(sys.argv[2]), key={"people": "id", "more": "id"}) as result:
    found = [sorted(map(str, table)) for table in (result.pairs, result.rows, result.groups, result.suspects)]
    sizes = {name: [part.count() for part in parts] for name, parts in result.split().items()}
    print(json.dumps([result.to_dict()["rules"], found, sizes, result.summary().splitlines()[2:]]))
"""


NO_HOLDFAST = """
import json, sys
from pyspark.sql import SparkSession
from holdfast import check
spark = SparkSession.builder.remote("local[2]").getOrCreate()
SETTINGS
with check(sys.argv[1], json.loads(sys.argv[2]), key="id") as result:
    print(json.dumps([result.to_dict()["rules"], list(result.outcome.notes)]))
"""


def run(script: str, *arguments: str, python: str, folder: Path) -> list[Any]:
    # PySpark's own launcher looks for Java less far than we do.
    java = spark_java_home(find_java(os.environ, newest=newest_java()), os.environ)
    env = {**os.environ, "PYSPARK_PYTHON": python, "JAVA_HOME": str(java)}
    command = [sys.executable, "-c", script.replace("SETTINGS\n", SET_SMALL_TABLES), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.usefixtures("connect_port")
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect's extras are not installed")
@pytest.mark.parametrize("engine", ["kernel", pytest.param("sql", marks=pytest.mark.soak)])
def test_check_and_discover_on_connect_equal_those_on_a_classic_session(
    spark: SparkSession, tmp_path: Path, engine: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    asked = (str(path), json.dumps(RULES), engine)
    checked, keyless, discovered = run(SCRIPT, *asked, python=sys.executable, folder=tmp_path)

    with check(str(path), RULES, key="id", limit=None) as result:
        frames = (result.pairs, result.rows, result.groups, result.suspects)
        here = [result.to_dict()["rules"], [sorted(map(str, frame.to_spark().collect())) for frame in frames]]
        clean, bad = result.split()
        sizes = [clean.count(), bad.count()]
        text = result.summary().splitlines()[2:]
    assert any(not rule["holds"] for rule in here[0])
    assert checked[:4] == [*json.loads(json.dumps(here)), *sizes]
    assert engine == "sql" or checked[4] == text  # which pair is shown differs
    assert keyless[1] == "_row"
    assert [rule["violating_pairs"] for rule in keyless[0]] == [rule["violating_pairs"] for rule in here[0]]

    rules, shown, holds = discovered
    assert rules == discover(str(path), top=8).to_dict()["rules"]
    assert len(rules) == 8
    assert shown == 3
    assert holds is True


@pytest.mark.usefixtures("connect_port")
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect's extras are not installed")
def test_workers_without_holdfast_are_told_and_the_check_goes_on_in_sql(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\nexec '{sys.executable}' -S \"$@\"\n")
    bare.chmod(0o755)
    few = [RULES[n] for n in (1, 3, 4)]
    rules, notes = run(NO_HOLDFAST, str(path), json.dumps(few), python=str(bare), folder=tmp_path)
    with check(str(path), few, key="id") as result:
        assert rules == result.to_dict()["rules"]
    assert any("cannot run kernels (No module named" in str(note) for note in notes)


@pytest.mark.usefixtures("connect_port")
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect's extras are not installed")
def test_check_of_several_tables_on_connect_equals_that_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    rules = [
        "people(zip) in more(zip)",
        "not(people.zip = more.zip and people.salary > more.id)",
        "not(people.rate > 11)",
    ]
    there = run(TABLES, str(path), json.dumps(rules), python=sys.executable, folder=tmp_path)
    tables = {"people": str(path), "more": pa.table({"id": [1, 2], "zip": [8001, 8002]})}
    with check(tables, rules, key={"people": "id", "more": "id"}, engine="local") as result:
        found = [sorted(map(str, table)) for table in (result.pairs, result.rows, result.groups, result.suspects)]
        sizes = {name: [part.count() for part in parts] for name, parts in result.split().items()}
        here = [result.to_dict()["rules"], found, sizes, result.summary().splitlines()[2:]]
    assert there == json.loads(json.dumps(here))
