"""Delta tables as data, and states that follow their commits: each once, in order, whatever kind of commit it is."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from holdfast import check
from holdfast.cli import app
from holdfast.engines.spark.arrow_table import frame_of
from holdfast.engines.spark.watching.watch import watched
from pyspark_versions import not_on_3_5

deltalake = pytest.importorskip("deltalake", reason="the extra delta is not installed")
pytestmark = not_on_3_5("it has no data sources in Python, which read Delta tables by their path")

SCHEMA = pa.schema([("id", pa.int64()), ("zip", pa.string()), ("city", pa.string()), ("n", pa.int32())])
RULES = ["zip -> city", "not(t.zip = s.zip and t.n > s.n and t.city < s.city)", "not(t.n > 7)"]
FEED = {"delta.enableChangeDataFeed": "true"}


def rows(*some: tuple[int, str, str, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in some], schema=SCHEMA)


def made(path: Path, *, feed: bool = True) -> Path:
    first = rows((1, "10", "Ayr", 1), (2, "10", "Ayr", 2), (3, "20", "Bute", 9))
    deltalake.write_deltalake(path, first, configuration=FEED if feed else {}, partition_by=["zip"])
    deltalake.write_deltalake(path, rows((4, "20", "Bute", 4)), mode="append")
    return path


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["watch", *map(str, arguments), "--quiet"])


def followed(state: Path, source: Path, *more: str) -> list[dict[str, Any]]:
    done = run("run", state, "--source", source, "--once", "--format", "json", *more)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def init(state: Path, table: Path) -> None:
    (state.parent / "rules.yaml").write_text(json.dumps({"key": "id", "rules": RULES}))
    done = run("init", state, "--data", table, "--rules", state.parent / "rules.yaml")
    assert done.exit_code == 0, done.output


def assert_as_now(spark: SparkSession, state: Path, table: Path) -> None:
    now = watched(spark, state)
    there = deltalake.DeltaTable(table).to_pyarrow_table().to_pylist()
    assert sorted(map(str, there)) == sorted(str(row.asDict()) for row in now.frame.collect())
    with check(table, RULES, key="id") as fresh:
        found = fresh.to_dict()["rules"]
    pairs = [r["violating_rows"] if r["violating_pairs"] is None else r["violating_pairs"] for r in found]
    assert dict(zip([r["name"] for r in found], pairs, strict=True)) == now.manifest.totals


def test_a_state_follows_the_table_it_was_made_of(spark: SparkSession, tmp_path: Path) -> None:
    table, state = made(tmp_path / "t"), tmp_path / "state"
    init(state, table)
    assert followed(state, table) == []
    opened = deltalake.DeltaTable(table)
    opened.update(updates={"city": "'Cork'"}, predicate="id = 2")
    opened.update(updates={"id": "id + 1"}, predicate="id >= 3")  # 3, 4 become 4, 5: keys come and go in one commit
    (done,) = followed(state, table)
    assert (done["applied"], done["totals"]["zip-city"]) == (True, 1)
    assert done["batch"].startswith("delta-")
    assert done["batch"].endswith("/3")
    assert_as_now(spark, state, table)

    opened.optimize.compact()
    more = rows((2, "10", "Ayr", 2), (9, "30", "Dull", 8))
    merge = deltalake.DeltaTable(table).merge(more, "s.id = t.id", "s", "t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    deltalake.DeltaTable(table).delete("id = 1")
    # All in one commit again, which deletes and inserts the same keys.
    deltalake.write_deltalake(table, rows((2, "10", "Ayr", 5), (4, "10", "Cork", 5)), mode="overwrite")
    shutil.rmtree(state / "streams")  # what Spark has noted is no part of the truth
    assert [line["applied"] for line in followed(state, table)] == [True]
    assert_as_now(spark, state, table)

    commits = next((state / "streams").iterdir()) / "commits"
    for file in (*commits.glob("[0-9]*"), *commits.glob(".*")):  # killed before Spark noted that the batch was done
        file.unlink()
    before = watched(spark, state).manifest
    assert followed(state, table) == []
    assert watched(spark, state).manifest == before
    assert_as_now(spark, state, table)


def test_random_commits_are_followed(spark: SparkSession, tmp_path: Path) -> None:
    table, state, chance = made(tmp_path / "t"), tmp_path / "state", random.Random(5)
    init(state, table)
    after = 100
    for _ in range(3):
        for _ in range(4):
            some = chance.sample(range(1, after), 20)
            what, opened = chance.choice(["append", "update", "delete", "key"]), deltalake.DeltaTable(table)
            among = f"id in ({', '.join(map(str, some))})"
            if what == "append":
                places = [(chance.choice(["10", "20"]), chance.choice("ABC"), chance.randrange(9)) for _ in range(5)]
                new = rows(*((after + i, *place) for i, place in enumerate(places)))
                deltalake.write_deltalake(table, new, mode="append")
                after += 5
            elif what == "delete":
                opened.delete(among)
            elif what == "update":
                opened.update(updates={"city": f"'{chance.choice('ABC')}'", "n": "n + 1"}, predicate=among)
            else:
                opened.update(updates={"id": f"id + {after}"}, predicate=among)
                after *= 2
        followed(state, table)
        assert_as_now(spark, state, table)


def test_all_types_are_read_as_from_parquet(spark: SparkSession, tmp_path: Path) -> None:
    noon = dt.datetime(2024, 1, 1, 12)
    table = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int32()),
            "day": [dt.date(2024, 1, 1), None, dt.date(1600, 1, 1)],
            "price": pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(9, 2)),
            "at": pa.array([noon, None, noon], pa.timestamp("us", tz="UTC")),
            "local": pa.array([noon, None, noon], pa.timestamp("us")),
            "a b`\"'": ["x", None, "ü"],
            "bytes": [b"x", b"", None],
            "some": [[1], [], None],
            "f": [1.5, float("nan"), -0.0],
        }
    )
    deltalake.write_deltalake(tmp_path / "t", table, partition_by=["day"])
    frame_of(spark, table).coalesce(1).write.parquet(str(tmp_path / "p"))
    rules = ["unique(at)", "local -> price", 'not(t."a b`""\'" is null)', "not(t.f > s.f and t.day > s.day)"]
    with check(tmp_path / "t", rules, key="id") as delta, check(tmp_path / "p", rules, key="id") as parquet:
        assert delta.to_dict()["rules"] == parquet.to_dict()["rules"]
        assert "t is read as of version 0 of the Delta table" in delta.outcome.notes
    empty = deltalake.DeltaTable(tmp_path / "t")
    empty.delete()
    with check(tmp_path / "t", rules, key="id") as nothing:
        assert nothing.to_dict()["rows"] == 0


def test_where_to_begin_is_told_or_known(spark: SparkSession, tmp_path: Path) -> None:
    table, state = made(tmp_path / "t"), tmp_path / "state"
    spark.createDataFrame(rows((3, "20", "Bute", 9))).write.parquet(str(tmp_path / "p"))
    init(state, tmp_path / "p")
    lost = run("run", state, "--source", table, "--once")
    assert lost.exit_code == 2
    assert "was not made of the Delta table t, so that nothing tells which of its versions 0 to 1 it has" in lost.stderr
    assert "the key 3 is inserted" in run("run", state, "--source", table, "--once", "--from-version", "0").stderr
    far = run("run", state, "--source", table, "--once", "--from-version", "3")
    assert (far.exit_code, "has the versions 0 to 1" in far.stderr) == (2, True)
    (done,) = followed(state, table, "--from-version", "1")
    assert done["added_count"] == 0
    deltalake.DeltaTable(table).delete("id = 3")
    assert len(followed(state, table, "--from-version", "1")) == 1
    deltalake.DeltaTable(table).delete("id = 4")
    left_out = run("run", state, "--source", table, "--once", "--from-version", "4")
    assert (left_out.exit_code, "would leave out changes" in left_out.stderr) == (2, True)
    folder = run("run", state, "--source", tmp_path, "--once", "--from-version", "0")
    assert (folder.exit_code, "is for tables with a feed of changes" in folder.stderr) == (2, True)


def test_a_feed_that_is_not_there_is_told(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, state = made(tmp_path / "t", feed=False), tmp_path / "state"
    init(state, table)
    none = run("run", state, "--source", table, "--once")
    assert (none.exit_code, "keeps no change feed" in none.stderr) == (2, True)
    assert "delta.enableChangeDataFeed" in none.stderr
    deltalake.DeltaTable(table).alter.set_table_properties(FEED)
    spark.createDataFrame(rows((8, "20", "Bute", 9))).write.parquet(str(tmp_path / "p"))
    init(tmp_path / "other", tmp_path / "p")
    late = run("run", tmp_path / "other", "--source", table, "--once", "--from-version", "0")
    assert late.exit_code == 2, late.output
    assert "was written before its change feed was enabled" in late.stderr

    kept = made(tmp_path / "kept")
    shutil.rmtree(state)
    init(state, kept)
    opened = deltalake.DeltaTable(kept)
    opened.update(updates={"n": "n + 1"})
    deltalake.write_deltalake(kept, rows((5, "10", "Ayr", 1)), mode="overwrite")
    for gone in (kept / "_change_data").rglob("*.parquet"):
        gone.unlink()
    lost = run("run", state, "--source", kept, "--once")
    assert (lost.exit_code, "files of these versions are gone" in lost.stderr) == (2, True), lost.output

    monkeypatch.setitem(sys.modules, "deltalake", None)
    missing = run("run", state, "--source", kept, "--once")
    assert missing.exit_code == 2
    assert "deltalake, is not installed" in missing.stderr
    assert "pip install 'holdfast[delta]'" in missing.stderr
