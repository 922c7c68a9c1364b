"""The greedy cover takes what its definition says, and covers everything."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.kernels.cover import greedy_cover

PAIRS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=30, unique=True
)


def covered(pairs: list[tuple[int, int]], size: int) -> list[int]:
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return greedy_cover(left, right, size).tolist()


def taken_by_definition(pairs: list[tuple[int, int]]) -> list[int]:
    """Again and again the one in most of the pairs that remain, on a tie the largest."""
    left, taken = list(pairs), []
    while left:
        count = Counter(end for pair in left for end in pair)
        worst = max(count, key=lambda end: (count[end], end))
        taken.append(worst)
        left = [pair for pair in left if worst not in pair]
    return taken


@given(PAIRS, st.integers(10, 15))
@example([], 10)
@example([(0, 1), (1, 0)], 10)
@example([(0, 1), (2, 3)], 10)
@settings(deadline=None, max_examples=300)
def test_the_cover_is_the_one_of_the_definition(pairs: list[tuple[int, int]], size: int) -> None:
    assert covered(pairs, size) == taken_by_definition(pairs)


@given(PAIRS)
@settings(deadline=None)
def test_every_pair_is_touched_and_nothing_is_taken_twice(pairs: list[tuple[int, int]]) -> None:
    cover = covered(pairs, 10)
    assert all(a in cover or b in cover for a, b in pairs)
    assert len(set(cover)) == len(cover)


@given(PAIRS)
@settings(deadline=None)
def test_the_order_of_the_pairs_does_not_matter(pairs: list[tuple[int, int]]) -> None:
    assert covered(pairs, 10) == covered(pairs[::-1], 10)


def test_one_row_in_all_pairs_is_the_whole_cover() -> None:
    assert covered([(i, 7) for i in range(7)], 8) == [7]


def test_on_a_tie_the_largest_goes() -> None:
    assert covered([(0, 1)], 2) == [1]
    assert covered([(0, 1), (1, 2), (2, 0)], 3) == [2, 1]


def test_nothing_to_cover_is_an_empty_cover() -> None:
    assert covered([], 0) == []
    assert covered([], 5) == []


def test_many_pairs_are_covered() -> None:
    rng = np.random.default_rng(7)
    left, right = rng.integers(0, 5000, (2, 50_000))
    apart = left != right
    left, right = left[apart], right[apart]
    cover = set(greedy_cover(left, right, 5000).tolist())
    assert all(a in cover or b in cover for a, b in zip(left.tolist(), right.tolist(), strict=True))
