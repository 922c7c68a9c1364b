"""Whenever the clock is over, each step of a discovery ends: what it has then is true, and is said not to be all."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from holdfast import reference
from holdfast.checking.outcome import RuleOutcome
from holdfast.discovery.along_references import comparisons_along
from holdfast.discovery.column_rules import column_rules
from holdfast.discovery.conditional import conditional_patterns
from holdfast.discovery.inclusions import ColumnValues, inclusions
from holdfast.discovery.with_constants import ranked_with_constants
from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.encode.column_type import ColumnType
from holdfast.engines.arithmetic import arithmetic_rules
from holdfast.engines.counted_rules import verified, with_suspects
from holdfast.engines.local.discover import LocalDiscovery
from holdfast.kernels.support import least_support
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.rule import RuleSet
from holdfast.search.accident import with_accidents
from holdfast.search.by_rows import column_codes
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import coded_rows
from holdfast.search.find import find, find_in
from holdfast.search.hybrid import complete_if_small
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult
from holdfast.tables.local_table import LocalTable
from ticking_clock import clock_of_looks

# From no look at all to more than any of these searches takes.
LOOKS = (0, 1, 2, 4, 7, 11, 20, 50, 150, 4_000)

# Ways that small tables would not take.
ALL_DRAWN = SearchLimits(small_work=0, little_work=0, drawn_pairs=200, sampled_rows=10, windowed_rows=20, believed=0.01)
WAYS: dict[str, dict[str, Any]] = {
    "all pairs": {"cross_columns": None},
    "best": {"top": 4},
    "best, searched by levels": {"top": 4, "limits": SearchLimits(small_work=0, little_work=0, believed=0.01)},
    "best of drawn pairs": {"top": 4, "strategy": "hybrid", "limits": ALL_DRAWN},
    "hybrid": {"strategy": "hybrid", "limits": ALL_DRAWN, "cross_columns": None},
    "error": {"error": Decimal("0.02"), "cross_columns": None},
    "by rows": {"error_rows": Decimal("0.1")},
}


def small_table(rows: int = 24) -> pa.Table:
    random = np.random.default_rng(5)
    place = random.integers(0, 9, rows)
    level = random.integers(0, 6, rows)
    return pa.table(
        {
            "place": place,
            "region": place % 4,
            "level": level,
            "rate": level // 2 + place % 4,
            "other": random.integers(0, 5, rows),
        }
    )


TABLE = small_table()
TYPES: dict[str, ColumnType] = {name: arrow_column_type(TABLE.column(name).type) for name in TABLE.column_names}
ROWS = TABLE.to_pylist()


def constraints(result: SearchResult) -> Iterator[DenialConstraint]:
    return (entry.constraint for entry in ranked(result))


def broken_share(constraint: DenialConstraint) -> float:
    pairs = list(permutations(ROWS, 2))
    return sum(reference.violates(constraint, t, s, "sql") for t, s in pairs) / len(pairs)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_search_has_when_time_is_up_holds_and_is_not_all(way: str) -> None:
    options = DiscoverOptions(max_predicates=3, **WAYS[way])
    rows, complete = coded_rows(TABLE, TYPES, options), 0
    everything = set(map(str, constraints(find(TABLE, TYPES, options))))
    known: dict[str, float] = {}
    for looks in LOOKS:
        result = find_in(rows, options, clock_of_looks(looks).part(0.9), threads=1)
        shown = list(constraints(result))
        if options.error_rows is None:
            for constraint in shown:
                known.setdefault(str(constraint), broken_share(constraint))
                assert known[str(constraint)] <= options.error
        if result.complete:
            complete += 1
            assert set(map(str, shown)) == everything
        else:
            assert result.why
            assert looks < LOOKS[-1]
    assert 0 < complete < len(LOOKS)


def test_where_rules_are_few_all_of_them_are_there_or_none() -> None:
    limits = SearchLimits(sampled_rows=10, windowed_rows=20, small_pairs_per_row=1 << 20)
    options = DiscoverOptions(max_predicates=3, cross_columns=None, limits=limits)
    rows = coded_rows(TABLE, TYPES, options)
    everything = {mask.tobytes() for mask in find(TABLE, TYPES, options).masks}
    complete = 0
    for looks in LOOKS:
        some = complete_if_small(rows, options, clock_of_looks(looks), threads=1)
        assert some is None or {mask.tobytes() for mask in some.masks} == everything
        complete += some is not None
    assert 0 < complete < len(LOOKS)


def test_rules_by_rows_that_are_there_when_time_is_up_are_among_all() -> None:
    options = DiscoverOptions(error_rows=Decimal("0.1"))
    rows = coded_rows(TABLE, TYPES, options)
    everything = set(map(str, constraints(find(TABLE, TYPES, options))))
    sizes = []
    for looks in LOOKS:
        shown = set(map(str, constraints(find_in(rows, options, clock_of_looks(looks), threads=1))))
        assert shown <= everything
        sizes.append(len(shown))
    assert sizes == sorted(sizes)
    assert sizes[0] == 0 < sizes[-1] == len(everything)


def test_masks_that_there_is_no_time_for_are_not_weighed() -> None:
    result = find(TABLE, TYPES, DiscoverOptions(max_predicates=3))
    arguments = result.masks, result.space.pair_of_bit, result.evidence.words, result.evidence.counts
    every, looks = least_support(*arguments), iter([False, False])
    few = least_support(*arguments, over=lambda: next(looks, True))
    assert 0 < (few >= 0).sum() < len(every)
    assert (few[few >= 0] == every[few >= 0]).all()


def test_estimates_that_there_is_no_time_for_are_not_known_and_others_are_right() -> None:
    options = DiscoverOptions(max_predicates=3, cross_columns=None)
    rows, result = coded_rows(TABLE, TYPES, options), find(TABLE, TYPES, options)
    every = with_accidents(rows, result, options, Clock(None)).accidents
    assert every is not None
    counts = []
    for looks in LOOKS:
        cut = with_accidents(rows, result, options, clock_of_looks(looks))
        some = cut.accidents
        assert some is not None
        there = ~np.isnan(some)
        assert cut.complete == (there == ~np.isnan(every)).all()
        counts.append(int(there.sum()))
        assert (some[there] == every[there]).all()
    assert counts == sorted(counts)
    assert counts[0] == 0 < counts[-1]


def test_patterns_that_are_there_when_time_is_up_are_the_more_general_ones() -> None:
    options = DiscoverOptions(conditional=True, min_support=Decimal(3))
    rows = coded_rows(TABLE, TYPES, options)
    columns = column_codes(rows, options)
    sayable = [np.ones(int(codes.max()) + 1, np.bool_) for codes in columns]
    every = conditional_patterns(columns, sayable, rows.weights, options, Clock(None))
    assert every.complete
    for looks in LOOKS:
        some = conditional_patterns(columns, sayable, rows.weights, options, clock_of_looks(looks))
        assert some.patterns == every.patterns[: len(some.patterns)]
        assert some.complete == (len(some.patterns) == len(every.patterns)) or not some.complete


def test_inclusions_and_comparisons_end_when_time_is_up() -> None:
    def values(name: str, table: pa.Table) -> list[ColumnValues]:
        return [
            ColumnValues.of(name, column, arrow_column_type(table.column(column).type), table.column(column))
            for column in table.column_names
        ]

    ids = pa.table({"id": range(30), "since": range(100, 130)})
    of = pa.table({"ref": [i * 7 % 30 for i in range(90)], "at": [101 + i * 7 % 30 for i in range(90)]})
    tables = {"ids": values("ids", ids), "of": values("of", of)}
    every = inclusions(tables, clock=Clock(None))
    assert every.complete
    for looks in LOOKS:
        some = inclusions(tables, clock=clock_of_looks(looks))
        assert [str(one.body) for one in some.inclusions] == [
            str(one.body) for one in every.inclusions[: len(some.inclusions)]
        ]
        assert some.complete or looks < LOOKS[-1]
    (reference_,) = [one for one in every.inclusions if one.left[0].name == "ref" and one.right[0].name == "id"]
    assert len(comparisons_along(reference_, tables["of"], tables["ids"])) == 1
    assert comparisons_along(reference_, tables["of"], tables["ids"], lambda: True) == []


def test_relations_that_are_shown_when_time_is_up_hold_in_every_row() -> None:
    random = np.random.default_rng(3)
    a, b, c = random.integers(1, 99, (3, 60))
    table = pa.table({"a": a, "b": b, "c": c, "sum": a + b, "product": a * c, "twice": 2 * b})
    source, rows = LocalDiscovery(LocalTable(table, "t")), table.to_pylist()
    every = arithmetic_rules(source, source.types, DiscoverOptions(), 60, clock=Clock(None))
    assert (len(every.rules), every.cut) == (3, None)
    cuts = []
    for looks in LOOKS:
        some = arithmetic_rules(source, source.types, DiscoverOptions(), 60, clock=clock_of_looks(looks))
        for entry in some.rules:
            assert not any(reference.violates(entry.constraint, row, row, "sql") for row in rows)
        cuts.append(some.cut is not None)
        if not cuts[-1]:
            assert [str(entry.rule) for entry in some.rules] == [str(entry.rule) for entry in every.rules]
    assert cuts[0]
    assert not cuts[-1]


def test_columns_whose_values_there_is_no_time_for_are_counted() -> None:
    every = column_rules(TABLE, TYPES)
    for looks in LOOKS:
        some = column_rules(TABLE, TYPES, clock=clock_of_looks(looks))
        assert some.rules == every.rules[: len(some.rules)]
        assert (some.skipped > 0) == (looks <= len(TYPES))


def test_suspects_and_counts_that_there_is_no_time_for_are_told() -> None:
    options = DiscoverOptions(max_predicates=2, error=Decimal("0.05"), cross_columns=None)
    found, source = ranked(find(TABLE, TYPES, options)), LocalDiscovery(LocalTable(TABLE, "t"))
    asked: list[int] = []

    def counted(rules: RuleSet, *, limit: int) -> list[RuleOutcome]:
        asked.append(len(rules))
        return list(source.counted(rules, limit=limit))

    about: dict[str, Any] = {"rows": TABLE.num_rows, "nulls": "sql"}
    _, left = with_suspects(counted, found, top=None, clock=clock_of_looks(0), **about)
    assert asked == []
    assert left > 1
    some, less = with_suspects(counted, ranked(find(TABLE, TYPES, options)), top=None, clock=clock_of_looks(6), **about)
    assert 0 < sum(asked) == left - less < left
    assert len(some) == len(found)
    nothing = verified(source.counted, found, most=3, clock=clock_of_looks(0), **about)
    assert (nothing.rules, nothing.tried, nothing.cut) == ((), 0, True)
    whole = verified(source.counted, found, most=3, clock=Clock(None), **about)
    assert (len(whole.rules), whole.cut) == (3, False)


def test_rules_with_values_are_written_as_long_as_there_is_time() -> None:
    result = find(TABLE, TYPES, DiscoverOptions(max_predicates=2))
    assert len(ranked_with_constants(result, ())) == len(result.masks)
    assert len(ranked_with_constants(result, (), lambda: True)) == 0
