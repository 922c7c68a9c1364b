"""Hitting sets after new sets have joined, and after some have left, against all that there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.kernels.extended_sets import contained_in, extended_sets, first_missed
from holdfast.kernels.hitting_sets import hitting_sets

ELEMENTS = 70  # two words


@st.composite
def families(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Two families of sets over few elements, spread over two words; and the slot of each element."""
    few = draw(st.lists(st.integers(0, ELEMENTS - 1), min_size=2, max_size=8, unique=True))
    sets = st.lists(st.sampled_from(few), min_size=1, max_size=5).map(lambda some: sum(1 << i for i in set(some)))
    old, new = draw(st.lists(sets, min_size=1, max_size=8)), draw(st.lists(sets, min_size=1, max_size=5))
    width = draw(st.sampled_from([1, 2, 3]))
    return old, new, [i // width if width > 1 else 0 for i in range(ELEMENTS)]


def lines(sets: list[int]) -> NDArray[np.uint64]:
    return np.array([[s & (2**64 - 1), s >> 64] for s in sets], np.uint64).reshape(-1, 2)


def numbers(words: NDArray[np.uint64]) -> set[int]:
    return {int(low) | int(high) << 64 for low, high in words}


@pytest.mark.parametrize("most", [None, 2])
@settings(max_examples=300)
@given(case=families())
def test_sets_that_miss_new_ones_are_extended(case: tuple[list[int], list[int], list[int]], most: int | None) -> None:
    old, new, slots = case
    before = hitting_sets(lines(old), np.array(slots), most_slots=most).sets
    after = numbers(hitting_sets(lines(old + new), np.array(slots), most_slots=most).sets)
    misses = first_missed(before, lines(new)) >= 0
    assert numbers(before[~misses]) <= after
    found = extended_sets(before[misses], before[~misses], lines(new), np.array(slots), most_slots=most)
    assert found.complete
    for one, which in zip(numbers(found.sets), found.extended, strict=False):
        assert which < misses.sum(), one
    fit = found.sets[contained_in(found.sets, before[~misses]) < 0]
    fit = fit[contained_in(fit, fit, strictly=True) < 0]
    assert numbers(before[~misses]) | numbers(fit) == after


@settings(max_examples=300)
@given(case=families())
def test_sets_that_spare_one_of_those_that_left_are_the_new_ones(case: tuple[list[int], list[int], list[int]]) -> None:
    left, gone, slots = case
    before = numbers(hitting_sets(lines(left + gone), np.array(slots)).sets)
    after = numbers(hitting_sets(lines(left), np.array(slots)).sets)
    for threads in (1, 2):
        new = hitting_sets(lines(left), np.array(slots), spare=lines(gone), threads=threads).sets
        assert numbers(new) == {one for one in after if any(one & other == 0 for other in gone)}
        assert after == {one for one in after if one in before} | numbers(new)


def test_contained_in_tells_which() -> None:
    sets = lines([0b111, 0b100, 0b011])
    others = lines([0b110, 0b011, 1 << 65])
    assert contained_in(sets, others).tolist()[1] == -1
    assert contained_in(sets, others).tolist()[2] == 1
    assert contained_in(sets, others, strictly=True).tolist()[2] == -1
    assert contained_in(lines([]), others).tolist() == []
    assert first_missed(sets, lines([0b010, 0b011])).tolist() == [-1, 0, -1]
