"""The best rules that are found without all rules are the first of all rules, with the same scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from holdfast.encode.column_type import ColumnType, column_type
from holdfast.kernels.support import least_support
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import coded_rows
from holdfast.search.find import find
from holdfast.search.hybrid import complete_if_small
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult
from strategies import ARROW, Discovery, discoveries

# No search for all rules on the way, which in a small table would find them; and none that is not believed.
BY_SCORE = SearchLimits(believed=1e-9, small_work=0, little_work=0)
slowly = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
tops = st.integers(1, 40)


def rows_of(case: Discovery) -> tuple[pa.Table, dict[str, ColumnType]]:
    columns = {n: pa.array([row[n] for row in case.table.rows], ARROW[kind]) for n, kind in case.table.types.items()}
    return pa.table(columns), {name: column_type(kind) for name, kind in case.table.types.items()}


def listed(result: SearchResult, first: int | None = None) -> list[tuple[str, str, float, int]]:
    rules = ranked(result)[:first]
    return [(rule.rule.kind, str(rule.constraint), rule.score, rule.support) for rule in rules]


@settings(slowly, max_examples=200)
@given(case=discoveries(most_bits=30, max_rows=14), top=tops, threads=st.sampled_from([1, 2]))
def test_the_best_are_the_first_of_all(case: Discovery, top: int, threads: int) -> None:
    table, types = rows_of(case)
    everything = find(table, types, DiscoverOptions(**case.options), threads=threads)
    best = find(table, types, DiscoverOptions(**case.options, top=top, limits=BY_SCORE), threads=threads)
    wanted = [rule for rule in listed(everything, top) if rule[2] > BY_SCORE.believed]
    assert listed(best, top)[: len(wanted)] == wanted, case
    assert best.complete or len(wanted) < top, case
    assert not best.complete or listed(best, top) == listed(everything, top), case
    # What is found beside them are rules, too.
    assert {mask.tobytes() for mask in best.masks} <= {mask.tobytes() for mask in everything.masks}


def many_columns(seed: int, rows: int, *, missing: float) -> pa.Table:
    """Columns that determine each other, orders, near-copies and noise, nulls, and rows that repeat."""
    random = np.random.default_rng(seed)
    place = random.integers(0, rows // 4, rows)
    start = random.integers(0, 40, rows)
    columns: dict[str, Any] = {
        "place": place,
        "region": place % 5,
        "start": start,
        "end": start + random.integers(0, 6, rows),
        "price": start // 8 + place % 5,
        "noise": random.integers(0, 7, rows),
        "code": np.array([f"c{v}" for v in place]),
    }
    table = pa.table({name: pa.array(values, mask=random.random(rows) < missing) for name, values in columns.items()})
    return pa.concat_tables([table, table.slice(0, rows // 10)])


# What a seed makes is one table; the slow tests try another.
in_tables = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
TYPES = {name: column_type("bigint") for name in ("place", "region", "start", "end", "price", "noise")}
TYPES["code"] = column_type("string")


@in_tables
@pytest.mark.parametrize(("nulls", "missing"), [("sql", 0.0), ("sql", 0.1), ("equal", 0.1)])
@pytest.mark.parametrize("one_row", [False, True])
def test_the_best_are_the_first_of_many(nulls: Any, missing: float, one_row: bool, seed: int) -> None:
    table = many_columns(seed, 40, missing=missing)
    options: dict[str, Any] = {"nulls": nulls, "one_row": one_row, "max_predicates": 3}
    everything = find(table, TYPES, DiscoverOptions(**options))
    first = listed(everything, 60)
    limits = SearchLimits(small_work=0, little_work=0)
    for top in (1, 10, 60):
        best = find(table, TYPES, DiscoverOptions(**options, top=top, limits=limits))
        wanted = [rule for rule in first[:top] if rule[2] >= limits.believed]
        assert listed(best, top)[: len(wanted)] == wanted
        assert best.complete == (len(wanted) == top)
        assert len(best.masks) < len(everything.masks)


@in_tables
@pytest.mark.parametrize("cross", [None, 0.3])
def test_of_drawn_pairs_the_best_hold_and_are_most_general(cross: float | None, seed: int) -> None:
    # So few pairs that most candidates are wrong at first.
    limits = SearchLimits(
        drawn_pairs=60, pairs_of_best=4, first_rows=4, more_rows=2, small_work=0, little_work=0, believed=0.05
    )
    table = many_columns(seed, 60, missing=0.05)
    everything = find(table, TYPES, DiscoverOptions(cross_columns=cross, max_predicates=3))
    options = DiscoverOptions(cross_columns=cross, max_predicates=3, top=12, limits=limits, strategy="hybrid")
    best = find(table, TYPES, options)
    assert best.complete
    assert not best.exact
    assert len(ranked(best)) >= 12
    assert {mask.tobytes() for mask in best.masks} <= {mask.tobytes() for mask in everything.masks}


@in_tables
def test_of_drawn_pairs_the_best_are_those_of_all_by_the_same_evidence(seed: int) -> None:
    # Scores are estimated, but by what is known in the end no other rule scores more.
    limits = SearchLimits(drawn_pairs=400, small_work=0, little_work=0, believed=0.05)
    table = many_columns(seed, 60, missing=0.05)
    everything = find(table, TYPES, DiscoverOptions(max_predicates=3))
    options = DiscoverOptions(max_predicates=3, top=12, limits=limits, strategy="hybrid")
    best = find(table, TYPES, options)
    known = best.evidence
    support = least_support(everything.masks, best.space.pair_of_bit, known.words, known.counts)
    by_sample = replace(everything, support=support, evidence=known, exact=False)
    assert listed(best, 12) == listed(by_sample, 12)


@in_tables
@pytest.mark.parametrize("cross", [None, 0.3])
def test_where_all_are_few_the_best_are_the_first_of_all_that_a_sample_leaves(cross: float | None, seed: int) -> None:
    limits = SearchLimits(sampled_rows=20, windowed_rows=30, small_pairs_per_row=1 << 20)
    table = many_columns(seed, 60, missing=0.05)
    options: dict[str, Any] = {"cross_columns": cross, "max_predicates": 3, "strategy": "hybrid", "limits": limits}
    everything = find(table, TYPES, DiscoverOptions(**options))
    best = find(table, TYPES, DiscoverOptions(**options, top=12))
    assert best.complete
    assert {mask.tobytes() for mask in best.masks} == {mask.tobytes() for mask in everything.masks}
    exactly = find(table, TYPES, DiscoverOptions(**{**options, "strategy": "all-pairs"}))
    assert {mask.tobytes() for mask in best.masks} == {mask.tobytes() for mask in exactly.masks}


@pytest.mark.parametrize("limits", [SearchLimits(small_kinds=0), SearchLimits(small_pairs_per_row=0)])
def test_where_all_are_not_few_the_best_are_looked_for(limits: SearchLimits) -> None:
    options = DiscoverOptions(strategy="hybrid", max_predicates=3, limits=limits)
    rows = coded_rows(many_columns(0, 60, missing=0.05), TYPES, options)
    assert complete_if_small(rows, options, Clock(None), threads=1) is None
    assert complete_if_small(rows, replace(options, limits=SearchLimits()), Clock(None), threads=1) is not None
