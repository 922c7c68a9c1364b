"""The counted relations are those of a double loop over the rows, however the pairs are blocked, packed and kept."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.kernels import evidence
from holdfast.kernels.evidence import (
    EQUALITY,
    EQUALITY_SKIP,
    LEFT_ROW,
    NULL,
    ORDER,
    ORDER_MEET,
    ORDER_SKIP,
    RIGHT_ROW,
    Counted,
    CountingLimits,
    Packing,
    all_pairs,
    listed_pairs,
    merged,
)

STATES = {EQUALITY: 2, EQUALITY_SKIP: 3, ORDER: 3, ORDER_SKIP: 4, ORDER_MEET: 4, LEFT_ROW: 4, RIGHT_ROW: 4}
NULLABLE = (EQUALITY_SKIP, ORDER_SKIP, ORDER_MEET)
Case = tuple[np.ndarray, np.ndarray, Packing]


def state(way: int, x: int, y: int) -> int:
    """As the ways are described: 0 equal, 1 not; 0 less, 1 equal, 2 greater; the last where one side is null."""
    if way in (LEFT_ROW, RIGHT_ROW):
        return x if way == LEFT_ROW else y
    if way in NULLABLE and NULL in (x, y):
        return 1 if way == ORDER_MEET and x == y else STATES[way] - 1
    if way in (EQUALITY, EQUALITY_SKIP):
        return int(x != y)
    return 0 if x < y else 1 if x == y else 2


def by_loops(columns: np.ndarray, weights: np.ndarray, packing: Packing) -> Counter[tuple[int, ...]]:
    sides = list(zip(packing.left, packing.right, packing.ways, strict=True))
    found: Counter[tuple[int, ...]] = Counter()
    rows, many = columns.T.tolist(), weights.tolist()
    for i, first in enumerate(rows):
        for j in range(i, len(rows)):
            times = many[i] * (many[i] - 1) // 2 if i == j else many[i] * many[j]
            found[tuple(state(way, first[a], rows[j][b]) for a, b, way in sides)] += times
    return +found


def as_counter(counted: Counted, packing: Packing) -> Counter[tuple[int, ...]]:
    states = [packing.states_of(counted.packed, pair).tolist() for pair in range(len(packing.ways))]
    lines = list(zip(*states, strict=True)) if states else [()] * len(counted.counts)
    assert len(set(lines)) == len(lines), "each of the packed relations is there once"
    return Counter(dict(zip(lines, counted.counts.tolist(), strict=True)))


def packing_of(pairs: list[tuple[int, int, int]]) -> Packing:
    left, right, ways = (tuple(one) for one in zip(*pairs, strict=True))
    return Packing(left, right, ways, tuple(STATES[way] for way in ways))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Lines 0 and 1 without nulls, 2 and 3 with, 4 with the states of a row alone."""
    rows = draw(st.integers(0, 12))

    def line(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=rows, max_size=rows))

    columns = np.array([line(0, 3), line(0, 1), line(-1, 3), line(-1, 0), line(0, 3)], np.int32).reshape(5, rows)
    plain = st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([EQUALITY, ORDER]))
    null = st.tuples(st.integers(2, 3), st.integers(2, 3), st.sampled_from(NULLABLE))
    alone = st.tuples(st.just(4), st.just(4), st.sampled_from([LEFT_ROW, RIGHT_ROW]))
    pairs = draw(st.lists(st.one_of(plain, null, alone), min_size=1, max_size=9))
    weights = draw(st.lists(st.sampled_from([1, 1, 2, 3]), min_size=rows, max_size=rows))
    if draw(st.booleans()):
        weights = [1] * rows
    return columns, np.array(weights, np.int64), packing_of(pairs)


def wide_case(pairs: int, rows: int, *, weighted: bool, seed: int = 1) -> Case:
    """Many operand pairs of every way, so that packed relations are keys of a hash table."""
    rng = np.random.default_rng(seed)
    columns = np.concatenate(
        [rng.integers(0, 3, (4, rows)), rng.integers(-1, 3, (4, rows)), rng.integers(0, 4, (1, rows))]
    )
    ways = [EQUALITY, ORDER, *NULLABLE, LEFT_ROW, RIGHT_ROW]
    packing = []
    for i in range(pairs):
        way = ways[i % len(ways)]
        low, high = (8, 9) if way in (LEFT_ROW, RIGHT_ROW) else (4, 8) if way in NULLABLE else (0, 4)
        packing.append((int(rng.integers(low, high)), int(rng.integers(low, high)), way))
    weights = rng.integers(1, 4, rows) if weighted else np.ones(rows)
    return columns.astype(np.int32), weights.astype(np.int64), packing_of(packing)


