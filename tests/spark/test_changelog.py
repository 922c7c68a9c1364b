"""States that follow the commits of a table by the change feed that a catalog of Spark has of it (Spark 4.2)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from typer.testing import CliRunner

import holdfast
from changelog_catalog import CATALOG_CLASS, compiled_catalog
from holdfast import check, discover
from holdfast.cli import app
from holdfast.engines.spark.watching.watch import watched

if tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 3):
    pytest.skip("Spark has change feeds from 4.2 on, and the catalog here is written for 4.3", allow_module_level=True)

RULES = ["zip -> city", "not(t.zip = s.zip and t.n > s.n and t.city < s.city)", "not(t.n > 7)"]
FIRST = ["insert,1,10,Ayr,1", "insert,2,10,Ayr,2", "insert,3,20,Bute,9"]
# Rows of a commit have no order: what comes may stand before what goes.
UPDATE = ["update_postimage,2,10,Cork,2", "update_preimage,2,10,Ayr,2"]
MOVED_KEYS = [
    *("update_postimage,4,20,Bute,9", "update_postimage,5,20,Bute,4"),
    *("update_preimage,3,20,Bute,9", "update_preimage,4,20,Bute,4"),
]
REWRITTEN = ["insert,2,10,Ayr,5", "insert,9,30,Dull,8", "delete,2,10,Cork,2", "delete,1,10,Ayr,1"]


@dataclass(frozen=True)
class Feed:
    """A table of the catalog: `commit` adds a version to it."""

    folder: Path
    name: str

    @property
    def source(self) -> str:
        return f"spark:{self.name}"

    def commit(self, *lines: str, version: int | None = None) -> None:
        """A version with these changes, the next one where none is named."""
        there = [int(file.stem) for file in self.folder.glob("*.csv")]
        number = max(there, default=-1) + 1 if version is None else version
        (self.folder / f"{number}.csv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def catalog_jar(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    jar = compiled_catalog(spark, tmp_path_factory.mktemp("catalog"))
    spark.sql(f"ADD JAR '{jar}'")
    return jar


@pytest.fixture
def people(spark: SparkSession, catalog_jar: Path, tmp_path: Path) -> Iterator[Feed]:
    """A table of two versions, in a catalog of its own."""
    catalog = f"feeds_{uuid.uuid4().hex}"
    yield feed_of(spark, catalog, tmp_path / "catalog", "people")
    spark.conf.unset(f"spark.sql.catalog.{catalog}")


def feed_of(spark: SparkSession, catalog: str, folder: Path, table: str) -> Feed:
    (folder / table).mkdir(parents=True)
    spark.conf.set(f"spark.sql.catalog.{catalog}", CATALOG_CLASS)
    spark.conf.set(f"spark.sql.catalog.{catalog}.folder", str(folder))
    feed = Feed(folder / table, f"{catalog}.{table}")
    feed.commit(*FIRST)
    feed.commit("insert,4,20,Bute,4")
    return feed


def run(*arguments: str | Path, job: str = "watch") -> Any:
    return CliRunner().invoke(app, [job, *map(str, arguments), "--quiet"])


def followed(state: Path, source: str, *more: str, job: str = "watch") -> list[dict[str, Any]]:
    done = run("run", state, "--source", source, "--once", "--format", "json", *more, job=job)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(state: Path, source: str, *more: str) -> str:
    done = run("run", state, "--source", source, "--once", *more)
    assert done.exit_code == 2, done.output
    return " ".join(done.stderr.split())


def init(state: Path, table: Feed) -> None:
    rules = state.parent / "rules.yaml"
    rules.write_text(json.dumps({"key": "id", "rules": RULES}))
    done = run("init", state, "--data", table.source, "--rules", rules)
    assert done.exit_code == 0, done.output


def assert_as_now(spark: SparkSession, state: Path, table: Feed) -> None:
    now, there = watched(spark, state), spark.table(table.name)
    assert sorted(map(tuple, now.frame.collect())) == sorted(map(tuple, there.collect()))
    with check(table.source, RULES, key="id") as fresh:
        found = fresh.to_dict()["rules"]
    counts = [r["violating_rows"] if r["violating_pairs"] is None else r["violating_pairs"] for r in found]
    assert dict(zip([r["name"] for r in found], counts, strict=True)) == now.manifest.totals


def test_commits_are_followed_and_those_that_came_together_are_one_batch(
    spark: SparkSession, people: Feed, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    init(state, people)
    assert followed(state, people.source, "--from-version", "2") == []
    people.commit(*UPDATE)
    (done,) = followed(state, people.source, "--from-version", "2")
    assert (done["applied"], done["batch"]) == (True, f"spark-{people.name}/2")
    assert done["totals"]["zip-city"] == 1
    assert_as_now(spark, state, people)

    people.commit(*MOVED_KEYS)
    people.commit(*REWRITTEN, version=7)  # versions may leave numbers out
    (done,) = followed(state, people.source)
    assert done["batch"] == f"spark-{people.name}/7"
    assert_as_now(spark, state, people)
    before = watched(spark, state).manifest
    assert followed(state, people.source) == []
    assert followed(state, people.source, "--from-version", "1") == []  # what is in stays in, once
    assert watched(spark, state).manifest == before


def test_one_by_one_is_as_all_at_once(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    one_by_one, at_once = tmp_path / "one_by_one", tmp_path / "at_once"
    init(one_by_one, people)
    init(at_once, people)
    for changes in (UPDATE, MOVED_KEYS, REWRITTEN):
        people.commit(*changes)
        assert len(followed(one_by_one, people.source, "--from-version", "2")) == 1
        assert_as_now(spark, one_by_one, people)
    assert len(followed(at_once, people.source, "--from-version", "2")) == 1
    assert watched(spark, at_once).manifest.totals == watched(spark, one_by_one).manifest.totals
    assert_as_now(spark, at_once, people)


def test_rules_are_evolved_under_the_commits(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    state = tmp_path / "state"
    done = run("init", state, "--data", people.source, "--key", "id", job="evolve")
    assert done.exit_code == 0, done.output
    people.commit(*UPDATE)
    people.commit(*REWRITTEN)
    (batch,) = followed(state, people.source, "--from-version", "2", job="evolve")
    assert batch["removed"]
    shown = run("show", state, "--top", "all", "--format", "json", job="evolve")
    kept = {rule["rule"] for rule in json.loads(shown.stdout)["rules"]}
    fresh = discover(people.source, top="all").to_dict()["rules"]
    assert kept == {rule["rule"] for rule in fresh}


def test_tables_are_followed_side_by_side(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    others = feed_of(spark, people.name.split(".")[0], people.folder.parent, "others")
    rules = tmp_path / "shop.yaml"
    tables = {name: {"data": feed.source, "key": "id"} for name, feed in (("people", people), ("others", others))}
    rules.write_text(json.dumps({"tables": tables, "rules": ["people(id) in others(id)"]}))
    state = tmp_path / "state"
    done = run("init", state, "--rules", rules)
    assert done.exit_code == 0, done.output
    people.commit(*UPDATE)
    others.commit("delete,1,10,Ayr,1")
    named = [f"{name}={feed.source}" for name, feed in (("people", people), ("others", others))]
    options = ("--table", named[0], "--table", named[1], "--once", "--format", "json")
    done = run("run", state, *options, "--from-version", "people=2", "--from-version", "others=2")
    assert done.exit_code == 0, done.output
    batches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [batch["added_count"] for batch in batches] == [0, 1]
    assert list(batches[-1]["totals"].values()) == [1]
    again = run("run", state, *options)
    assert (again.exit_code, again.stdout) == (0, "")


class Enough(Exception):
    """Ends what follows a table until it is ended."""


def test_commits_that_come_later_are_followed(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    state = tmp_path / "state"
    init(state, people)
    people.commit(*UPDATE)
    batches: list[str] = []

    def take(outcome: object, name: str) -> None:
        batches.append(name)
        if len(batches) == 2:
            raise Enough
        people.commit(*MOVED_KEYS)

    with pytest.raises(Enough):
        holdfast.WatchState.open(state).follow(people.source, from_version=2, on_batch=take)
    assert batches == [f"{people.name}, version 2", f"{people.name}, version 3"]
    assert_as_now(spark, state, people)


def test_where_to_begin_is_told(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    state = tmp_path / "state"
    init(state, people)
    unknown = refused(state, people.source)
    assert f"nothing tells which versions of the table {people.name} the state" in unknown
    assert "--from-version" in unknown
    newest = spark.sql(f"SELECT max(_commit_version) FROM {people.name} CHANGES FROM VERSION 0").first()
    assert newest is not None
    assert newest[0] == 1
    assert "the key 4 is inserted, but is there" in refused(state, people.source, "--from-version", "1")
    people.commit(*UPDATE)
    assert len(followed(state, people.source, "--from-version", "2")) == 1
    assert "would leave out changes" in refused(state, people.source, "--from-version", "4")


def test_versions_that_are_no_longer_kept_are_told(people: Feed, tmp_path: Path) -> None:
    state = tmp_path / "state"
    init(state, people)
    people.commit(*UPDATE)
    assert len(followed(state, people.source, "--from-version", "2")) == 1
    people.commit("delete,1,10,Ayr,1")
    people.commit(*MOVED_KEYS)
    (people.folder / "kept").write_text("4")
    gone = refused(state, people.source)
    assert f"the changes of the table {people.name} after version 2 on cannot be read" in gone
    assert "version 3 has expired, the oldest is 4" in gone
    assert "make a new state of the table as it is now" in gone


def test_a_table_without_a_feed_is_told(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    state = tmp_path / "state"
    init(state, people)
    spark.range(3).createOrReplaceTempView("without_feed")
    none = refused(state, "spark:without_feed", "--from-version", "0")
    assert "the catalog of the table without_feed gives Spark no change feed" in none
    assert "iceberg:catalog.db.table" in none
    missing = refused(state, "spark:nowhere_to_be_found", "--from-version", "0")
    assert "Spark knows no table nowhere_to_be_found" in missing
    (people.folder / "text").touch()
    assert "names the versions" in refused(state, people.source, "--from-version", "2")


def test_an_older_spark_is_told(people: Feed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    init(state, people)
    monkeypatch.delattr(DataFrameReader, "changes")
    old = refused(state, people.source, "--from-version", "2")
    assert f"{people.source} is followed by way of Spark's change feeds, which came with Spark 4.2" in old
    assert "install a newer PySpark" in old


# In code ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versions", ["numbers", "text"])
def test_a_frame_of_changes_is_a_batch(spark: SparkSession, people: Feed, tmp_path: Path, versions: str) -> None:
    if versions == "text":
        (people.folder / "text").touch()
    people.commit(*UPDATE)
    people.commit(*REWRITTEN)

    def changes(first: int, last: int) -> DataFrame:
        return spark.read.options(startingVersion=str(first), endingVersion=str(last)).changes(people.name)

    place = tmp_path / "mine"
    for number, (first, last) in enumerate([(0, 1), (2, 3), (2, 3)]):
        outcome = holdfast.watch(changes(first, last), RULES, key="id", checkpoint=place, batch=min(number, 1))
        assert outcome.applied == (number < 2)
    assert_as_now(spark, place / "state", people)


def test_a_stream_of_changes_is_watched(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    counts: list[int] = []

    def run_stream() -> None:
        stream = spark.readStream.option("startingVersion", "0").changes(people.name)
        query = holdfast.watch(
            stream,
            RULES,
            key="id",
            checkpoint=tmp_path / "watched",
            trigger={"availableNow": True},
            on_batch=lambda outcome: counts.append(outcome.totals["zip-city"]),
        )
        assert query.awaitTermination(60)

    run_stream()
    people.commit(*UPDATE)
    run_stream()
    people.commit(*REWRITTEN)
    run_stream()
    run_stream()
    assert counts == [0, 1, 0]
    assert_as_now(spark, tmp_path / "watched/state", people)


def test_a_stream_of_changes_evolves_the_rules(spark: SparkSession, people: Feed, tmp_path: Path) -> None:
    def rules_after_stream() -> set[str]:
        stream = spark.readStream.option("startingVersion", "2").changes(people.name)
        options: dict[str, Any] = {"key": "id", "checkpoint": tmp_path / "kept", "trigger": {"availableNow": True}}
        query = holdfast.evolve(stream, data=people.source, **options)
        assert query.awaitTermination(60)
        shown = holdfast.EvolveState.open(tmp_path / "kept/state").show(top="all").to_dict()
        return {rule["rule"] for rule in shown["rules"]}

    before = rules_after_stream()
    people.commit(*UPDATE)
    people.commit(*REWRITTEN)
    after = rules_after_stream()
    assert before != after
    assert after == {rule["rule"] for rule in discover(people.source, top="all").to_dict()["rules"]}


# On Connect ---------------------------------------------------------------------------------------------------------


CLIENT = """
import sys
import holdfast
from pyspark.sql import SparkSession

jar, catalog, folder, state = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.addArtifact(jar)
spark.conf.set(f"spark.sql.catalog.{catalog}", "FolderCatalog")
spark.conf.set(f"spark.sql.catalog.{catalog}.folder", folder)
told = []
open_state = holdfast.WatchState.open(state, engine="spark")
open_state.follow(
    f"spark:{catalog}.people", once=True, from_version=2, on_batch=lambda outcome, name: told.append(name)
)
print(told, dict(open_state.status.totals))
"""


def test_commits_are_followed_on_connect(
    spark: SparkSession, people: Feed, catalog_jar: Path, connect_url: str, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    init(state, people)
    people.commit(*UPDATE)
    catalog = people.name.split(".")[0]
    command = [sys.executable, "-c", CLIENT, str(catalog_jar), catalog, str(people.folder.parent), str(state)]
    env = {**os.environ, "SPARK_REMOTE": connect_url}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    totals = dict(watched(spark, state).manifest.totals)
    assert done.stdout.splitlines()[-1] == f"{[f'{people.name}, version 2']} {totals}"
    assert totals["zip-city"] == 1
