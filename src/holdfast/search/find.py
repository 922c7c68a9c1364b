"""The most general constraints of a table that is at hand: codes, evidence, hitting sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from holdfast.encode.column_type import ColumnType
from holdfast.kernels.evidence import CountingEnded, CountingLimits
from holdfast.kernels.partitions import broken_dependency, broken_key, refined, whole
from holdfast.kernels.support import least_support
from holdfast.rules.plain_words import number
from holdfast.search.accident import with_accidents
from holdfast.search.best import AllPairs, KnownPairs, best_masks
from holdfast.search.by_rows import column_codes, row_dependencies
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, EncodingEnded, coded_rows, space_over
from holdfast.search.device import count_pairs, uses_gpu
from holdfast.search.evidence import Evidence, Ints
from holdfast.search.hybrid import Completed, DrawnPairs, complete_by_sample, complete_if_small
from holdfast.search.invert import most_general
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import ByRows, How, SearchResult
from holdfast.search.row_orders import RowOrder, row_orders
from holdfast.search.sampled import sampled_evidence
from holdfast.search.space import PredicateSpace, Words, as_words

# Up to so many distinct rows, on one core, all pairs cost less than a sample that has to be completed.
ALL_PAIRS_ROWS = 40_000
# With more rows than this, a search for the best draws pairs first: where more than this share of them are of different
# kinds, those of all pairs are too many.
_PROBED_ROWS, _MANY_KINDS = 2_000, 0.3
# So many comparisons of pairs are made between two looks at the clock.
_AT_ONCE = 1 << 27
# The share of the time left in which all rules are looked for where they seem to be few.
_SMALL_SHARE = 0.2
# The share of the time left that a search gets before what it found is weighed.
SEARCH_SHARE = 0.9


def find(
    table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, *, threads: int = 1,
    space: PredicateSpace | None = None,
) -> SearchResult:  # fmt: skip
    """The most general valid, non-trivial constraints over the table's columns, or over the given predicate space."""
    clock = Clock(options.time_limit)
    try:
        with clock.phase("encode"):
            rows = coded_rows(table, types, options, space, over=clock.is_over)
    except EncodingEnded:
        return uncoded(table.num_rows, types, options, clock)
    return find_in_coded(rows, options, clock, threads=threads)


def find_in_coded(
    rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int, strategy: str | None = None
) -> SearchResult:
    """As `find`, on rows that are coded."""
    orders = what_rows_keep(rows, options, clock)
    # The rest is for what is said of the rules that are found.
    result = find_in(rows, options, clock.part(SEARCH_SHARE), threads=threads, strategy=strategy)
    return replace(with_accidents(rows, result, options, clock), row_orders=orders)


def uncoded(rows: int, types: Mapping[str, ColumnType], options: DiscoverOptions, clock: Clock) -> SearchResult:
    """What is known of so many rows when time is up before they are coded: no rules, and that they are not all."""
    space, none = space_over((), types, options), np.zeros(0, np.int64)
    masks = np.zeros((0, space.words), np.uint64)
    how = How("all-pairs", exact=False, complete=False, why="the time limit was reached while the table was encoded")
    return SearchResult(
        **vars(how), space=space, masks=masks, support=none, evidence=Evidence(masks, none), rows=rows,
        distinct_rows=rows, violating=none, phases=dict(clock.phases), error=options.error,
    )  # fmt: skip


def what_rows_keep(rows: CodedRows, options: DiscoverOptions, clock: Clock) -> tuple[RowOrder, ...]:
    """What each row keeps, that rules over two rows may follow from."""
    with clock.phase("encode"):
        return row_orders(rows, nulls_equal=options.nulls == "equal", over=clock.is_over)


def find_in(
    rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int, strategy: str | None = None
) -> SearchResult:
    """The most general valid constraints over coded rows, not yet with how likely they are accidents."""
    if clock.over:
        why = "the time limit was reached before any rule was looked for"
        return _nothing(rows, options, clock, threads, why, strategy or chosen_strategy(rows, options, cores=threads))
    if options.error_rows is not None:
        return _by_rows(rows, options, clock)
    if (strategy or chosen_strategy(rows, options, cores=threads)) == "hybrid":
        if options.best_only:
            if options.limits.small_work:
                everything = complete_if_small(rows, options, clock.part(_SMALL_SHARE), threads=threads)
                if everything is not None:
                    return _completed(rows, everything, options, clock, threads)
            return _best_of_drawn(rows, options, clock, threads)
        if not options.error:
            everything = complete_by_sample(rows, options, clock, threads=threads)
            return _completed(rows, everything, options, clock, threads)
        # What some pairs may break cannot be settled by pairs that break it: there the sample itself is counted.
        if rows.rows * (rows.rows - 1) > 2 * options.limits.sampled_pairs:
            return _sampled(rows, options, clock, threads)
    if options.best_only and len(rows.weights) > _PROBED_ROWS:
        drawn = DrawnPairs(rows, options, clock, threads)
        if len(drawn.evidence) > _MANY_KINDS * 2 * options.limits.drawn_pairs:
            return _best(rows, drawn, options, clock, threads, How("hybrid", exact=False))
    try:
        with clock.phase("evidence"):
            most_kinds = options.limits.evidence_words // rows.space.words if options.best_only else None
            counting = CountingLimits(at_once=_AT_ONCE, most_kinds=most_kinds, over=clock.is_over)
            on = count_pairs(rows, options.device, threads=threads, limits=options.limits, counting=counting)
            evidence = rows.evidence(on.counted)
    except CountingEnded as ended:
        if ended.out_of_time:
            why = "the time limit was reached while pairs of rows were compared"
            return _nothing(rows, options, clock, threads, why, "all-pairs")
        return _best_of_drawn(rows, options, clock, threads)
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
    if options.best_only:
        how = How("all-pairs", exact=True, device=device)
        return _best(rows, AllPairs(evidence), options, clock, threads, how)
    result = most_general(rows.space, evidence, options, clock, threads=threads)
    how = How("all-pairs", exact=True, complete=result.complete, why=result.why, device=device)
    return _weighed(rows, result.masks, result.violating, evidence, options, clock, threads, how)


