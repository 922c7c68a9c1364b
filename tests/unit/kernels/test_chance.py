"""Probabilities under shuffling are those that all shuffles give."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from math import comb, exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.kernels.chance import EXACT, Draws, layers, log_few_hits

COUNTS = st.lists(st.integers(1, 4), min_size=1, max_size=5).filter(lambda counts: 2 <= sum(counts) <= 7)


def shuffles(counts: list[int]) -> list[tuple[int, ...]]:
    return list(permutations([value for value, count in enumerate(counts) for _ in range(count)]))


@settings(max_examples=40, deadline=None)
@given(counts=COUNTS, size=st.integers(2, 7))
def test_sets_of_rows_differ_and_rise_as_often_as_shuffles_say(counts: list[int], size: int) -> None:
    every = shuffles(counts)
    size = min(size, sum(counts))
    draws = Draws(np.array(counts))
    firsts = [values[:size] for values in every]
    different = sum(len(set(values)) == size for values in firsts) / len(every)
    rising = sum(all(a < b for a, b in pairwise(v)) for v in firsts) / len(every)
    not_falling = sum(all(a <= b for a, b in pairwise(v)) for v in firsts) / len(every)
    assert exp(draws.log_all_different(size)) == pytest.approx(different)
    assert exp(draws.log_in_order(size, strict=True)) == pytest.approx(rising)
    assert exp(draws.log_in_order(size, strict=False)) == pytest.approx(not_falling)


@settings(max_examples=40, deadline=None)
@given(counts=COUNTS, sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_groups_are_equal_as_often_as_shuffles_say(counts: list[int], sizes: list[int]) -> None:
    if sum(sizes) > sum(counts):
        return
    ends = np.cumsum([0, *sizes]).tolist()
    every = shuffles(counts)
    wanted = sum(all(len(set(values[a:b])) == 1 for a, b in pairwise(ends)) for values in every) / len(every)
    estimates = [exp(Draws(np.array(counts)).log_all_equal(np.array(sizes), seed=seed)) for seed in range(40)]
    assert np.mean(estimates) == pytest.approx(wanted, rel=0.15, abs=1e-9)


def test_many_rows_differ_as_the_product_says() -> None:
    """Of values that three rows have each, it can be multiplied row by row."""
    draws = Draws(np.full(1_000, 3))
    for size in (EXACT + 1, 60, 400, 1_000):
        wanted = sum(log((3_000 - 3 * i) / (3_000 - i)) for i in range(size))
        assert draws.log_all_different(size) == pytest.approx(wanted, rel=0.01)


def test_one_frequent_value_makes_many_rows_unlikely_to_differ() -> None:
    """What a mean over pairs would call far less likely: they differ as long as one row at most has that value."""
    draws = Draws(np.array([500] + [1] * 500))
    size = 40
    wanted = (comb(500, size) + 500 * comb(500, size - 1)) / comb(1_000, size)
    assert draws.log_all_different(size) == pytest.approx(log(wanted), rel=0.01)
    assert draws.log_all_different(502) == -inf


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=12))
def test_layers_take_each_row_once_and_differ(rows: list[tuple[int, int]]) -> None:
    groups, classes = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    sizes, many = layers(groups, classes)
    wanted: dict[int, int] = {}
    for group in set(groups.tolist()):
        members = [cls for g, cls in rows if g == group]
        for at_least in range(1, len(members) + 1):
            size = sum(members.count(cls) >= at_least for cls in set(members))
            if size > 1:
                wanted[size] = wanted.get(size, 0) + 1
    assert dict(zip(sizes.tolist(), many.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(("tries", "share"), [(6, 0.5), (9, 0.2)])
def test_the_bound_is_no_lower_than_the_truth(tries: int, share: float) -> None:
    for hits in range(tries + 1):
        truth = sum(
            share**k * (1 - share) ** (tries - k) for k in range(hits + 1) for _ in combinations(range(tries), k)
        )
        assert exp(log_few_hits(hits, tries, share)) >= truth - 1e-12
