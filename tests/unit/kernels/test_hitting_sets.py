"""The hitting sets found are the minimal ones, all of them, as trying every choice gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.kernels import hitting_sets as kernel
from holdfast.kernels.hitting_sets import DEFAULT_LIMITS, HittingSetLimits, hitting_sets


@dataclass(frozen=True)
class Family:
    """Sets as masks over a few elements, where these are among many, and the slot of each of the many."""

    sets: tuple[int, ...]
    places: tuple[int, ...]
    slots: tuple[int, ...]

    @property
    def words(self) -> np.ndarray:
        count = max(1, -(-len(self.slots) // 64))
        lines = np.zeros((len(self.sets), count), np.uint64)
        for line, mask in zip(lines, self.sets, strict=True):
            for element, place in enumerate(self.places):
                if mask >> element & 1:
                    line[place // 64] |= np.uint64(1) << np.uint64(place % 64)
        return lines

    def found(self, **options: Any) -> list[int]:
        """What the kernel finds, as masks over the few elements."""
        result = hitting_sets(self.words, np.array(self.slots), **options)
        assert result.complete
        lines = [sum(int(word) << (64 * w) for w, word in enumerate(line)) for line in result.sets.tolist()]
        few = {1 << place: 1 << element for element, place in enumerate(self.places)}
        return [sum(few[1 << b] for b in range(len(self.slots)) if line >> b & 1) for line in lines]

    def minimal(self, most_slots: int | None = None) -> list[int]:
        """Every choice of elements tried: those that meet all sets, none of which could be left out."""
        choices = np.arange(1 << len(self.places))
        meets = np.ones(len(choices), np.bool_)
        for mask in self.sets:
            meets &= (choices & mask) != 0
        least = meets.copy()
        for element in range(len(self.places)):
            has = choices >> element & 1 == 1
            least[has] &= ~meets[choices[has] ^ (1 << element)]
        return [choice for choice in choices[least].tolist() if self._fits(choice, most_slots)]

    def _fits(self, choice: int, most_slots: int | None) -> bool:
        touched = [self.slots[place] for element, place in enumerate(self.places) if choice >> element & 1]
        whole = any(touched.count(slot) == self.slots.count(slot) for slot in touched)
        return not whole and (most_slots is None or len(set(touched)) <= most_slots)


@st.composite
def families(draw: st.DrawFn) -> Family:
    widths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=draw(st.sampled_from([5, 60]))))
    slots = [slot for slot, width in enumerate(widths) for _ in range(width)]
    few = min(len(slots), 10)
    # Anywhere, or whole slots side by side.
    places = sorted(draw(st.permutations(range(len(slots))))[:few]) if draw(st.booleans()) else range(few)
    sets = draw(st.lists(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, (1 << few) - 1), max_size=14))
    return Family(tuple(sets), tuple(places), tuple(slots))


def many_sets(elements: int, sets: int, *, share: float, spread: int = 1, seed: int = 1) -> Family:
    """So many sets that most are hit twice after three choices, and the search goes on with a part of them."""
    rng = np.random.default_rng(seed)
    masks = {int(m) for m in (rng.random((sets, elements)) < share) @ (1 << np.arange(elements))} - {0}
    slots = [i // 4 for i in range(elements * spread)]
    return Family(tuple(sorted(masks)), tuple(range(0, elements * spread, spread)), tuple(slots))


@settings(max_examples=300)
@given(families(), st.sampled_from([1, 2]), st.sampled_from([None, None, 1, 2, 3]))
@example(Family((1,), (0,), (0,)), 1, None)  # a slot of one element cannot be taken
@example(Family((0b11,), (0, 1), (0, 0)), 1, None)
@example(Family((0b01, 0b10), (0, 1), (0, 0)), 1, None)  # only the whole slot would hit both
@example(Family((), (0, 1), (0, 0)), 1, None)  # nothing to hit: the empty choice
@example(Family((0,), (0, 1), (0, 0)), 1, None)  # a set that nothing hits
def test_all_minimal_hitting_sets_are_found_once(family: Family, threads: int, most_slots: int | None) -> None:
    found = family.found(threads=threads, most_slots=most_slots)
    assert sorted(found) == sorted(family.minimal(most_slots))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("spread", [1, 9], ids=["one word", "three words"])
@pytest.mark.parametrize("share", [0.75, 0.85])
def test_large_families_are_searched_in_parts(share: float, spread: int, threads: int) -> None:
    family = many_sets(16, 6_000, share=share, spread=spread)
    assert len(family.sets) > DEFAULT_LIMITS.part_from
    wanted = family.minimal()
    assert len(wanted) > 50
    assert sorted(family.found(threads=threads)) == sorted(wanted)
    most = 3 if spread == 1 else 6
    assert sorted(family.found(threads=threads, most_slots=most)) == sorted(family.minimal(most))


def test_it_ends_when_there_are_more_than_can_be_kept() -> None:
    family = many_sets(10, 60, share=0.6)
    found = hitting_sets(family.words, np.array(family.slots), limits=HittingSetLimits(most_words=5))
    everything = set(family.minimal())
    assert len(everything) > 6
    assert len(found.sets) == 6
    assert found.too_many
    assert not found.complete


@pytest.mark.parametrize("share", [0.6, 0.8])
def test_going_on_with_a_part_changes_nothing(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """The search as plain Python, which can be watched as it parts, early and often."""
    parts: list[int] = []
    part = kernel._part

    def watched(family: np.ndarray, live: np.ndarray, size: int) -> np.ndarray:
        parts.append(size)
        return part(family, live, size)

    monkeypatch.setattr(kernel, "search", kernel.search.py_func)
    monkeypatch.setattr(kernel, "lowest", lambda word: (int(word) & -int(word)).bit_length() - 1)
    monkeypatch.setattr(kernel, "_part", watched)
    often = HittingSetLimits(part_after=1, part_from=4, part_share=1)
    family = many_sets(10, 60, share=share)
    assert sorted(family.found(limits=often)) == sorted(family.minimal())
    assert len(parts) > 10
    assert min(parts) < len(family.sets) // 2


def test_sets_come_in_one_order_whatever_the_threads() -> None:
    family = many_sets(14, 300, share=0.6)
    alone, shared = (hitting_sets(family.words, np.array(family.slots), threads=n).sets for n in (1, 2))
    assert len(alone) > 100
    assert np.array_equal(alone, shared)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_runs_out_of_time_says_so_and_has_minimal_hitting_sets(threads: int) -> None:
    # 60 sets of two elements without any in common: 2^60 hitting sets, an element of each.
    lines = np.zeros((60, 2), np.uint64)
    for i in range(60):
        for element in (i, i + 60):
            lines[i, element // 64] |= np.uint64(1) << np.uint64(element % 64)
    result = hitting_sets(lines, np.arange(120) // 2, threads=threads, seconds=0.2)
    assert not result.complete
    assert len(result.sets)
    assert (np.bitwise_count(result.sets).sum(axis=1) == 60).all()
    assert all(((result.sets & line) != 0).any(axis=1).all() for line in lines)
    assert len(np.unique(result.sets[:1_000], axis=0)) == len(result.sets[:1_000])


def test_time_that_suffices_changes_nothing() -> None:
    family = many_sets(12, 100, share=0.5)
    assert sorted(family.found(seconds=600.0)) == sorted(family.minimal())
