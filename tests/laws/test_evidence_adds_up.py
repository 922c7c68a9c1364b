"""Evidence adds up: in any order, in any grouping, and what was added can be taken back."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search.evidence import Evidence, evidence

# Masks in the lowest and in the highest bits of each word, few, so that evidences have some in common.
MASK = st.sampled_from([0, 1, 2, 5, 2**63, 2**64 - 1])
COUNT = st.integers(1, 2**40)


def states(words: int) -> st.SearchStrategy[Evidence]:
    lines = st.lists(st.tuples(st.lists(MASK, min_size=words, max_size=words), COUNT), max_size=8)
    return lines.map(
        lambda some: evidence(
            np.array([mask for mask, _ in some], np.uint64).reshape(-1, words),
            np.array([count for _, count in some], np.int64),
        )
    )


def groups_of(size: int) -> st.SearchStrategy[list[Evidence]]:
    return st.integers(1, 3).flatmap(lambda words: st.lists(states(words), min_size=size, max_size=size))


def counted(state: Evidence) -> Counter[tuple[int, ...]]:
    lines = [tuple(line) for line in state.words.tolist()]
    assert len(set(lines)) == len(lines), "each mask is there once"
    assert lines == sorted(lines), "in order"
    assert (state.counts != 0).all()
    return Counter(dict(zip(lines, state.counts.tolist(), strict=True)))


@given(groups_of(2))
def test_plus_adds_the_counts_of_each_mask(pair: list[Evidence]) -> None:
    a, b = pair
    assert counted(a.plus(b)) == counted(a) + counted(b)
    assert a.plus(b).pairs == a.pairs + b.pairs


@given(groups_of(2))
def test_plus_is_commutative(pair: list[Evidence]) -> None:
    a, b = pair
    assert counted(a.plus(b)) == counted(b.plus(a))


@given(groups_of(2))
def test_minus_of_all_leaves_nothing(pair: list[Evidence]) -> None:
    a, b = pair
    assert len(a.minus(a)) == 0
    assert len(a.plus(b).minus(b).minus(a)) == 0


@given(groups_of(1))
def test_what_goes_to_arrow_comes_back(one: list[Evidence]) -> None:
    back = Evidence.from_arrow(one[0].to_arrow())
    assert counted(back) == counted(one[0])
    assert back.words.shape == one[0].words.shape
    assert counted(back.plus(one[0])) == counted(one[0].plus(one[0]))
