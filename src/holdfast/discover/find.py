"""The most general constraints of a table that is at hand: codes, evidence, hitting sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from holdfast.discover.clock import Clock
from holdfast.discover.coded_rows import CodedRows, coded_rows
from holdfast.discover.hybrid import complete_by_sample
from holdfast.discover.invert import most_general
from holdfast.discover.options import DiscoverOptions
from holdfast.discover.space import PredicateSpace, Words
from holdfast.encode.column_type import ColumnType
from holdfast.kernels.evidence import all_pairs
from holdfast.kernels.support import least_support
from holdfast.states.evidence import Evidence, Ints

# Up to so many distinct rows, on one core, all pairs cost less than a sample that has to be completed.
ALL_PAIRS_ROWS = 40_000


@dataclass(frozen=True)
class Found:
    """What a search found: per constraint the mask of what it allows, one of each mirror pair, and how it went.

    `evidence` is of all pairs of rows when `exact`, else of those looked at, with estimated counts. `complete` is false
    when the search ended early; `why` then says why. Every constraint is valid on the whole table in any case.
    `support` has, per constraint, how many ordered pairs put its least tested predicate to the test: they meet all the
    others.
    """

    space: PredicateSpace
    masks: Words
    support: Ints
    evidence: Evidence
    rows: int
    distinct_rows: int
    strategy: str
    exact: bool
    complete: bool
    why: str | None = None
    phases: Mapping[str, float] = field(default_factory=dict)


def find(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, *, threads: int = 1) -> Found:
    """The most general valid, non-trivial constraints over the table's columns."""
    clock = Clock(options.time_limit)
    with clock.phase("encode"):
        rows = coded_rows(table, types, options)
    return find_in(rows, options, clock, threads=threads)


def find_in(
    rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int, strategy: str | None = None
) -> Found:
    """As `find`, on rows that are coded."""
    if (strategy or chosen_strategy(rows, options, cores=threads)) == "hybrid":
        return _hybrid(rows, options, clock, threads)
    with clock.phase("evidence"):
        evidence = rows.evidence(all_pairs(rows.codes, rows.weights, rows.layout, threads=threads))
    return found_from(rows, evidence, options, clock, threads=threads)


def chosen_strategy(rows: CodedRows, options: DiscoverOptions, *, cores: int) -> str:
    """All pairs where they are few enough for the cores; the option decides when it does not leave it open."""
    if options.strategy != "auto":
        return options.strategy
    return "all-pairs" if rows.codes.shape[1] <= ALL_PAIRS_ROWS * max(cores, 1) ** 0.5 else "hybrid"


def found_from(rows: CodedRows, evidence: Evidence, options: DiscoverOptions, clock: Clock, *, threads: int) -> Found:
    """What the evidence of all pairs of the rows says."""
    found = most_general(rows.space, evidence, options, clock, threads=threads)
    return _weighed(
        rows, found.masks, evidence, clock, threads,
        strategy="all-pairs", exact=True, complete=found.complete, why=found.why,
    )  # fmt: skip


def _hybrid(rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int) -> Found:
    found = complete_by_sample(rows, options, clock, threads=threads)
    return _weighed(
        rows, found.masks, found.evidence, clock, threads,
        strategy="hybrid", exact=False, complete=found.complete, why=found.why,
    )  # fmt: skip


def _weighed(
    rows: CodedRows, masks: Words, evidence: Evidence, clock: Clock, threads: int,
    *, strategy: str, exact: bool, complete: bool, why: str | None,
) -> Found:  # fmt: skip
    with clock.phase("weigh"):
        support = least_support(masks, rows.space.pair_of_bit, evidence.words, evidence.counts, threads=threads)
    size = len(rows.weights)
    return Found(
        rows.space, masks, support, evidence, rows.rows, size, strategy, exact, complete, why, dict(clock.phases)
    )
