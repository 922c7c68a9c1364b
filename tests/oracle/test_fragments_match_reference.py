"""holdfast fragments says of random tables, sites, rules and histories what reference.py says."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from holdfast import reference
from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states.init_fragments import init_fragments
from holdfast.engines.states.state_engine import StateEngine
from holdfast.fragments.sites import Site, SplitTable
from holdfast.rules.dependency import CFD, FD
from holdfast.rules.rule import Rule, RuleSet
from oracle.test_check_matches_reference import slowly
from oracle.test_watch_matches_reference import IN_MEMORY, Event, changes_on, rows_after, table_on
from strategies import DOMAINS, RandomTable, dependencies, tables

PARITY, SCOPE = "id % 2 = {}", "id % 3 <> 1"


@dataclass(frozen=True)
class History:
    """A table, its fragments (with several groups, rows are split by the parity of `id`), and batches of changes."""

    table: RandomTable
    sites: SplitTable
    batches: tuple[tuple[Event, ...], ...]


@st.composite
def histories(draw: st.DrawFn) -> History:
    table = draw(tables(max_rows=7).filter(lambda t: len(t.types) > 2))
    names = [name for name in table.types if name != "id"]
    types = {name: kind for name, kind in table.types.items() if name != "id"}
    sites: list[Site] = []
    groups = draw(st.sampled_from([1, 2]))
    for group in range(groups):
        count = draw(st.integers(1, 2))
        held: list[set[str]] = [set() for _ in range(count)]
        for name in names:
            for site in draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=2)):
                held[site].add(name)
        where = None if groups == 1 else PARITY.format(group)
        sites += [Site(f"S{group}{i}", tuple(n for n in names if n in own), where) for i, own in enumerate(held)]
    bodies = draw(st.lists(dependencies(types).filter(lambda b: isinstance(b, FD | CFD)), min_size=4, max_size=4))
    scopes = [draw(st.sampled_from([None, None, SCOPE])) for _ in bodies]
    made = tuple(Rule(f"r{i}", b, where=w) for i, (b, w) in enumerate(zip(bodies, scopes, strict=True)))
    rules = RuleSet(made, ("id",), draw(st.sampled_from(["sql", "equal"])))
    rows, after, batches = {row["id"]: row for row in table.rows}, len(table.rows), []

    def values(key: int) -> dict[str, Any]:
        some = {name: st.sampled_from([*DOMAINS[kind][:3], None]) for name, kind in types.items()}
        return {"id": key, **{name: draw(value) for name, value in some.items()}}

    for _ in range(2):
        events: list[Event] = []
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from(["insert", "delete", "update_postimage"])) if rows else "insert"
            key = after if kind == "insert" else draw(st.sampled_from(sorted(rows)))
            after += kind == "insert"
            row = {**dict.fromkeys(table.types), "id": key} if kind == "delete" else values(key)
            events.append((kind, row))
            rows = {k: r for k, r in rows.items() if k != key} | ({} if kind == "delete" else {key: row})
        batches.append(tuple(events))
    return History(table, SplitTable(("id",), tuple(sites), rules), tuple(batches))


def fragment(engine: StateEngine, history: History, site: Site) -> Any:
    own = ("id", *(site.columns or ()))
    kept = [r for r in history.table.rows if site.where is None or PARITY.format(r["id"] % 2) == site.where]
    rows = tuple({name: row[name] for name in own} for row in kept)
    return table_on(engine, RandomTable({n: history.table.types[n] for n in own}, rows))


def in_violation(rules: RuleSet, rows: Sequence[Mapping[str, Any]]) -> set[tuple[str, int]]:
    where = {rule.name: lambda row: row["id"] % 3 != 1 for rule in rules if rule.where is not None}
    found = reference.violations(rows, rules, where=where)
    return {(name, key) for name, some in found.items() for pair in some for key in pair if key is not None}


def assert_kept(engines: Sequence[StateEngine], history: History, batches: Sequence[Sequence[Event]]) -> None:
    """The state is made on the first of the engines, and each batch is applied on the next of them."""
    rows: list[Mapping[str, Any]] = list(history.table.rows)
    rules = history.sites.rules
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        fragments = [fragment(engines[0], history, site) for site in history.sites.sites]
        state, _ = init_fragments(engines[0], history.sites, Path(folder, "state"), tables=fragments)
        before = in_violation(rules, rows)
        assert sum(state.manifest.totals.values()) == len(before)
        for number, events in enumerate(batches):
            rows = rows_after(rows, events)
            after = in_violation(rules, rows)
            engine = engines[(number + 1) % len(engines)]
            state = replace(state, engine=engine)
            outcome = state.apply_frame(changes_on(engine, history.table, events), batch=str(number), limit=None)
            added, removed = ({(v.rule, v.left) for v in some} for some in (outcome.added, outcome.removed))
            assert (added, removed) == (after - before, before - after)
            assert outcome.changes.rows == len(rows)
            before = after
        assert {(row["rule"], row["key"]) for row in state.newest().violations} == before


def one_by_one(history: History) -> list[list[Event]]:
    return [[event] for batch in history.batches for event in batch]


def at_once(history: History) -> list[list[Event]]:
    return [[event for batch in history.batches for event in batch]]


many = settings(slowly, max_examples=100, phases=[phase for phase in Phase if phase is not Phase.explain])


@many
@given(history=histories())
def test_changes_one_batch_after_the_other(history: History) -> None:
    assert_kept([LocalEngine()], history, history.batches)


@many
@given(history=histories())
def test_changes_one_by_one(history: History) -> None:
    assert_kept([LocalEngine()], history, one_by_one(history))


@many
@given(history=histories())
def test_changes_as_one_batch(history: History) -> None:
    assert_kept([LocalEngine()], history, at_once(history))


@settings(slowly, max_examples=2)
@given(history=histories())
def test_changes_on_spark_and_in_this_process_in_turn(spark: SparkSession, history: History) -> None:
    assert_kept([SparkEngine(spark), LocalEngine()], history, history.batches)


@settings(slowly, max_examples=1)
@given(history=histories())
def test_changes_as_one_batch_over_several_partitions(spark: SparkSession, history: History) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        assert_kept([SparkEngine(spark)], history, at_once(history))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")


@pytest.mark.soak
@settings(slowly, max_examples=5000)
@given(history=histories())
def test_long_histories(history: History) -> None:
    assert_kept([LocalEngine()], history, one_by_one(history))


@pytest.mark.soak
@settings(slowly, max_examples=60)
@given(history=histories())
def test_long_histories_on_spark(spark: SparkSession, history: History) -> None:
    assert_kept([SparkEngine(spark), LocalEngine()], history, one_by_one(history))