def _best_of_drawn(rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int) -> SearchResult:
    known = DrawnPairs(rows, options, clock, threads)
    return _best(rows, known, options, clock, threads, How("hybrid", exact=False))


def _best(
    rows: CodedRows, known: KnownPairs, options: DiscoverOptions, clock: Clock, threads: int, how: How
) -> SearchResult:
    with clock.phase("best"):
        size = (rows.rows, len(rows.weights))
        best = best_masks(rows.space, known, size, rows.ranges, how, options, clock, threads=threads)
    why = [best.why] if best.why else []
    if rows.left_out:
        compared = sum(not pair.same_column for pair in rows.space.pairs) // (4 if options.one_row else 2)
        why.append(
            f"of {compared + rows.left_out:,} pairs of columns that share values the {compared:,} most alike were "
            "compared with each other (--columns and --cross-columns say which)"
        )
    how = replace(how, complete=not why, why="; ".join(why) or None, least_score=best.least_score)
    none = np.zeros(len(best.masks), np.int64)
    result = _weighed(rows, best.masks, none, best.evidence, options, clock, threads, how, support=best.support)
    return replace(result, shares=best.shares)


def _nothing(
    rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int, why: str, strategy: str
) -> SearchResult:
    """What is known when time is up before all pairs were looked at."""
    none, masks = np.zeros(0, np.int64), np.zeros((0, rows.space.words), np.uint64)
    how = How(strategy, exact=False, complete=False, why=why)
    return _weighed(rows, masks, none, Evidence(masks, none), options, clock, threads, how)


def _completed(
    rows: CodedRows, result: Completed, options: DiscoverOptions, clock: Clock, threads: int
) -> SearchResult:
    how = How("hybrid", exact=False, complete=result.complete, why=result.why)
    none = np.zeros(len(result.masks), np.int64)
    weighed_result = _weighed(rows, result.masks, none, result.evidence, options, clock, threads, how)
    return replace(weighed_result, settled=result.settled)


def _sampled(rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int) -> SearchResult:
    with clock.phase("sample"):
        evidence, drawn = sampled_evidence(rows, seed=options.seed, threads=threads, limits=options.limits, clock=clock)
    result = most_general(rows.space, evidence, options, clock, threads=threads)
    why = f"evidence was sampled: {drawn:,} of {rows.rows * (rows.rows - 1) // 2:,} pairs of rows"
    if drawn < options.limits.sampled_pairs:
        why = f"{why}, as many as there was time for"
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
        why=None if minimal.complete else reached_within(minimal.within),
        phases=dict(clock.phases),
        error=options.error_rows,
        by_rows=ByRows(
            suspects,
            np.where([rule.right is None or bool(rule.left) for rule in dependencies], 1 - suspects / most, 1.0),
            np.array([broken_key(partition, rows.weights).pairs / pairs for partition in alone]),
            np.array([broken.pairs / pairs for broken in apart]),
        ),
    )


def reached_within(predicates: int) -> str:
    """Why a search is not complete that looks at short rules first, and has all of up to so many predicates."""
    said = "the time limit was reached"
    return f"{said}; all rules of up to {number(predicates, 'predicate')} are there" if predicates else said


def _weighed(
    rows: CodedRows, masks: Words, violating: Ints, evidence: Evidence, options: DiscoverOptions, clock: Clock,
    threads: int, how: How, *, support: Ints | None = None,
) -> SearchResult:  # fmt: skip
    size = (rows.rows, len(rows.weights))
    result = weighed(
        rows.space, size, masks, violating, evidence, options, clock, threads=threads, how=how, support=support
    )
    return replace(result, ranges=rows.ranges)


def weighed(
    space: PredicateSpace, size: tuple[int, int], masks: Words, violating: Ints, evidence: Evidence,
    options: DiscoverOptions, clock: Clock, *, threads: int, how: How, support: Ints | None = None,
) -> SearchResult:  # fmt: skip
    """The constraints with what speaks for them; `size` is how many rows there are, and how many different ones.

    Where it is not known how many pairs test them, that is counted, of short ones first; those that there is no time
    for are left out.
    """
    with clock.phase("weigh"):
        if support is None:
            support = np.empty(len(masks), np.int64)
            short_first = np.argsort(-np.bitwise_count(masks).sum(axis=1, dtype=np.int64), kind="stable")
            support[short_first] = least_support(
                masks[short_first], space.pair_of_bit, evidence.words, evidence.counts, threads=threads,
                over=clock.whole.is_over,
            )  # fmt: skip
        counted = support >= 0
        if not counted.all():
            left_out = (
                f"the time limit was reached before {number(int((~counted).sum()), 'long rule')} could be weighed"
            )
            how = replace(how, complete=False, why=f"{how.why}; {left_out}" if how.why else left_out)
            masks, violating, support = masks[counted], violating[counted], support[counted]
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
