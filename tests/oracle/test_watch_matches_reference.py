"""holdfast watch on Spark says of random histories what reference.py says: step by step, at once, over partitions."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StringType, StructField, StructType

from holdfast import reference
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.watching.watch import init_watch
from oracle.test_check_matches_reference import frame_of, slowly
from strategies import DOMAINS, RandomRules, RandomTable, rule_sets, tables

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
    fields = [StructField(name, DataType.fromDDL(kind)) for name, kind in table.ddl_fields]
    lines = [(*row.values(), kind) for kind, row in events]
    return spark.createDataFrame(lines, StructType([*fields, StructField("_change_type", StringType())]))


def rows_after(rows: Sequence[Mapping[str, Any]], events: Sequence[Event]) -> list[Mapping[str, Any]]:
    for kind, row in events:
        if kind == "update_preimage":
            continue
        gone = [] if kind in (None, "insert") else [row["id"]]
        rows = reference.changed(rows, gone, [] if kind == "delete" else [row], ("id",))
    return list(rows)


def assert_watched(spark: SparkSession, history: History, batches: Sequence[Sequence[Event]]) -> None:
    rules, where = history.random.rules, history.random.conditions
    rows: list[Mapping[str, Any]] = list(history.table.rows)
    before = reference.violations(rows, rules, where=where)
    with tempfile.TemporaryDirectory() as folder:
        state = init_watch(Table(frame_of(spark, history.table), "random"), rules, ("id",), f"{folder}/state", {})
        assert state.manifest.totals == totals_of(rules, before)
        for number, events in enumerate(batches):
            frame = changes_frame(spark, history.table, events)
            outcome = state.newest().apply_frame(frame, stream="test", number=number, limit=None)
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


def totals_of(rules: Any, found: Mapping[str, Any]) -> dict[str, int]:
    over_pairs = {rule.name: any(c.two_rows for c in rule.body.denials) for rule in rules}
    return {n: sum((right is not None) or not over_pairs[n] for _, right in some) for n, some in found.items()}


@settings(slowly, max_examples=3)
@given(history=histories())
def test_changes_one_batch_after_the_other(spark: SparkSession, history: History) -> None:
    assert_watched(spark, history, history.batches)


@settings(slowly, max_examples=1)
@given(history=histories())
def test_changes_one_by_one(spark: SparkSession, history: History) -> None:
    assert_watched(spark, history, one_by_one(history))


@settings(slowly, max_examples=2)
@given(history=histories())
def test_changes_as_one_batch_over_several_partitions(spark: SparkSession, history: History) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        assert_watched(spark, history, [[event for batch in history.batches for event in batch]])
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")


@pytest.mark.soak
@settings(slowly, max_examples=60)
@given(history=histories())
def test_long_histories(spark: SparkSession, history: History) -> None:
    assert_watched(spark, history, one_by_one(history))


def one_by_one(history: History) -> list[list[Event]]:
    return [[event] for batch in history.batches for event in batch if event[0] != "update_preimage"]
