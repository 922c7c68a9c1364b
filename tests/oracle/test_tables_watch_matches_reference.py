"""holdfast watch of two tables says of random histories what reference.py says of the tables before and after."""

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
from holdfast.engines.states.watched_table import totals_of
from holdfast.engines.states.watched_tables import init_watch_tables, opened_watch
from holdfast.rules.dependency import Inclusion, of_its_table
from holdfast.rules.rule import RuleSet
from oracle.test_check_matches_reference import slowly
from random_frames import fields_of
from several_tables import NAMES, Case, cases
from strategies import ARROW, DOMAINS, RandomTable

# What is written there is on no disk, and need not be waited for.
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
KEYS = dict.fromkeys(NAMES, ("id",))
Event = tuple[str, str, Mapping[str, Any]]
"""A table, what happens there, and a row of it."""
Rows = Mapping[str, Sequence[Mapping[str, Any]]]
Violations = Mapping[str, frozenset[tuple[Any, Any]]]


@dataclass(frozen=True)
class History:
    case: Case
    batches: tuple[tuple[Event, ...], ...]


@st.composite
def histories(draw: st.DrawFn) -> History:
    case = draw(cases())
    rows = {name: {row["id"]: row for row in table.rows} for name, table in case.tables.items()}
    # Values of either table, so that references are found and lost.
    domains = {
        name: {c: [*DOMAINS[kind][:2], None, *_values(case, c, kind)] for c, kind in table.types.items() if c != "id"}
        for name, table in case.tables.items()
    }
    batches = []
    for _ in range(draw(st.integers(1, 4))):
        events: list[Event] = []
        for _ in range(draw(st.integers(1, 5))):
            name = draw(st.sampled_from(NAMES))
            table, there = case.tables[name], rows[name]
            kind = draw(st.sampled_from(["insert", "update", "update", "delete"] if there else ["insert"]))
            key = draw(st.sampled_from(sorted(there))) if kind != "insert" else max([*there, 99]) + 1
            if kind == "delete":
                events.append((name, "delete", {**dict.fromkeys(table.types), "id": key}))
                del there[key]
                continue
            values = {"id": key, **{c: draw(st.sampled_from(some)) for c, some in domains[name].items()}}
            if kind == "update" and draw(st.booleans()):
                events.append((name, "update_preimage", there[key]))
            there[key] = values
            events.append((name, "insert" if kind == "insert" else "update_postimage", values))
        batches.append(tuple(events))
    return History(case, tuple(batches))


def _values(case: Case, column: str, kind: str) -> list[Any]:
    """What the columns of the name and type have, each once."""
    alike = [table for table in case.tables.values() if table.types.get(column) == kind]
    return [*{repr(row[column]): row[column] for table in alike for row in table.rows}.values()]


def frame_of(engine: StateEngine, table: RandomTable, lines: Sequence[tuple[Any, ...]], *, changes: bool) -> Any:
    if isinstance(engine, SparkEngine):
        fields = fields_of(table)
        return spark_frame(engine.spark, [*fields, *([StructField("_change_type", StringType())] * changes)], lines)
    columns = [*table.types] + ["_change_type"] * changes
    kinds = [*(ARROW[kind] for kind in table.types.values()), pa.string()]
    return pa.table({n: pa.array([line[i] for line in lines], kinds[i]) for i, n in enumerate(columns)})


