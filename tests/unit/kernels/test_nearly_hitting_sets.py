"""The choices found are the minimal ones that miss no more than the budget, as trying every choice gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.kernels.hitting_sets import hitting_sets
from holdfast.kernels.nearly_hitting_sets import nearly_hitting_sets


@dataclass(frozen=True)
class Weighted:
    """Sets as masks over a few elements with a weight each, the slots of the elements, and where these start."""

    sets: tuple[int, ...]
    weights: tuple[int, ...]
    slots: tuple[int, ...]
    shift: int = 0

    def found(self, budget: int, *, threads: int = 1, most_slots: int | None = None) -> dict[int, int]:
        """What the kernel finds: choices as masks, with what they miss."""
        before = np.arange(self.shift) // 2
        slots = np.concatenate([before, np.array(self.slots) + (self.shift + 1) // 2])
        words = -(-len(slots) // 64)
        lines = [[(mask << self.shift) >> (64 * w) & (2**64 - 1) for w in range(words)] for mask in self.sets]
        family = np.array(lines, np.uint64).reshape(-1, words)
        result = nearly_hitting_sets(
            family, np.array(self.weights, np.int64), slots, budget=budget, threads=threads, most_slots=most_slots
        )
        assert result.complete
        masks = [sum(int(word) << (64 * w) for w, word in enumerate(line)) >> self.shift for line in result.sets]
        assert len(set(masks)) == len(masks)
        return dict(zip(masks, result.missed.tolist(), strict=True))

    def minimal(self, budget: int, most_slots: int | None = None) -> dict[int, int]:
        """Every choice of elements tried: those that miss little, none of which could be left out."""
        choices = np.arange(1 << len(self.slots))
        missed = np.zeros(len(choices), np.int64)
        for mask, weight in zip(self.sets, self.weights, strict=True):
            missed += np.where(choices & mask == 0, weight, 0)
        good = missed <= budget
        least = good.copy()
        for element in range(len(self.slots)):
            has = choices >> element & 1 == 1
            least[has] &= ~good[choices[has] ^ (1 << element)]
        return {c: int(missed[c]) for c in choices[least].tolist() if self._fits(c, most_slots)}

    def _fits(self, choice: int, most_slots: int | None) -> bool:
        touched = [slot for element, slot in enumerate(self.slots) if choice >> element & 1]
        whole = any(touched.count(slot) == self.slots.count(slot) for slot in touched)
        return not whole and (most_slots is None or len(set(touched)) <= most_slots)


@st.composite
def weighted(draw: st.DrawFn) -> Weighted:
    widths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    slots = tuple(slot for slot, width in enumerate(widths) for _ in range(width))[:11]
    sets = draw(st.lists(st.integers(0, (1 << len(slots)) - 1), min_size=1, max_size=20, unique=True))
    weights = draw(st.lists(st.integers(1, 6), min_size=len(sets), max_size=len(sets)))
    return Weighted(tuple(sets), tuple(weights), slots, draw(st.sampled_from([0, 0, 60, 130])))


# Leaving out either of two elements is too much, though each alone meets less than the budget.
TOGETHER = Weighted((0b0001, 0b0100, 0b1_0000), (2, 2, 2), (0, 0, 1, 1, 2, 2))


@settings(max_examples=300)
@given(weighted(), st.integers(0, 40), st.sampled_from([1, 2]), st.sampled_from([None, None, 1, 2, 3]))
@example(TOGETHER, 2, 1, None)
@example(Weighted((1,), (1,), (0,)), 0, 1, None)  # a slot of one element cannot be taken
@example(Weighted((1,), (1,), (0,)), 1, 1, None)  # nothing need be met: the empty choice
@example(Weighted((0, 1), (3, 1), (0, 0)), 2, 1, None)  # what nothing meets weighs too much
def test_all_minimal_choices_are_found_once(case: Weighted, budget: int, threads: int, most: int | None) -> None:
    assert case.found(budget, threads=threads, most_slots=most) == case.minimal(budget, most)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("budget", [0, 50, 500, 3_000])
def test_many_sets(budget: int, threads: int) -> None:
    rng = np.random.default_rng(budget)
    masks = np.unique((rng.random((3_000, 14)) < 0.4) @ (1 << np.arange(14)))
    weights = rng.integers(1, 9, len(masks))
    case = Weighted(tuple(masks.tolist()), tuple(weights.tolist()), tuple(np.arange(14) // 3))
    assert case.found(budget, threads=threads) == case.minimal(budget)


def test_without_a_budget_these_are_the_hitting_sets() -> None:
    rng = np.random.default_rng(3)
    slots = np.arange(40) // 2
    family = np.unique(1 << (2 * np.arange(20) + rng.integers(0, 2, (300, 20))).astype(np.uint64), axis=0)
    family = np.bitwise_or.reduce(family, axis=1).reshape(-1, 1)
    found = nearly_hitting_sets(family, np.ones(len(family), np.int64), slots, budget=0, most_slots=5)
    wanted = hitting_sets(family, slots, most_slots=5)
    assert (found.sets == wanted.sets).all()
    assert not found.missed.any()


def test_a_search_that_is_stopped_says_so_and_what_it_has_is_minimal() -> None:
    rng = np.random.default_rng(4)
    family = rng.integers(1, 2**63, (2_000, 1), np.int64).astype(np.uint64)
    weights, slots = rng.integers(1, 4, len(family)), np.arange(64) // 4
    stopped = nearly_hitting_sets(family, weights, slots, budget=40, threads=2, seconds=0.3)
    assert not stopped.complete
    assert not stopped.too_many
    for chosen, missed in list(zip(stopped.sets[:, 0], stopped.missed, strict=True))[:50]:
        assert weights[(family[:, 0] & chosen) == 0].sum() == missed <= 40
        for bit in range(64):
            less = chosen & ~(np.uint64(1) << np.uint64(bit))
            assert less == chosen or weights[(family[:, 0] & less) == 0].sum() > 40


def test_memory_has_an_end() -> None:
    family = np.array([[0b1111_1111]], np.uint64)
    found = nearly_hitting_sets(family, np.array([5]), np.arange(8) // 2, budget=1, most_words=3)
    assert found.too_many
    assert not found.complete
    assert len(found.sets) < 8 + 1
