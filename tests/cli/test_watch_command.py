"""`holdfast watch` as a user types it: what it prints, what it keeps, and how it ends."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.states.manifest import WatchBody
from holdfast.states.store import open_store
from holdfast.states.versions import latest

TABLE = """\
id,zip,city,salary,rate,email
1,10,Ayr,100,3,a@x
2,10,Ayr,90,4,b@x
3,10,Bute,80,1,
4,20,Cork,70,9,d@x
"""
RULES = """\
key: id
rules:
  - name: zip-city
    rule: zip -> city
  - name: pay
    rule: not(t.zip = s.zip and t.salary > s.salary and t.rate < s.rate)
  - name: email
    rule: not(t.email is null)
  - name: ayr
    rule: "zip -> city"
    patterns: [{zip: 10, city: Ayr}, {zip: 20, city: _}]
    where: salary < 95
"""
BEFORE = {"zip-city": 2, "pay": 1, "email": 1, "ayr": 0}


# Where the commands of a test run.
_engine = {"name": "auto"}


@pytest.fixture(scope="module", params=["local", "spark"], autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs on both engines, and what it says does not differ."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    _engine["name"] = request.param
    yield request.param
    _engine["name"] = "auto"


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [*(str(argument) for argument in arguments), "--engine", _engine["name"]])


def told(*arguments: str | Path) -> Any:
    done = run(*arguments, "--format", "json", "--quiet")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def made_state(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    made = told(
        "watch", "init", tmp_path / "state", "--data", tmp_path / "people.csv", "--rules", tmp_path / "rules.yaml"
    )
    assert {name: made[name] for name in ("version", "rows", "key", "batches", "totals")} == {
        "version": 0,
        "rows": 4,
        "key": "id",
        "batches": 0,
        "totals": BEFORE,
    }
    return tmp_path / "state"


@pytest.fixture
def state(engine: str, tmp_path: Path) -> Path:
    return made_state(tmp_path)


@pytest.fixture(scope="module")
def untouched(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state that refuses whatever it is given, and so is the same for all who try."""
    return made_state(tmp_path_factory.mktemp("untouched"))


def assert_untouched(state: Path) -> None:
    now = latest(open_store(state), WatchBody)
    assert (now.version, now.rows, now.totals) == (0, 4, BEFORE)
    assert [entry.name for entry in (state / "pending").iterdir()] == []


@pytest.fixture
def changes(tmp_path: Path) -> Callable[..., Path]:
    def written(*lines: str, name: str = "changes.csv", header: str = TABLE.splitlines()[0] + ",_change_type") -> Path:
        (tmp_path / name).write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return tmp_path / name

    return written


def test_a_state_lives_through_changes_and_new_rules(state: Path, changes: Callable[..., Path], tmp_path: Path) -> None:
    batch = changes(
        "5,20,Dull,60,2,e@x,insert",
        "3,10,Bute,80,1,,update_preimage",
        "3,10,Ayr,80,1,c@x,update_postimage",
        "2,10,Ayr,50,4,b@x,update_postimage",
        "9,1,X,1,1,,insert",
        "9,,,,,,delete",
    )
    done = told("watch", "apply", state, batch)
    assert list(done) == ["batch", "applied", "added", "removed", "added_count", "removed_count", "totals"]
    assert done["added"] == [
        {"rule": "zip-city", "left": 4, "right": 5},
        {"rule": "pay", "left": 3, "right": 2},
        {"rule": "ayr", "left": 4, "right": 5},
    ]
    assert done["removed"] == [
        {"rule": "zip-city", "left": 1, "right": 3},
        {"rule": "zip-city", "left": 2, "right": 3},
        {"rule": "email", "left": 3},
        {"rule": "ayr", "left": 3},
    ]
    assert (done["added_count"], done["removed_count"]) == (3, 4)
    assert done["totals"] == {"zip-city": 1, "pay": 2, "email": 0, "ayr": 1}

    again = told("watch", "apply", state, changes(*batch.read_text().splitlines()[1:], name="copy.csv"))
    assert again == {**done, "applied": False, "added": [], "removed": [], "added_count": 0, "removed_count": 0}

    found = told("watch", "show", state, "--violations", tmp_path / "found")
    assert (found["version"], found["rows"], found["batches"], found["totals"]) == (1, 5, 1, done["totals"])
    assert found["worst"]["pay"][0] == {"key": 2, "conflicts": 2}
    pairs = pq.read_table(tmp_path / "found" / "pairs").to_pylist()
    assert {"rule": "pay", "left": 3, "right": 2} in pairs
    assert {part.name for part in (tmp_path / "found").iterdir()} == {"pairs", "rows", "groups"}

    log = pq.read_table(state / "changes").to_pylist()
    assert sorted((line["rule"], line["left"], line["right"] or 0, line["change"]) for line in log) == sorted(
        [(one["rule"], one["left"], one.get("right", 0), 1) for one in done["added"]]
        + [(one["rule"], one["left"], one.get("right", 0), -1) for one in done["removed"]]
    )
    assert {line["version"] for line in log} == {1}

    (tmp_path / "rules.yaml").write_text(RULES.replace("name: email", "name: mail") + "  - unique(salary)\n")
    changed = told("watch", "rules", state, tmp_path / "rules.yaml")
    assert (changed["added"], changed["removed"]) == (["mail", "unique-salary"], ["email"])
    assert changed["totals"] == {"zip-city": 1, "pay": 2, "mail": 0, "ayr": 1, "unique-salary": 0}
    done = told("watch", "apply", state, changes("6,20,Cork,60,2,,insert"))
    assert done["totals"] == {"zip-city": 2, "pay": 2, "mail": 1, "ayr": 2, "unique-salary": 1}
    text = run("watch", "show", state).stdout
    assert "version 3, 6 rows, 2 batches" in text
    assert "unique(salary)" in text


