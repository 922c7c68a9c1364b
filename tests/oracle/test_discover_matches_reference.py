"""discover finds exactly the constraints that reference.py finds by trying them all, in every strategy."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.rules.constraint import DenialConstraint
from holdfast.search.find import find
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions, Strategy
from holdfast.search.space import as_masks
from random_frames import frame_of
from strategies import ARROW, Discovery, RandomTable, discoveries

STRATEGIES: tuple[Strategy, ...] = ("all-pairs", "hybrid")

in_every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
slowly = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


def assert_same(found: Iterable[DenialConstraint], wanted: Iterable[DenialConstraint], told: object) -> None:
    """One of each constraint and its mirror, and the same ones."""
    mine, theirs = (sorted(sorted((in_order(c), in_order(c.mirrored()))) for c in some) for some in (found, wanted))
    assert mine == theirs, told


def in_order(constraint: DenialConstraint) -> list[str]:
    """Its predicates in an order that does not depend on how they were found."""
    return sorted(map(str, constraint.predicates))


# Ordered columns within one row: too many bits for the reference to try often.
WITHIN = RandomTable(
    {"a": "bigint", "b": "double"},
    tuple({"a": a, "b": b} for a, b in ((1, 2.0), (2, 2.0), (0, 1.0), (None, 1.0), (1, 1.0))),
)
WITHIN_OPTIONS = {"cross_columns": 0.3, "one_row": True, "order_text": False, "max_predicates": 3}


# The hybrid may complete by walks for each candidate, or by meetings that decide many; each on its own here.
WAYS: list[tuple[Strategy, int]] = [("all-pairs", 0), ("hybrid", 0), ("hybrid", 10**9)]


def small_limits(walk_cost: int) -> SearchLimits:
    """Walks are said to cost so much, in a hybrid that knows next to nothing at first."""
    return SearchLimits(
        sampled_rows=2, windowed_rows=2, cheap_pairs_per_row=-1, pairs_per_candidate=2, walk_pairs_per_row=walk_cost,
        first_rows=1, more_rows=2, estimated_rules=2,
    )  # fmt: skip


@example(case=Discovery(WITHIN, {**WITHIN_OPTIONS, "nulls": "sql"}), threads=1)
@example(case=Discovery(WITHIN, {**WITHIN_OPTIONS, "nulls": "equal"}), threads=2)
@settings(slowly, max_examples=200)
@given(case=discoveries(), threads=st.sampled_from([1, 2]))
def test_find_matches_reference_in_every_way(case: Discovery, threads: int) -> None:
    table = case.table
    columns = {name: pa.array([row[name] for row in table.rows], ARROW[kind]) for name, kind in table.types.items()}
    types = {name: column_type(kind) for name, kind in table.types.items()}
    wanted = reference.discover(table.rows, case.kinds, **case.options)
    for strategy, walk_cost in WAYS:
        options = DiscoverOptions(**case.options, strategy=strategy, limits=small_limits(walk_cost))
        found = find(pa.table(columns), types, options, threads=threads)
        constraints = [found.space.constraint(mask) for mask in as_masks(found.masks)]
        assert_same(constraints, wanted, (strategy, walk_cost, case))
        assert found.complete
        assert found.rows == len(table.rows)
        if found.exact:
            assert found.evidence.pairs == len(table.rows) * (len(table.rows) - 1)


@in_every_strategy
@settings(slowly, max_examples=15)
@given(case=discoveries())
def test_discover_on_spark_matches_reference(spark: SparkSession, strategy: Strategy, case: Discovery) -> None:
    frame = frame_of(spark, case.table)
    found = hf.discover(frame, top="all", strategy=strategy, **case.options)
    wanted = reference.discover(case.table.rows, case.kinds, **case.options)
    assert_same([one.constraint for one in found.outcome.found], wanted, case)
    assert found.complete
    assert found.to_dict()["rows"] == len(case.table.rows)
