"""A state is the same whichever engine has made it and applied its batches: totals, logs, entries of its files."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.spark.arrow_table import frame_of
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states import init_fragments as first_load
from holdfast.engines.states.evolved_table import EvolvedTable, init_evolve
from holdfast.engines.states.fragmented_table import FragmentedTable
from holdfast.engines.states.init_fragments import init_fragments
from holdfast.engines.states.state_engine import StateEngine
from holdfast.engines.states.watched_table import WatchedTable, init_watch
from holdfast.evolving.options import evolve_options
from holdfast.fragments.shipment_plan import plan_shipments
from holdfast.fragments.sites import Site, SplitTable
from holdfast.rules.rule import Nulls, rule_set
from holdfast.rules.rule_file import as_rule_set
from holdfast.states.manifest import ROWS as ROWS_TABLE
from holdfast.states.segment import OpenSegment

ROWS = 400
SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "n": pa.int32(),
        "zip": pa.string(),
        "city": pa.string(),
        "a": pa.int64(),
        "b": pa.float64(),
        "c": pa.decimal128(20, 2),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "ok": pa.bool_(),
        "raw": pa.binary(),
    }
)
RULES = [
    "zip -> city, ok",
    "zip = '3' -> city = 'c'",
    "unique(zip, day, raw)",
    "not(t.a = s.b and t.city != s.city)",
    "not(t.c = s.b and t.zip != s.zip)",
    "not(t.zip = s.city and t.day < s.day)",
    "not(t.zip = s.city and t.city = s.zip and t.at > s.at)",
    "not(t.day = s.day and t.a > s.a and t.b < s.b)",
    "not(t.a > s.a and t.c < s.c and t.raw = s.raw)",
    "not(t.ok = false and t.a > 3)",
]


def random_rows(chance: random.Random, keys: Sequence[int]) -> list[dict[str, Any]]:
    def some(*values: Any) -> Any:
        return chance.choice([*values, None] if chance.random() < 0.3 else values)

    start = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    return [
        {
            "k": "k" + "é" * (key % 3),
            "n": key,
            "zip": some(*"1234a"),
            "city": some(*"abc1"),
            "a": some(0, 1, 2, 4, 2**53 + 1),
            "b": some(0.0, -0.0, 1.0, 2.5, float("nan"), 2.0**53),
            "c": some(Decimal("0.00"), Decimal("1.00"), Decimal("2.50")),
            "day": some(dt.date(2024, 1, 1), dt.date(1960, 2, 29)),
            "at": some(start, start + dt.timedelta(microseconds=key)),
            "ok": some(True, False),
            "raw": some(b"", b"\x00\xff", b"x" * 40),
        }
        for key in keys
    ]


def batches(seed: int) -> list[pa.Table]:
    """Inserts, updates and deletes, all of them in each batch."""
    chance, made, there = random.Random(seed), [], set(range(ROWS))
    for number in range(3):
        gone = chance.sample(sorted(there), 20)
        changed = chance.sample(sorted(there - set(gone)), 30)
        new = list(range(ROWS * (number + 2), ROWS * (number + 2) + 25))
        lines = [*random_rows(chance, gone), *random_rows(chance, changed), *random_rows(chance, new)]
        kinds = ["delete"] * len(gone) + ["update_postimage"] * len(changed) + ["insert"] * len(new)
        made.append(pa.Table.from_pylist(lines, SCHEMA).append_column("_change_type", pa.array(kinds)))
        there = (there - set(gone)) | set(new)
    return made


def given(engine: StateEngine, rows: pa.Table) -> Any:
    return frame_of(engine.spark, rows) if isinstance(engine, SparkEngine) else rows


def watched_by(engines: Sequence[StateEngine], folder: Path) -> WatchedTable:
    """The state, made on the first engine; each batch is applied on the next one."""
    rules = as_rule_set(RULES)
    rules = rule_set([*rules, replace(rules.rules[0], name="some", where="n % 3 = 0 AND zip > '1'")])
    table = pa.Table.from_pylist(random_rows(random.Random(1), range(ROWS)), SCHEMA)
    first = engines[0]
    state = init_watch(first, first.table_of(given(first, table), "t"), rules, ("k", "n"), folder, {})
    for number, changes in enumerate(batches(2)):
        engine = engines[(number + 1) % len(engines)]
        state = replace(state, engine=engine)
        state.apply_frame(given(engine, changes), stream="s", number=number, limit=None)
    return state.newest()


# By how rows are split: the sites, and which rows are at which, by the remainder of `n`.
BY_COLUMNS = {"X": ("zip", "a", "at"), "Y": ("city", "b", "c"), "Z": ("day", "ok", "raw", "fine", "a")}
SITES = {
    "columns": tuple(Site(name, columns) for name, columns in BY_COLUMNS.items()),
    "rows": tuple(Site(f"R{i}", where=f"n % 3 = {i}") for i in range(3)),
    "both": (
        Site("X", ("zip", "a", "b", "c", "at"), "n % 2 = 0"),
        Site("Y", ("city", "day", "ok", "raw", "fine"), "n % 2 = 0"),
        Site("Z", where="n % 2 = 1"),
    ),
}
DEPENDENCIES = [
    "zip -> city, ok",
    "zip = '3' -> city = 'c'",
    "b -> city",
    "c, fine -> day",
    "at -> raw",
    "day, raw -> zip, at",
    "b = 2.5, ok -> c",
    "not(t.ok = false and t.a > 3)",
]


def fragmented_by(engines: Sequence[StateEngine], folder: Path, split: str, nulls: Nulls) -> FragmentedTable:
    """The state of fragments, made on the first engine; each batch is applied on the next one."""
    rules = as_rule_set(DEPENDENCIES, nulls=nulls)
    scoped = replace(rules.rules[0], name="some", where="n % 3 = 0 AND zip > '1'")
    sites = SplitTable(("k", "n"), SITES[split], replace(rules, rules=(*rules, scoped), key=("k", "n")))
    table = with_fine(pa.Table.from_pylist(random_rows(random.Random(1), range(ROWS)), SCHEMA))
    first, tables = engines[0], []
    for site in sites.sites:
        own = table if site.columns is None else table.select(["k", "n", *site.columns])
        if site.where is not None:
            _, _, share, _, rest = site.where.split()
            own = own.filter(pa.array(np.asarray(own.column("n")) % int(share) == int(rest)))
        tables.append(first.table_of(given(first, own), site.name))
    state, _ = init_fragments(first, sites, folder, tables=tables, secret=b"0123456789abcdef")
    for number, changes in enumerate(batches(2)):
        engine = engines[(number + 1) % len(engines)]
        state = replace(state, engine=engine)
        state.apply_frame(given(engine, with_fine(changes)), batch=str(number), limit=None)
    return state.newest()


def with_fine(rows: pa.Table) -> pa.Table:
    """The rows with doubles that Java writes in its own way, and decimals that some sessions write with an exponent."""
    keys = rows.column("n").to_pylist()
    odd = [[2.0**-44, 2e23, 1.1e-7, None, 5e-324][key % 5] for key in keys]
    fine = [[Decimal("0.00000012"), Decimal("0"), None, Decimal("1234567.5")][key % 4] for key in keys]
    b = [odd[i] if keys[i] % 3 == 0 else value for i, value in enumerate(rows.column("b").to_pylist())]
    rows = rows.set_column(rows.column_names.index("b"), "b", pa.array(b, pa.float64()))
    place = rows.column_names.index("raw") + 1
    return rows.add_column(place, "fine", pa.array(fine, pa.decimal128(20, 8)))


def entries(state: WatchedTable | FragmentedTable) -> dict[str, list[str]]:
    """All entries of each table, as text, in order; and the log."""
    told = {}
    for name, table in state.manifest.body.tables.items():
        lines = [line for part in table.segments for line in OpenSegment(state.store, part).table.to_pylist()]
        told[name] = sorted(str(sorted(line.items())).replace("-0.0", "0.0") for line in lines)
    told["log"] = sorted(str(line) for line in pq.read_table(Path(state.store.root, "changes")).to_pylist())
    return told


def evolved_by(engines: Sequence[StateEngine], folder: Path) -> EvolvedTable:
    """Rules that are kept by indexes, as `watched_by` has violations."""

    def with_zips(rows: pa.Table) -> pa.Table:
        zips = pa.array([f"é{n * 7}" if n % 11 else None for n in rows.column("n").to_pylist()])
        return rows.set_column(rows.column_names.index("zip"), "zip", zips)

    options = evolve_options(columns=("zip", "n", "c", "at"), cross_columns="off", max_predicates=3)
    table = with_zips(pa.Table.from_pylist(random_rows(random.Random(1), range(ROWS)), SCHEMA))
    first = engines[0]
    state = init_evolve(first, first.table_of(given(first, table), "t"), ("k", "n"), folder, options, "index", {})
    for number, changes in enumerate(batches(2)):
        engine = engines[(number + 1) % len(engines)]
        state = replace(state, engine=engine)
        outcome = state.apply_frame(given(engine, with_zips(changes)), stream="s", number=number, limit=None)
        assert "kept indexes named" in outcome.change.strategy
    return state.newest()


def entries_of_indexes(state: EvolvedTable) -> dict[str, list[str]]:
    """All entries of the tables of indexes, as text, in order."""
    tables = {name: table for name, table in state.manifest.body.tables.items() if name != ROWS_TABLE}
    lines = {
        name: [line for part in table.segments for line in OpenSegment(state.store, part).table.to_pylist()]
        for name, table in tables.items()
    }
    return {name: sorted(str(sorted(line.items())) for line in own) for name, own in lines.items()}


def test_indexes_of_rules_are_the_same_whichever_engine_made_them(spark: SparkSession, tmp_path: Path) -> None:
    here, there = LocalEngine(), SparkEngine(spark)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    expected = evolved_by([here], tmp_path / "here")
    assert len(entries_of_indexes(expected)) > 1
    for name, engines in (("there", [there]), ("both", [there, here])):
        state = evolved_by(engines, tmp_path / name)
        assert {*map(bytes, state.kept.masks)} == {*map(bytes, expected.kept.masks)}
        assert entries_of_indexes(state) == entries_of_indexes(expected)


def test_states_are_the_same_whichever_engine_made_them(spark: SparkSession, tmp_path: Path) -> None:
    here, there = LocalEngine(), SparkEngine(spark)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        ways: dict[str, list[StateEngine]] = {
            "here": [here],
            "there": [there],
            "in turn": [here, there],
            "the other way": [there, here],
        }
        states = {name: watched_by(engines, tmp_path / name) for name, engines in ways.items()}
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    first = states["here"]
    assert any(first.manifest.totals.values())
    for state in states.values():
        assert state.manifest.totals == first.manifest.totals
        assert state.manifest.rows == first.manifest.rows
        assert state.manifest.schema == first.manifest.schema
        assert list(state.manifest.body.tables) == list(first.manifest.body.tables)
        assert entries(state) == entries(first)


@pytest.mark.parametrize(("split", "nulls"), [("columns", "sql"), ("rows", "sql"), ("both", "equal")])
def test_fragments_are_the_same_whichever_engine_made_them(
    split: str, nulls: Nulls, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A search for plans that a busy machine cuts off finds others.
    monkeypatch.setattr(first_load, "plan_shipments", partial(plan_shipments, improving=600, searching=600))
    here, there = LocalEngine(), SparkEngine(spark)
    first = fragmented_by([here], tmp_path / "here", split, nulls)
    assert all(first.manifest.totals.values())
    # How a session writes decimals, and in which zone times, is no matter.
    settings = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Kolkata"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        other = fragmented_by([there, here], tmp_path / "there", split, nulls)
    finally:
        for name in settings:
            spark.conf.unset(name)
    assert other.fixed == first.fixed
    assert (other.manifest.totals, other.manifest.rows) == (first.manifest.totals, first.manifest.rows)
    assert other.manifest.schema == first.manifest.schema
    assert list(other.manifest.body.tables) == list(first.manifest.body.tables)
    assert entries(other) == entries(first)
    assert sorted(map(str, other.violations)) == sorted(map(str, first.violations))