def test_lists_are_cut_at_the_limit_and_say_so(state: Path, changes: Callable[..., Path]) -> None:
    batch = changes("5,10,X,1,1,,insert", "6,10,Y,1,1,,insert")
    cut = told("watch", "apply", state, batch, "--limit", "1")
    assert cut["added_count"] > len(cut["added"])
    assert max([one["rule"] for one in cut["added"]].count(rule) for rule in BEFORE) == 1
    log = pq.read_table(state / "changes").to_pylist()
    assert len(log) == len(cut["added"]) + len(cut["removed"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["4,20,Cork,70,9,d@x,insert"], "the key 4 is inserted, but is there already"),
        (["5,1,X,1,1,,insert", "7,,,,,,delete"], "the key 7 is deleted, but is not there"),
        (["7,20,Cork,70,9,d@x,update_postimage"], "the key 7 is updated, but is not there"),
        (["4,20,Cork,70,9,d@x,update_preimage"], "the key 4 has an update_preimage without its update_postimage"),
        (["4,20,Cork,70,9,d@x,upsert"], "the change of the key 4 has an unknown _change_type"),
        ([",20,Cork,70,9,d@x,insert"], "a row without a key"),
        (["8,20,Cork,much,9,d@x,insert"], "column 'salary': 'much' is not a whole number"),
        (["8,20,Cork,1,9"], "row 2"),
    ],
)
def test_bad_changes_are_refused_whole(
    untouched: Path, changes: Callable[..., Path], lines: list[str], message: str
) -> None:
    done = run("watch", "apply", untouched, changes("77,30,Deal,1,1,f@x,insert", *lines, name="bad.csv"))
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "bad.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert_untouched(untouched)


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ("id,zip,town,_change_type", "1,1,x,insert", "has a column 'town'"),
        ("zip,_change_type", "10,delete", "has no column 'id'"),
        ("id,zip,_change_type", "8,10,insert", "the changes lack columns"),
    ],
)
def test_other_columns_are_refused(
    untouched: Path, changes: Callable[..., Path], header: str, line: str, message: str
) -> None:
    done = run("watch", "apply", untouched, changes(line, header=header))
    assert done.exit_code == 2
    assert message in done.stderr
    assert_untouched(untouched)


