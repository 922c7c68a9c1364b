"""holdfast fragments on Spark says of random tables, sites, rules and histories what reference.py says."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from holdfast import reference
from holdfast.engines.spark.fragments.fragments_init import init_fragments
from holdfast.engines.spark.sources.table import Table
from holdfast.fragments.sites import Site, SplitTable
from holdfast.rules.dependency import CFD, FD
from holdfast.rules.rule import Rule, RuleSet
from oracle.test_check_matches_reference import frame_of, slowly
from oracle.test_watch_matches_reference import Event, changes_frame, rows_after
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


def fragment(spark: SparkSession, history: History, site: Site) -> Table:
    own = ("id", *(site.columns or ()))
    kept = [r for r in history.table.rows if site.where is None or PARITY.format(r["id"] % 2) == site.where]
    rows = tuple({name: row[name] for name in own} for row in kept)
    return Table(frame_of(spark, RandomTable({n: history.table.types[n] for n in own}, rows)), site.name)


def in_violation(rules: RuleSet, rows: Sequence[Mapping[str, Any]]) -> set[tuple[str, int]]:
    where = {rule.name: lambda row: row["id"] % 3 != 1 for rule in rules if rule.where is not None}
    found = reference.violations(rows, rules, where=where)
    return {(name, key) for name, some in found.items() for pair in some for key in pair if key is not None}


def assert_kept(spark: SparkSession, history: History, batches: Sequence[Sequence[Event]]) -> None:
    rows: list[Mapping[str, Any]] = list(history.table.rows)
    rules = history.sites.rules
    with tempfile.TemporaryDirectory() as folder:
        fragments = [fragment(spark, history, site) for site in history.sites.sites]
        state, _ = init_fragments(spark, history.sites, Path(folder, "state"), tables=fragments)
        before = in_violation(rules, rows)
        assert sum(state.manifest.totals.values()) == len(before)
        for number, events in enumerate(batches):
            rows = rows_after(rows, events)
            after = in_violation(rules, rows)
            frame = changes_frame(spark, history.table, events)
            outcome = state.newest().apply_frame(frame, batch=str(number), limit=None)
            added, removed = ({(v.rule, v.left) for v in some} for some in (outcome.added, outcome.removed))
            assert (added, removed) == (after - before, before - after)
            assert outcome.changes.rows == len(rows)
            before = after
        assert {(row["rule"], row["key"]) for row in state.newest().violations.collect()} == before


@settings(slowly, max_examples=3)
@given(history=histories())
def test_changes_one_batch_after_the_other(spark: SparkSession, history: History) -> None:
    assert_kept(spark, history, history.batches)


@settings(slowly, max_examples=1)
@given(history=histories())
def test_changes_as_one_batch_over_several_partitions(spark: SparkSession, history: History) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        assert_kept(spark, history, [[event for batch in history.batches for event in batch]])
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")


@pytest.mark.soak
@settings(slowly, max_examples=60)
@given(history=histories())
def test_long_histories(spark: SparkSession, history: History) -> None:
    assert_kept(spark, history, [[event] for batch in history.batches for event in batch])
