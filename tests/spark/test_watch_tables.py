"""Several tables under watch that follow streams, Delta tables and folders: each batch once, and in order."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

import holdfast as hf
from holdfast.api import WatchState
from holdfast.cli import app
from holdfast.errors import OptionError, StateError
from holdfast.rules.rule import Rule, RuleSet
from pyspark_versions import not_on_3_5

KEYS = {"orders": "id", "customers": "code"}
RULES = RuleSet(
    (
        Rule("exists", hf.parse_rule("orders(customer) in customers(code)").body, where="amount > 0"),
        Rule("early", hf.parse_rule("not(orders.customer = customers.code and orders.day < customers.since)").body),
        Rule("invoice", hf.parse_rule("unique(invoice)").body, table="orders"),
    )
)
SCHEMAS = {
    "orders": "id int, customer string, day int, invoice int, amount int, _change_type string",
    "customers": "code string, since int, _change_type string",
}


def write(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def order(key: int, customer: str, day: int = 5, **more: Any) -> dict[str, Any]:
    return {"id": key, "customer": customer, "day": day, "invoice": key, "amount": 1, **more}


def test_streams_of_two_tables_are_one_stream_of_batches(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "orders", "1.json", order(1, "A"), order(2, "B"), order(3, "B", amount=0))
    write(tmp_path / "customers", "1.json", {"code": "A", "since": 9})
    told: list[dict[str, int]] = []

    def run() -> None:
        frames: dict[str, DataFrame] = {
            name: spark.readStream.schema(schema).json(str(tmp_path / name)) for name, schema in SCHEMAS.items()
        }
        query = hf.watch(
            frames, RULES, key=KEYS, checkpoint=tmp_path / "watched", trigger={"availableNow": True},
            on_batch=lambda outcome: told.append(dict(outcome.totals)),
        )  # fmt: skip
        assert query.awaitTermination(300)
        assert query.exception() is None

    run()
    assert told == [{"exists": 1, "early": 1, "invoice": 0}]
    # Changes of one key in two files of one batch: they are taken in the order of the files' names.
    write(tmp_path / "orders", "2.json", order(1, "A", invoice=2, _change_type="update_postimage"))
    write(
        tmp_path / "orders", "3.json", order(1, "A", day=9, _change_type="update_postimage"),
        *(order(key, "A", day=9) for key in range(10, 60)),
    )  # fmt: skip
    write(tmp_path / "customers", "2.json", {"code": "B", "since": 1, "_change_type": "insert"})
    run()
    assert told[1:] == [{"exists": 0, "early": 0, "invoice": 0}]
    run()
    assert told[2:] == [], "what is in is not told again"
    assert WatchState.open(tmp_path / "watched" / "state").show().totals == told[-1]


@pytest.mark.usefixtures("ansi")
def test_a_small_decimal_is_one_key_whatever_the_casts_are(spark: SparkSession, tmp_path: Path) -> None:
    """Without ANSI's casts Spark writes 0.000000100 as 1.00E-7, which no other engine does."""
    key = Decimal("0.000000100")
    frames = {
        "orders": spark.createDataFrame([(key, "A"), (-key, "B")], "id decimal(12, 9), customer string"),
        "customers": spark.createDataFrame([("C",)], "code string"),
    }
    WatchState.create(tmp_path / "state", frames, ["orders(customer) in customers(code)"], key=KEYS)
    gone = pa.table({"id": pa.array([key], pa.decimal128(12, 9)), "_change_type": ["delete"]})
    pq.write_table(gone, tmp_path / "gone.parquet")
    outcome = WatchState.open(tmp_path / "state", engine="local").apply({"orders": tmp_path / "gone.parquet"})
    assert list(outcome.totals.values()) == [1]


def test_frames_of_a_batch_count_once(spark: SparkSession, tmp_path: Path) -> None:
    frames = {
        "orders": spark.createDataFrame([(1, "A", 5, 1, 1, None)], SCHEMAS["orders"]),
        "customers": spark.createDataFrame([("B", 1, None)], SCHEMAS["customers"]),
    }
    given: dict[str, Any] = {"key": KEYS, "checkpoint": tmp_path / "mine"}
    first, again = (hf.watch(frames, RULES, batch=4, **given) for _ in range(2))
    assert (first.applied, first.totals["exists"], again.applied) == (True, 1, False)
    with pytest.raises(OptionError, match="a batch needs its number"):
        hf.watch(frames, RULES, **given)
    with pytest.raises(OptionError, match="the table customers has no key"):
        hf.watch(frames, RULES, key={"orders": "id"}, batch=1, checkpoint=tmp_path / "other")
    with pytest.raises(StateError, match="are over several tables, and stay as they are"):
        hf.watch(frames, RuleSet(RULES[:2]), batch=5, **given)


@not_on_3_5("it has no data sources in Python, which read Delta tables by their path")
def test_a_delta_table_and_a_folder_are_followed_together(spark: SparkSession, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="the extra delta is not installed")
    table, state = tmp_path / "customers", tmp_path / "state"
    feed = {"delta.enableChangeDataFeed": "true"}
    deltalake.write_deltalake(table, pa.table({"code": ["A", "C"], "since": [1, 1]}), configuration=feed)
    write(tmp_path, "orders.json", order(1, "A"), order(2, "B"))
    rules = "not(orders.customer = customers.code and orders.day < customers.since)"
    created = WatchState.create(
        state,
        {"orders": tmp_path / "orders.json", "customers": table},
        ["orders(customer) in customers(code)", rules],
        key=KEYS,
    )
    assert list(created.status.totals.values()) == [1, 0]

    def run(*more: str) -> list[list[int]]:
        options = ["--once", "--format", "json", "--quiet", *more]
        sources = [f"--table=orders={tmp_path / 'in'}", f"--table=customers={table}"]
        done = CliRunner().invoke(app, ["watch", "run", str(state), *sources, *options])
        assert done.exit_code == 0, done.output
        return [list(json.loads(line)["totals"].values()) for line in done.stdout.splitlines()]

    write(tmp_path / "in", "1.json", order(3, "D"))
    deltalake.DeltaTable(table).delete("code = 'A'")
    deltalake.write_deltalake(table, pa.table({"code": ["B", "D"], "since": [1, 9]}), mode="append")
    assert run() == [[2, 0], [1, 1]], "the file is a batch, and so are both commits"
    assert run() == []
    deltalake.DeltaTable(table).update(updates={"since": "1"}, predicate="code = 'D'")
    assert run() == [[1, 0]]
    with_version = CliRunner().invoke(
        app, ["watch", "run", str(state), f"--table=customers={table}", "--once", "--from-version", "customers=9"]
    )
    assert with_version.exit_code == 2
    assert "has the versions 0 to 3" in with_version.stderr