def test_a_truncated_file_is_refused_and_named(untouched: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [8], "city": ["X"]}), tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(content[: len(content) // 2])
    packed = gzip.compress(("id,zip,_change_type\n" + "".join(f"{i},,delete\n" for i in range(1000))).encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "no.json").write_text('{"id": 8, "zip": 1\n')
    for name in ("cut.parquet", "cut.csv.gz", "no.json"):
        done = run("watch", "apply", untouched, tmp_path / name)
        assert done.exit_code == 2, done.output
        assert name in done.stderr
        assert "Traceback" not in done.stderr
        assert_untouched(untouched)


def test_other_types_are_refused(untouched: Path, tmp_path: Path) -> None:
    email = pa.array([None], pa.string())
    typed = pa.table({"id": ["x"], "zip": [1], "city": ["X"], "salary": [1], "rate": [1], "email": email})
    pq.write_table(typed, tmp_path / "typed.parquet")
    done = run("watch", "apply", untouched, tmp_path / "typed.parquet")
    assert done.exit_code == 2
    assert "the column 'id' is text, but in the state's table it is integer" in done.stderr


def test_a_folder_is_followed_once_per_file(state: Path, changes: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    changes("5,20,Dull,60,2,e@x,insert", name="in/a.csv")
    changes("5,20,Cork,60,2,e@x,update_postimage", name="in/b.csv")
    first = run("watch", "run", state, "--source", tmp_path / "in", "--once", "--format", "json", "--quiet")
    assert first.exit_code == 0, first.output
    lines = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(line["applied"], line["totals"]["zip-city"]) for line in lines] == [(True, 3), (True, 2)]
    changes("5,20,Dull,60,2,e@x,update_postimage", name="in/c.csv")
    second = run("watch", "run", state, "--source", tmp_path / "in", "--once", "--format", "json", "--quiet")
    assert [json.loads(line)["totals"]["zip-city"] for line in second.stdout.splitlines()] == [3]
    changes("5,20,Dull,60,2,e@x,insert", name="in/d.csv")
    third = run("watch", "run", state, "--source", tmp_path / "in", "--once", "--quiet")
    assert third.exit_code == 2
    assert "d.csv: the key 5 is inserted, but is there already" in third.stderr
    assert told("watch", "show", state)["version"] == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [("1,1\n1,2\n", "the key id is not unique: '1' occurs 2 times"), (",1\n2,2\n", "the key id is null in 1 row")],
)
def test_init_refuses_a_key_that_names_no_rows(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "t.csv").write_text("id,a\n" + rows)
    done = run("watch", "init", tmp_path / "s", "--data", tmp_path / "t.csv", "--rules", "unique(a)", "--key", "id")
    assert done.exit_code == 2
    assert message in done.stderr
    assert run("watch", "show", tmp_path / "s").exit_code == 2


def test_the_door(state: Path, tmp_path: Path, changes: Callable[..., Path]) -> None:
    again = run("watch", "init", state, "--data", tmp_path / "people.csv", "--rules", "unique(zip)", "--key", "id")
    assert again.exit_code == 2
    assert "there is a state at" in again.stderr
    nowhere = run("watch", "apply", tmp_path / "nowhere", changes("1,,,,,,delete"))
    assert nowhere.exit_code == 2
    assert "there is no state at" in nowhere.stderr
    remote = run("watch", "show", "hdfs://host/state")
    assert remote.exit_code == 2
    assert "was never tested on 'hdfs'" in remote.stderr
    with open_store(state).only_writer():
        busy = run("watch", "apply", state, changes("1,,,,,,delete"))
    assert busy.exit_code == 3
    assert "another process is writing to the state" in busy.stderr


def test_a_stream_in_code(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    schema = "k string, n int, zip string, city string, _change_type string"
    lines = [
        '{"k": "a", "n": 1, "zip": "10", "city": "Ayr"}\n{"k": "a", "n": 2, "zip": "10", "city": "Bute"}',
        '{"k": "a", "n": 2, "_change_type": "delete"}',
    ]
    for i, content in enumerate(lines):
        (tmp_path / "in" / f"{i}.json").write_text(content + "\n")
        os.utime(tmp_path / "in" / f"{i}.json", (i, i))  # Spark takes the oldest first
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    seen: list[Any] = []
    options: dict[str, Any] = {"key": ["k", "n"], "checkpoint": tmp_path / "point", "on_batch": seen.append}
    for _ in range(2):  # the second finds nothing new
        query = hf.watch(stream, ["zip -> city"], trigger={"availableNow": True}, **options)
        query.awaitTermination(120)
    assert [(one.applied, one.totals["zip-city"]) for one in seen] == [(True, 1), (True, 0)]
    assert seen[0].to_dict()["added"] == [{"rule": "zip-city", "left": ["a", 1], "right": ["a", 2]}]
    # The same inside a foreachBatch of one's own.
    batch = spark.createDataFrame([("a", 3, "10", "Bute")], "k string, n int, zip string, city string")
    for applied in (True, False):
        done = hf.watch(batch, ["zip -> city"], key=["k", "n"], checkpoint=tmp_path / "point", batch=7)
        assert (done.applied, done.totals["zip-city"]) == (applied, 1)
