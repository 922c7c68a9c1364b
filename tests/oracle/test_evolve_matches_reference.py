"""holdfast evolve has, after random changes, the rules that reference.py finds: step by step and at once."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from holdfast import reference
from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states import evolved_table
from holdfast.engines.states.evolved_table import EvolvedTable, init_evolve
from holdfast.engines.states.state_engine import StateEngine
from holdfast.evolving.options import EvolveStrategy, evolve_options
from holdfast.rules.parse import parse_constraint
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import as_masks
from holdfast.states.limits import StateLimits
from oracle.test_check_matches_reference import slowly
from oracle.test_keeper_matches_reference import as_set, one_way
from oracle.test_watch_matches_reference import IN_MEMORY, Event, changes_on, rows_after, table_on
from strategies import DISCOVERED, Discovery, RandomTable, discoveries


@dataclass(frozen=True)
class Evolution:
    """A table with a key, options, and changes to it."""

    case: Discovery
    table: RandomTable
    batches: tuple[tuple[Event, ...], ...]
    error: str

    @property
    def options(self) -> dict[str, Any]:
        return {**self.case.options, "error": Decimal(self.error)}


@st.composite
def evolutions(draw: st.DrawFn) -> Evolution:
    case = draw(discoveries(most_bits=10, max_rows=5))
    types = {"id": "bigint", **case.table.types}
    rows = {i: {"id": i, **row} for i, row in enumerate(case.table.rows)}
    table, after, batches = RandomTable(types, tuple(rows.values())), len(rows), []

    def values(key: int) -> dict[str, Any]:
        some = {n: st.sampled_from([*DISCOVERED[kind][:3], None]) for n, kind in case.table.types.items()}
        return {"id": key, **{name: draw(value) for name, value in some.items()}}

    for _ in range(2):
        events: list[Event] = []
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from(["insert", "insert", "delete", "update"])) if rows else "insert"
            key = after if kind == "insert" else draw(st.sampled_from(sorted(rows)))
            after += kind == "insert"
            if kind == "delete":
                events.append(("delete", {**dict.fromkeys(types), "id": key}))
                del rows[key]
            else:
                rows[key] = values(key)
                events.append(("insert" if kind == "insert" else "update_postimage", rows[key]))
        batches.append(tuple(events))
    return Evolution(case, table, tuple(batches), draw(st.sampled_from(["0", "0", "0.1"])))


def assert_evolved(
    engines: Sequence[StateEngine],
    one: Evolution,
    batches: Sequence[Sequence[Event]],
    strategy: EvolveStrategy,
    *,
    rows_per_task: int = 20_000,
) -> None:
    """The state is made on the first of the engines, and each batch is applied on the next of them."""
    given_options = {name: value for name, value in one.options.items() if name != "cross_columns"}
    cross = one.options["cross_columns"]
    options = evolve_options(**given_options, cross_columns="off" if cross is None else cross, exclude=("id",))
    chosen = {n: v for n, v in one.case.options.items() if n not in ("nulls", "max_predicates")}
    space = reference.operand_pairs(one.case.table.rows, one.case.kinds, **chosen)
    if not one.case.table.types:
        return

    def now(rows: Sequence[Mapping[str, Any]]) -> set[tuple[tuple[str, ...], ...]]:
        wanted = {n: one.options[n] for n in ("nulls", "max_predicates", "error")}
        return {one_way(c) for c in reference.discover(rows, one.case.kinds, space=space, **wanted)}

    def kept(state: EvolvedTable) -> set[tuple[tuple[str, ...], ...]]:
        return {one_way(state.kept.space.constraint(mask)) for mask in as_masks(state.kept.masks)}

    rows: list[Mapping[str, Any]] = list(one.table.rows)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        table = table_on(engines[0], one.table)
        state = init_evolve(engines[0], table, ("id",), f"{folder}/state", options, strategy, {})
        state = state.with_limits(StateLimits(rows_per_task=rows_per_task))
        before = now(rows)
        assert kept(state) == before
        for number, events in enumerate(batches):
            engine = engines[(number + 1) % len(engines)]
            state = replace(state, engine=engine)
            frame = changes_on(engine, one.table, events)
            outcome: Any = state.apply_frame(frame, stream="test", number=number, limit=None)
            rows = rows_after(rows, events)
            after = now(rows)
            assert kept(state.newest()) == after
            assert as_set(outcome.change.added_rules) == after - before
            assert as_set(outcome.change.removed_rules) == before - after
            assert outcome.change.total == len(after) == state.newest().manifest.totals["rules"]
            assert outcome.rows == len(rows) == state.newest().kept.rows
            there = {row["id"]: row for row in rows}
            for removed in outcome.change.removed:
                if removed.witness is not None:
                    t, s = there[removed.witness.left], there[removed.witness.right]
                    assert reference.violates(parse_constraint(removed.rule), t, s, one.options["nulls"])
                elif len(rows) > 1 and not options.error:
                    assert removed.implied_by is not None
            before = after


@settings(slowly, max_examples=3)
@given(one=evolutions())
def test_rules_one_batch_after_the_other(spark: SparkSession, one: Evolution) -> None:
    assert_evolved([SparkEngine(spark)], one, one.batches, "auto")


@settings(slowly, max_examples=3)
@given(one=evolutions())
def test_rules_as_one_batch_over_several_partitions(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, one: Evolution
) -> None:
    monkeypatch.setattr(evolved_table, "places_for", lambda rows: 4)
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    try:
        everything = [event for batch in one.batches for event in batch]
        assert_evolved([SparkEngine(spark)], one, [everything], "evidence", rows_per_task=1)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")


@pytest.mark.parametrize("strategy", ["auto", "index", "rediscover"])
@settings(slowly, max_examples=50)
@given(one=evolutions())
def test_rules_in_this_process(strategy: EvolveStrategy, one: Evolution) -> None:
    assume(strategy != "index" or one.error == "0")
    assert_evolved([LocalEngine()], one, one.batches, strategy)


@settings(slowly, max_examples=2)
@given(one=evolutions())
def test_rules_here_and_on_spark_in_turn(spark: SparkSession, one: Evolution) -> None:
    assert_evolved([LocalEngine(), SparkEngine(spark)], one, one.batches, "auto")


@pytest.mark.parametrize("strategy", ["index", "rediscover"])
@settings(slowly, max_examples=2)
@given(one=evolutions().filter(lambda one: one.error == "0"))
def test_rules_by_other_strategies(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, strategy: EvolveStrategy, one: Evolution
) -> None:
    def related_one_by_one(kept: Mapping[str, Any]) -> DiscoverOptions:
        return replace(options_of(kept), limits=SearchLimits(most_named=1e9))

    options_of = evolved_table._options_of
    monkeypatch.setattr(evolved_table, "_options_of", related_one_by_one)
    assert_evolved([SparkEngine(spark)], one, one.batches, strategy)


@pytest.mark.soak
@pytest.mark.parametrize("strategy", ["evidence", "index", "rediscover"])
@settings(slowly, max_examples=40)
@given(one=evolutions().filter(lambda one: one.error == "0"))
def test_long_evolutions(spark: SparkSession, strategy: EvolveStrategy, one: Evolution) -> None:
    assert_evolved([SparkEngine(spark)], one, [[event] for batch in one.batches for event in batch], strategy)
