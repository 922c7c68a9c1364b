"""A hybrid search tries what a sample suggests on few rows first, and finds what all pairs say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from holdfast.encode.column_type import column_type
from holdfast.rules.relation import EQ
from holdfast.search import walk
from holdfast.search.find import find
from holdfast.search.invert import allowed_relations
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked

TYPES = {name: column_type("bigint") for name in ("zip", "city", "salary", "tax")}
# So that candidates are put to the table, and not decided by the pairs that agree on some columns.
CHEAP_WALKS = SearchLimits(sampled_rows=20, walk_pairs_per_row=0)


@pytest.mark.parametrize("few", [5, 20, 1_000])
def test_rules_are_the_same_whether_candidates_meet_few_rows_first(few: int) -> None:
    random = np.random.default_rng(5)
    zips, salary = random.integers(0, 12, 120), random.integers(0, 40, 120)
    table = pa.table({"zip": zips, "city": zips // 2, "salary": salary, "tax": salary // 3})
    wanted = find(table, TYPES, DiscoverOptions(cross_columns=None, strategy="all-pairs"))
    limits = replace(CHEAP_WALKS, first_rows=few, more_rows=2)
    found = find(table, TYPES, DiscoverOptions(cross_columns=None, strategy="hybrid", limits=limits))
    assert found.complete
    assert {str(one.constraint) for one in ranked(found)} == {str(one.constraint) for one in ranked(wanted)}


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_what_pairs_show_that_meet_in_a_settled_way_is_counted_as_of_all_pairs(missing: float) -> None:
    random = np.random.default_rng(6)
    zips, salary = random.integers(0, 12, 90), random.integers(0, 20, 90)
    lines = {"zip": zips, "city": zips // 2, "salary": salary, "tax": salary // 3}
    table = pa.table({name: pa.array(line, mask=random.random(90) < missing) for name, line in lines.items()})
    table = pa.concat_tables([table, table.slice(0, 10)])
    options = DiscoverOptions(cross_columns=None, strategy="hybrid", limits=SearchLimits(sampled_rows=20))
    found = find(table, TYPES, options)
    every = find(table, TYPES, replace(options, strategy="all-pairs")).evidence
    wanted = {words.tobytes(): count for words, count in zip(every.words, every.counts.tolist(), strict=True)}
    shown = allowed_relations(found.space, found.evidence.words)
    assert found.settled
    counted = np.zeros(len(shown), np.bool_)
    for equal, differ in found.settled:
        meet = (shown[:, list(equal)] == EQ).all(axis=1)
        counted |= meet if differ is None else meet & (shown[:, differ] & EQ == 0)
    assert counted.any()
    for words, count in zip(found.evidence.words[counted], found.evidence.counts[counted].tolist(), strict=True):
        assert wanted[words.tobytes()] == count


@pytest.mark.parametrize("values", [3, 1 << 30])
@pytest.mark.parametrize("drawn", [False, True])
def test_rows_are_sorted_by_their_lines_also_where_no_number_holds_them(values: int, drawn: bool) -> None:
    random = np.random.default_rng(2)
    codes = random.integers(-1, values, (5, 60)).astype(np.int32)
    codes[:, 20:] = codes[:, random.integers(0, 20, 40)]  # rows that are alike
    among = np.flatnonzero(random.random(60) < 0.8) if drawn else None
    lines = [3, 1, 4, 0]
    found, ids = walk._sorted(codes, lines, among)
    np.testing.assert_array_equal(found, codes[lines][:, ids])
    kept = [tuple(row) for row in found.T.tolist()]
    assert kept == sorted(kept)
    counts = Counter(tuple(row) for row in codes[lines][:, slice(None) if among is None else among].T.tolist())
    assert Counter(kept) == {row: min(count, 2) for row, count in counts.items()}


def test_rows_that_few_lines_tell_apart_are_sorted_by_these() -> None:
    random = np.random.default_rng(3)
    codes = np.stack([random.permutation(50) + (1 << 30) for _ in range(4)]).astype(np.int32)
    found, ids = walk._sorted(codes, [0, 1, 2, 3], None)
    np.testing.assert_array_equal(ids, np.argsort(codes[0]))
    np.testing.assert_array_equal(found, codes[:, ids])
