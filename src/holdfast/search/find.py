"""The most general constraints of a table that is at hand: codes, evidence, hitting sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from holdfast.encode.column_type import ColumnType
from holdfast.kernels.partitions import broken_dependency, broken_key, refined, whole
from holdfast.kernels.support import least_support
from holdfast.search.by_rows import column_codes, row_dependencies
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, coded_rows
from holdfast.search.device import count_pairs, uses_gpu
from holdfast.search.evidence import Evidence, Floats, Ints
from holdfast.search.hybrid import complete_by_sample
from holdfast.search.invert import most_general
from holdfast.search.options import DiscoverOptions
from holdfast.search.sampled import sampled_evidence
from holdfast.search.space import PredicateSpace, Words, as_words

_WHY_ROWS = "the time limit was reached; all rules of up to {} predicates are there"
# Up to so many distinct rows, on one core, all pairs cost less than a sample that has to be completed.
ALL_PAIRS_ROWS = 40_000


@dataclass(frozen=True)
class ByRows:
    """What is known of keys and dependencies by rows: per constraint how many are suspect, and `kept`, from 0 to 1, how
    much fewer these are than if its left side told nothing; per column the share of pairs that agree, and that differ.
    """

    suspects: Ints
    kept: Floats
    agree: Floats
    differ: Floats


@dataclass(frozen=True)
class How:
    """How a search went."""

    strategy: str
    exact: bool
    complete: bool = True
    why: str | None = None
    sampled: int | None = None
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class SearchResult(How):
    """What a search found: per constraint the mask of what it allows, one of each mirror pair, and how it went.

    `evidence` is of all pairs of rows when `exact`, else of those looked at, with estimated counts. `complete` is false
    when the search ended early; `why` then says why. Every constraint is valid on the whole table in any case.
    `support` has, per constraint, how many ordered pairs put its least tested predicate to the test: they meet all the
    others. `violating` has how many violate it, of those that `evidence` counts; `error` is the share that may. Where
    `sampled`, that is of so many pairs of rows drawn at random, and only then may a constraint be violated by more.
    """

    space: PredicateSpace
    masks: Words
    support: Ints
    evidence: Evidence
    rows: int
    distinct_rows: int
    violating: Ints
    phases: Mapping[str, float] = field(default_factory=dict)
    error: Decimal = Decimal(0)
    by_rows: ByRows | None = None


def find(
    table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, *, threads: int = 1,
    space: PredicateSpace | None = None,
) -> SearchResult:  # fmt: skip
    """The most general valid, non-trivial constraints over the table's columns, or over the given predicate space."""
    clock = Clock(options.time_limit)
    with clock.phase("encode"):
        rows = coded_rows(table, types, options, space)
    return find_in(rows, options, clock, threads=threads)


def find_in(
    rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int, strategy: str | None = None
) -> SearchResult:
    """As `find`, on rows that are coded."""
    if options.error_rows is not None:
        return _by_rows(rows, options, clock)
    if (strategy or chosen_strategy(rows, options, cores=threads)) == "hybrid":
        if not options.error:
            return _hybrid(rows, options, clock, threads)
        # What some pairs may break cannot be settled by pairs that break it: there the sample itself is counted.
        if rows.rows * (rows.rows - 1) > 2 * options.limits.sampled_pairs:
            return _sampled(rows, options, clock, threads)
    with clock.phase("evidence"):
        on = count_pairs(rows, options.device, threads=threads, limits=options.limits)
        evidence = rows.evidence(on.counted)
    return search_evidence(rows, evidence, options, clock, threads=threads, device=on.device)


def chosen_strategy(rows: CodedRows, options: DiscoverOptions, *, cores: int) -> str:
    """All pairs where they are few enough for the cores; the option decides when it does not leave it open. No pairs
    where rows are counted."""
    if options.error_rows is not None:
        return "by-rows"
    if options.strategy != "auto":
        return options.strategy
    distinct = rows.codes.shape[1]
    if distinct <= ALL_PAIRS_ROWS * max(cores, 1) ** 0.5 or options.device == "gpu":
        return "all-pairs"
    on_gpu = distinct <= options.limits.most_gpu_rows and uses_gpu(distinct, options.device, limits=options.limits)
    return "all-pairs" if on_gpu else "hybrid"


def search_evidence(
    rows: CodedRows, evidence: Evidence, options: DiscoverOptions, clock: Clock, *, threads: int, device: str = "cpu"
) -> SearchResult:
    """What the evidence of all pairs of the rows says; `device` is what counted it."""
    result = most_general(rows.space, evidence, options, clock, threads=threads)
    how = How("all-pairs", exact=True, complete=result.complete, why=result.why, device=device)
    return _weighed(rows, result.masks, result.violating, evidence, options, clock, threads, how)


