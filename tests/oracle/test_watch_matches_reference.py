"""holdfast watch says of random histories what reference.py says: step by step, at once, on Spark over partitions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from holdfast import reference
from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states.state_engine import StateEngine
from holdfast.engines.states.watched_table import init_watch
from holdfast.engines.states.watched_table import totals_of as checked_totals
from oracle.test_check_matches_reference import slowly
from random_frames import fields_of, frame_of
from strategies import ARROW, DOMAINS, RandomRules, RandomTable, rule_sets, tables

# What is written there is on no disk, and need not be waited for.
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
Event = tuple[str | None, Mapping[str, Any]]


@dataclass(frozen=True)
class History:
    table: RandomTable
    random: RandomRules
    batches: tuple[tuple[Event, ...], ...]


@st.composite
def histories(draw: st.DrawFn) -> History:
    table = draw(tables(max_rows=7))
    random = draw(rule_sets(table, size=8))
    rows, after, batches = {row["id"]: row for row in table.rows}, len(table.rows), []
    domains = {name: [*{repr(r[name]): r[name] for r in table.rows}.values()] or [None] for name in table.types}

    def values(key: int) -> dict[str, Any]:
        kinds = {name: kind for name, kind in table.types.items() if name != "id"}
        some = {name: st.sampled_from([*domains[name], *DOMAINS[kind][:2], None]) for name, kind in kinds.items()}
        return {"id": key, **{name: draw(value) for name, value in some.items()}}

    for _ in range(2):
        events: list[Event] = []
        for _ in range(draw(st.integers(1, 5))):
            kind = draw(st.sampled_from(["insert", "delete", "update"])) if rows else "insert"
            if kind == "insert":
                row = values(after)
                after += 1
                events.append((draw(st.sampled_from(["insert", None])), row))
                rows[row["id"]] = row
                continue
            key = draw(st.sampled_from(sorted(rows)))
            if kind == "delete":
                events.append(("delete", {**dict.fromkeys(table.types), "id": key}))
                del rows[key]
            else:
                if draw(st.booleans()):
                    events.append(("update_preimage", rows[key]))
                rows[key] = values(key)
                events.append(("update_postimage", rows[key]))
        batches.append(tuple(events))
    return History(table, random, tuple(batches))


def changes_frame(spark: SparkSession, table: RandomTable, events: Sequence[Event]) -> DataFrame:
    fields = fields_of(table)
    lines = [(*row.values(), kind) for kind, row in events]
    return spark.createDataFrame(lines, StructType([*fields, StructField("_change_type", StringType())]))


def table_on(engine: StateEngine, table: RandomTable) -> Any:
    if isinstance(engine, SparkEngine):
        return engine.table_of(frame_of(engine.spark, table), "random")
    return engine.table_of(arrow_table(table.types, table.rows), "random")


def changes_on(engine: StateEngine, table: RandomTable, events: Sequence[Event]) -> Any:
    if isinstance(engine, SparkEngine):
        return changes_frame(engine.spark, table, events)
    kinds = pa.array([kind for kind, _ in events], pa.string())
    return arrow_table(table.types, [row for _, row in events]).append_column("_change_type", kinds)


def arrow_table(types: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in types.items()})


def rows_after(rows: Sequence[Mapping[str, Any]], events: Sequence[Event]) -> list[Mapping[str, Any]]:
    for kind, row in events:
        if kind == "update_preimage":
            continue
        gone = [] if kind in (None, "insert") else [row["id"]]
        rows = reference.changed(rows, gone, [] if kind == "delete" else [row], ("id",))
    return list(rows)


def assert_watched(engines: Sequence[StateEngine], history: History, batches: Sequence[Sequence[Event]]) -> None:
    """The state is made on the first of the engines, and each batch is applied on the next of them."""
    rules, where = history.random.rules, history.random.conditions
    rows: list[Mapping[str, Any]] = list(history.table.rows)
    before = reference.violations(rows, rules, where=where)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        state = init_watch(engines[0], table_on(engines[0], history.table), rules, ("id",), f"{folder}/state", {})
        assert state.manifest.totals == totals_of(rules, before)
        for number, events in enumerate(batches):
            engine = engines[(number + 1) % len(engines)]
            state = replace(state, engine=engine)
            frame = changes_on(engine, history.table, events)
            outcome = state.apply_frame(frame, stream="test", number=number, limit=None)
            rows = rows_after(rows, events)
            after = reference.violations(rows, rules, where=where)
            for told, wanted, unwanted in ((outcome.added, after, before), (outcome.removed, before, after)):
                listed = [(violation.rule, (violation.left, violation.right)) for violation in told]
                assert len(listed) == len(set(listed))
                assert set(listed) == {(n, v) for n, found in wanted.items() for v in found - unwanted[n]}
            assert outcome.totals == totals_of(rules, after)
            assert (outcome.added_count, outcome.removed_count) == (len(outcome.added), len(outcome.removed))
            assert outcome.rows == len(rows)
            before = after
        with replace(state, engine=engines[0]).check(limit=0) as result:
            assert checked_totals(result) == totals_of(rules, before)


def totals_of(rules: Any, found: Mapping[str, Any]) -> dict[str, int]:
    over_pairs = {rule.name: any(c.two_rows for c in rule.body.denials) for rule in rules}
    return {n: sum((right is not None) or not over_pairs[n] for _, right in some) for n, some in found.items()}


@settings(slowly, max_examples=3)
@given(history=histories())
def test_changes_one_batch_after_the_other(spark: SparkSession, history: History) -> None:
    assert_watched([SparkEngine(spark)], history, history.batches)


@settings(slowly, max_examples=1)
@given(history=histories())
def test_changes_one_by_one(spark: SparkSession, history: History) -> None:
    assert_watched([SparkEngine(spark)], history, one_by_one(history))


@settings(slowly, max_examples=2)
@given(history=histories())
def test_changes_as_one_batch_over_several_partitions(spark: SparkSession, history: History) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        assert_watched([SparkEngine(spark)], history, [[event for batch in history.batches for event in batch]])
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")


@settings(slowly, max_examples=200)
@given(history=histories())
def test_changes_one_batch_after_the_other_in_this_process(history: History) -> None:
    assert_watched([LocalEngine()], history, history.batches)


@settings(slowly, max_examples=60)
@given(history=histories())
def test_changes_one_by_one_in_this_process(history: History) -> None:
    assert_watched([LocalEngine()], history, one_by_one(history))


@settings(slowly, max_examples=2)
@given(history=histories())
def test_changes_here_and_on_spark_in_turn(spark: SparkSession, history: History) -> None:
    assert_watched([LocalEngine(), SparkEngine(spark)], history, history.batches)
    assert_watched([SparkEngine(spark), LocalEngine()], history, history.batches)


@pytest.mark.soak
@settings(slowly, max_examples=60)
@given(history=histories())
def test_long_histories(spark: SparkSession, history: History) -> None:
    assert_watched([SparkEngine(spark)], history, one_by_one(history))


def one_by_one(history: History) -> list[list[Event]]:
    return [[event] for batch in history.batches for event in batch if event[0] != "update_preimage"]