@given(cases(), st.sampled_from([1, 2]))
@example((np.zeros((1, 0), np.int32), np.zeros(0, np.int64), packing_of([(0, 0, ORDER)])), 1)
@example((np.zeros((1, 1), np.int32), np.array([5]), packing_of([(0, 0, ORDER)])), 1)
def test_every_way_counts_as_a_double_loop(case: Case, threads: int) -> None:
    columns, weights, packing = case
    found = as_counter(all_pairs(columns, weights, packing, threads=threads), packing)
    assert found == by_loops(columns, weights, packing)


@given(cases())
def test_listed_pairs_have_the_relations_of_the_loop(case: Case) -> None:
    columns, weights, packing = case
    left, right = np.triu_indices(columns.shape[1], 1)
    found = as_counter(listed_pairs(columns, left, right, packing), packing)
    assert found == by_loops(columns, np.ones(len(weights), np.int64), packing)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows that differ", "rows that repeat"])
@pytest.mark.parametrize("pairs", [2, 12, 30, 100])
def test_several_blocks_add_up(pairs: int, weighted: bool, threads: int) -> None:
    columns, weights, packing = wide_case(pairs, 45, weighted=weighted)
    # Two are in one group, 12 in two, 30 need a hash table, 100 more than one word of four groups.
    assert (packing.cells is None) == (pairs >= 30)
    assert (len(packing.sizes) > 4) == (pairs >= 100)
    found = all_pairs(columns, weights, packing, threads=threads, limits=CountingLimits(block=7))
    assert as_counter(found, packing) == by_loops(columns, weights, packing)


@pytest.mark.parametrize("pairs", [30, 100])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows that differ", "rows that repeat"])
def test_a_hash_table_that_fills_up_grows(monkeypatch: pytest.MonkeyPatch, pairs: int, weighted: bool) -> None:
    sizes: list[int] = []
    resize = evidence.PairCounter._resize

    def watched(counter: Any, size: int) -> None:
        sizes.append(size)
        resize(counter, size)

    monkeypatch.setattr(evidence.PairCounter, "_resize", watched)
    columns, weights, packing = wide_case(pairs, 60, weighted=weighted)
    wanted = by_loops(columns, weights, packing)
    found = all_pairs(columns, weights, packing, limits=CountingLimits(keys=16))
    assert as_counter(found, packing) == wanted
    assert len(sizes) >= 3
    assert len(wanted) > 16


def test_a_table_of_cells_of_several_groups_tells_all_relations_apart() -> None:
    packing = packing_of([(i, i, ORDER) for i in range(14)])
    columns = np.random.default_rng(3).integers(0, 4, (14, 50)).astype(np.int32)
    assert len(packing.sizes) == 2
    assert packing.cells == 3**14
    weights = np.ones(50, np.int64)
    assert as_counter(all_pairs(columns, weights, packing), packing) == by_loops(columns, weights, packing)


@pytest.mark.parametrize("way", [EQUALITY, ORDER, *NULLABLE])
def test_codes_beyond_16_bits_compare_as_they_are(way: int) -> None:
    # Codes that are equal, or lie the other way round, in their lower 16 bits; two blocks have narrow codes only.
    codes = np.array([5, 65_541, 32_767, 32_768, 98_304, 0, 65_536, 131_072, 40_000, 40_000] * 5, np.int32)
    columns = np.stack([codes, np.roll(codes, 3)])
    columns[:, 16:48] %= 1_000
    if way in NULLABLE:
        columns[:, ::6] = NULL
    packing = packing_of([(0, 0, way), (0, 1, way), (1, 0, way)])
    weights = np.ones(len(codes), np.int64)
    found = all_pairs(columns, weights, packing, limits=CountingLimits(block=16))
    assert as_counter(found, packing) == by_loops(columns, weights, packing)


def test_more_rows_than_16_bits_of_distinct_codes() -> None:
    rows = 40_000
    codes = np.random.default_rng(5).permutation(rows).astype(np.int32)
    columns = np.stack([codes, np.arange(rows, dtype=np.int32), codes // 2])
    packing = packing_of([(0, 0, ORDER), (1, 1, ORDER), (2, 2, EQUALITY)])
    found = as_counter(all_pairs(columns, np.ones(rows, np.int64), packing, threads=2), packing)
    # Line 1 rises, line 0 never repeats, and line 2 is equal for the two codes 2k and 2k + 1 of each k.
    assert sum(found.values()) == rows * (rows - 1) // 2
    assert {relations[1] for relations in found} == {0}
    assert {relations[0] for relations in found} == {0, 2}
    assert sum(n for relations, n in found.items() if relations[2] == 0) == rows // 2
    place = np.argsort(codes)
    together = int((place[0::2] < place[1::2]).sum())
    assert found[0, 0, 0] == together


def test_parts_merge_into_one_line_each() -> None:
    lines = np.array([[1, 2], [0, 7], [1, 2]], np.uint16)
    both = merged([Counted(lines[:2], np.array([3, 4])), Counted(lines[2:], np.array([5]))])
    assert both.packed.tolist() == [[0, 7], [1, 2]]
    assert both.counts.tolist() == [4, 8]
