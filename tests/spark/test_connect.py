"""check and discover on Spark Connect give what they give on a classic session."""

from __future__ import annotations

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
from holdfast.engines.spark.kept import NOTE

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
from refusing_platform import refuse_like_serverless
if sys.argv[4] == "serverless":
    refuse_like_serverless()
spark = SparkSession.builder.getOrCreate()
path, rules, engine = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
from holdfast.engines.spark.checking.check import plan_check, run_check
from holdfast.engines.spark.sources.sources import read_table
from holdfast.rules.rule import rule_set
table = read_table(spark, path)
with run_check(spark, table, plan_check(table, rule_set(rules), ("id",)), limit=None, engine=engine) as result:
    tables = (result.pairs, result.rows, result.groups, result.suspects)
    counts = [sorted(map(str, table.to_spark().collect())) for table in tables]
    clean, bad = result.split()
    said = [[result.to_dict()["rules"], counts, clean.count(), bad.count(), result.summary().partition("\\n\\n")[2]]]
said[0].append(list(result.outcome.notes))
keyless = check(path, rules)
said.append([keyless.to_dict()["rules"], keyless.to_dict()["key"], list(keyless.outcome.notes)])
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
from refusing_platform import refuse_like_serverless
refuse_like_serverless()
spark = SparkSession.builder.getOrCreate()
tables = {"people": sys.argv[1], "more": spark.createDataFrame([(1, 8001), (2, 8002)], "id bigint, zip bigint")}
with check(tables, json.loads(sys.argv[2]), key={"people": "id", "more": "id"}) as result:
    found = [sorted(map(str, table)) for table in (result.pairs, result.rows, result.groups, result.suspects)]
    sizes = {name: [part.count() for part in parts] for name, parts in result.split().items()}
    said = result.summary().partition("\\n\\n")[2]
    print(json.dumps([result.to_dict()["rules"], found, sizes, said, list(result.outcome.notes)]))
"""


NO_HOLDFAST = """
import json, sys
from pyspark.sql import SparkSession
from holdfast import check
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.execution.pyspark.python", sys.argv[3])
with check(sys.argv[1], json.loads(sys.argv[2]), key="id") as result:
    print(json.dumps([result.to_dict()["rules"], list(result.outcome.notes)]))
"""


def run(script: str, *arguments: str, url: str, folder: Path) -> list[Any]:
    """What a client of the server at this URL writes in its last line, as JSON."""
    env = {**os.environ, "SPARK_REMOTE": url, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("engine", "platform"),
    [
        ("kernel", "open"),
        ("spread", "serverless"),
        *(pytest.param(engine, "serverless", marks=pytest.mark.soak) for engine in ("kernel", "sql")),
    ],
)
def test_check_and_discover_on_connect_equal_those_on_a_classic_session(
    spark: SparkSession, connect_url: str, tmp_path: Path, engine: str, platform: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    rules = RULES if engine == "kernel" else RULES[::2]  # Spark plans each rule of many tasks by itself
    asked = (str(path), json.dumps(rules), engine, platform)
    checked, keyless, discovered = run(SCRIPT, *asked, url=connect_url, folder=tmp_path)

    with check(str(path), rules, key="id", limit=None) as result:
        frames = (result.pairs, result.rows, result.groups, result.suspects)
        here = [result.to_dict()["rules"], [sorted(map(str, frame.to_spark().collect())) for frame in frames]]
        clean, bad = result.split()
        sizes = [clean.count(), bad.count()]
        text = result.summary().partition("\n\n")[2]
    assert any(not rule["holds"] for rule in here[0])
    assert checked[:4] == [*json.loads(json.dumps(here)), *sizes]
    if engine == "kernel":  # which pair is shown differs elsewhere
        assert checked[4] == text
    assert keyless[1] == "_row"
    assert [NOTE in notes for notes in (checked[5], keyless[2])] == [platform == "serverless"] * 2
    assert [rule["violating_pairs"] for rule in keyless[0]] == [rule["violating_pairs"] for rule in here[0]]

    found, shown, holds = discovered
    assert found == discover(str(path), top=8).to_dict()["rules"]
    assert len(found) == 8
    assert shown == 3
    assert holds is True


def test_workers_without_holdfast_are_told_and_the_check_goes_on_in_sql(
    spark: SparkSession, connect_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\nexec '{sys.executable}' -S \"$@\"\n")
    bare.chmod(0o755)
    few = [RULES[n] for n in (1, 3, 4)]
    rules, notes = run(NO_HOLDFAST, str(path), json.dumps(few), str(bare), url=connect_url, folder=tmp_path)
    with check(str(path), few, key="id") as result:
        assert rules == result.to_dict()["rules"]
    assert any("cannot run kernels (No module named" in str(note) for note in notes)


def test_check_of_several_tables_on_a_serverless_platform_equals_that_in_this_process(
    connect_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    rules = [
        "people(zip) in more(zip)",
        "not(people.zip = more.zip and people.salary > more.id)",
        "not(people.rate > 11)",
    ]
    there = run(TABLES, str(path), json.dumps(rules), url=connect_url, folder=tmp_path)
    tables = {"people": str(path), "more": pa.table({"id": [1, 2], "zip": [8001, 8002]})}
    with check(tables, rules, key={"people": "id", "more": "id"}, engine="local") as result:
        found = [sorted(map(str, table)) for table in (result.pairs, result.rows, result.groups, result.suspects)]
        sizes = {name: [part.count() for part in parts] for name, parts in result.split().items()}
        here = [result.to_dict()["rules"], found, sizes, result.summary().partition("\n\n")[2]]
    assert there[4] == [NOTE]
    assert there[:4] == json.loads(json.dumps(here))