def spark_frame(spark: SparkSession, fields: list[StructField], lines: Sequence[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(list(lines), StructType(fields))


def after(rows: Rows, events: Sequence[Event]) -> Rows:
    changed = {name: list(own) for name, own in rows.items()}
    for name, kind, row in events:
        if kind != "update_preimage":
            gone = [] if kind == "insert" else [row["id"]]
            changed[name] = reference.changed(changed[name], gone, [] if kind == "delete" else [row], ("id",))
    return changed


def violations(rows: Rows, rules: RuleSet, conditions: Mapping[str, reference.Condition]) -> Violations:
    """By rule, the pairs, and (row, None) for rows that break a rule alone or refer to what is not there."""
    found = {}
    for rule, result in zip(rules, reference.check_tables(rows, rules, keys=KEYS, where=conditions), strict=True):
        alone: set[tuple[Any, Any]] = set()
        if isinstance(rule.body, Inclusion):
            alone = {(row, None) for row in result.conflicts}
        elif len(rule.tables) == 1:
            (table,) = rule.tables
            own = RuleSet((replace(rule, table=None, body=of_its_table(rule.body)),), ("id",), rules.nulls)
            found_there = reference.violations(rows[table], own, where=conditions)[rule.name]
            alone = {((table, key), None) for key, right in found_there if right is None}
        found[rule.name] = frozenset((*(result.pairs or ()), *alone))
    return found


def totals(rules: RuleSet, found: Violations) -> dict[str, int]:
    over_pairs = {r.name: r.kind != "ind" and any(c.two_rows for c in r.body.denials) for r in rules}
    return {n: sum((right is not None) or not over_pairs[n] for _, right in some) for n, some in found.items()}


def assert_watched(engines: Sequence[StateEngine], history: History, batches: Sequence[Sequence[Event]]) -> None:
    """The state is made on the first of the engines, and each batch is applied on the next of them."""
    case, rules = history.case, history.case.rules
    rows: Rows = {name: table.rows for name, table in case.tables.items()}
    before = violations(rows, rules, case.conditions)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        first = engines[0]
        tables = {
            name: first.table_of(frame_of(first, own, [tuple(row.values()) for row in own.rows], changes=False), name)
            for name, own in case.tables.items()
        }
        init_watch_tables(first, tables, rules, KEYS, f"{folder}/state", {name: {} for name in NAMES})
        for number, events in enumerate(batches):
            state = opened_watch(engines[(number + 1) % len(engines)], f"{folder}/state")
            assert state.manifest.totals == totals(rules, before)
            frames = {
                name: frame_of(
                    state.engine,
                    case.tables[name],
                    [(*row.values(), kind) for table, kind, row in events if table == name],
                    changes=True,
                )
                for name in dict.fromkeys(table for table, _, _ in events)
            }
            outcome = state.apply_frames(frames, stream="test", number=number, limit=None)  # type: ignore[attr-defined]
            again = state.apply_frames(frames, stream="test", number=number, limit=None)  # type: ignore[attr-defined]
            assert (outcome.applied, again.applied, again.added_count) == (True, False, 0)
            rows = after(rows, events)
            now = violations(rows, rules, case.conditions)
            for told, wanted, unwanted in ((outcome.added, now, before), (outcome.removed, before, now)):
                listed = [(violation.rule, (violation.left, violation.right)) for violation in told]
                assert len(listed) == len(set(listed))
                assert set(listed) == {(n, v) for n, found in wanted.items() for v in found - unwanted[n]}, history
            assert outcome.totals == totals(rules, now)
            assert (outcome.added_count, outcome.removed_count) == (len(outcome.added), len(outcome.removed))
            assert outcome.rows == sum(map(len, rows.values()))
            before = now
        state = opened_watch(first, f"{folder}/state")
        with state.check(limit=None) as result:
            assert totals_of(result) == totals(rules, before) == state.manifest.totals
            assert state.with_worst_rows(result, seconds=0).totals == totals(rules, before)


@settings(slowly, max_examples=150)
@given(history=histories())
def test_changes_one_batch_after_the_other_in_this_process(history: History) -> None:
    assert_watched([LocalEngine()], history, history.batches)


@settings(slowly, max_examples=50)
@given(history=histories())
def test_changes_one_by_one_in_this_process(history: History) -> None:
    assert_watched([LocalEngine()], history, one_by_one(history))


@settings(slowly, max_examples=75)
@given(history=histories())
def test_changes_as_one_batch_in_this_process(history: History) -> None:
    assert_watched([LocalEngine()], history, [[event for events in history.batches for event in events]])


@settings(slowly, max_examples=2)
@given(history=histories())
def test_changes_here_and_on_spark_in_turn(spark: SparkSession, history: History) -> None:
    assert_watched([LocalEngine(), SparkEngine(spark)], history, history.batches)


@pytest.mark.soak
@settings(slowly, max_examples=15)
@given(history=histories())
def test_long_histories_on_spark(spark: SparkSession, history: History) -> None:
    assert_watched([SparkEngine(spark)], history, history.batches)


def one_by_one(history: History) -> list[list[Event]]:
    """A batch per change; the images before and after an update are one."""
    batches: list[list[Event]] = []
    for event in (event for events in history.batches for event in events):
        if batches and batches[-1][-1][1] == "update_preimage":
            batches[-1].append(event)
        else:
            batches.append([event])
    return batches