def _hybrid(rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int) -> SearchResult:
    result = complete_by_sample(rows, options, clock, threads=threads)
    how = How("hybrid", exact=False, complete=result.complete, why=result.why)
    none = np.zeros(len(result.masks), np.int64)
    return _weighed(rows, result.masks, none, result.evidence, options, clock, threads, how)


def _sampled(rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int) -> SearchResult:
    with clock.phase("sample"):
        evidence, drawn = sampled_evidence(rows, seed=options.seed, threads=threads, limits=options.limits)
    result = most_general(rows.space, evidence, options, clock, threads=threads)
    why = f"evidence was sampled: {drawn:,} of {rows.rows * (rows.rows - 1) // 2:,} pairs of rows"
    how = How("sample", exact=False, complete=False, why=f"{why}; {result.why}" if result.why else why, sampled=drawn)
    return _weighed(rows, result.masks, result.violating, evidence, options, clock, threads, how)


def _by_rows(rows: CodedRows, options: DiscoverOptions, clock: Clock) -> SearchResult:
    assert options.error_rows is not None, "the share is given"
    columns = column_codes(rows, options)
    with clock.phase("partitions"):
        minimal = row_dependencies(columns, rows.weights, options, clock)
    dependencies = minimal.dependencies
    # Only whether values are equal matters here, so no column has an order.
    same = [pair for pair in rows.space.pairs if pair.same_column]
    space = PredicateSpace(tuple(replace(pair, ordered=False) for pair in same))
    everything = (1 << space.bits) - 1
    masks = [
        everything - sum(0b10 << 2 * i for i in rule.left) - (0 if rule.right is None else 0b01 << 2 * rule.right)
        for rule in dependencies
    ]
    n = rows.rows
    pairs = max(n * (n - 1) // 2, 1)
    alone = [refined(whole(rows.weights), codes, rows.weights) for codes in columns]
    apart = [broken_dependency(whole(rows.weights), codes, rows.weights) for codes in columns]
    # Without a left side all rows but those with the most frequent value would have to go.
    most = np.array(
        [max(n if rule.right is None else apart[rule.right].suspects, 1) for rule in dependencies], np.float64
    )
    suspects = np.array([rule.broken.suspects for rule in dependencies], np.int64)
    return SearchResult(
        space=space,
        masks=as_words(masks, space.words),
        support=2 * np.array([rule.broken.tested for rule in dependencies], np.int64),
        evidence=Evidence(np.zeros((0, space.words), np.uint64), np.zeros(0, np.int64)),
        rows=n,
        distinct_rows=len(rows.weights),
        strategy="by-rows",
        exact=True,
        complete=minimal.complete,
        violating=2 * np.array([rule.broken.pairs for rule in dependencies], np.int64),
        why=None if minimal.complete else _WHY_ROWS.format(minimal.within),
        phases=dict(clock.phases),
        error=options.error_rows,
        by_rows=ByRows(
            suspects,
            np.where([rule.right is None or bool(rule.left) for rule in dependencies], 1 - suspects / most, 1.0),
            np.array([broken_key(partition, rows.weights).pairs / pairs for partition in alone]),
            np.array([broken.pairs / pairs for broken in apart]),
        ),
    )


def _weighed(
    rows: CodedRows, masks: Words, violating: Ints, evidence: Evidence, options: DiscoverOptions, clock: Clock,
    threads: int, how: How,
) -> SearchResult:  # fmt: skip
    size = (rows.rows, len(rows.weights))
    return weighed(rows.space, size, masks, violating, evidence, options, clock, threads=threads, how=how)


def weighed(
    space: PredicateSpace, size: tuple[int, int], masks: Words, violating: Ints, evidence: Evidence,
    options: DiscoverOptions, clock: Clock, *, threads: int, how: How,
) -> SearchResult:  # fmt: skip
    """The constraints with what speaks for them; `size` is how many rows there are, and how many different ones."""
    with clock.phase("weigh"):
        support = least_support(masks, space.pair_of_bit, evidence.words, evidence.counts, threads=threads)
    return SearchResult(
        **vars(how),
        space=space,
        masks=masks,
        support=support + violating,
        evidence=evidence,
        rows=size[0],
        distinct_rows=size[1],
        violating=violating,
        phases=dict(clock.phases),
        error=options.error,
    )
