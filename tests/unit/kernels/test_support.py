"""The least support is the fewest pairs that meet all predicates but one, counted by definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.kernels.support import least_support


def words_of(masks: list[int], bits: int) -> np.ndarray:
    words = max(1, -(-bits // 64))
    return np.array([[m >> (64 * w) & (2**64 - 1) for w in range(words)] for m in masks], np.uint64).reshape(-1, words)


def by_definition(mask: int, slots: list[int], evidence: list[int], counts: list[int]) -> int:
    of_slot = [sum(1 << bit for bit, slot in enumerate(slots) if slot == one) for one in range(max(slots) + 1)]
    predicates = [of for of in of_slot if of & ~mask]
    tested = []
    for predicate in predicates:
        others = [of for of in predicates if of is not predicate]
        tested.append(
            sum(
                n
                for shown, n in zip(evidence, counts, strict=True)
                if shown & predicate & ~mask and all(shown & of & ~mask == 0 for of in others)
            )
        )
    return min(tested, default=0)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int]]:
    few, many = draw(st.sampled_from([(1, 4), (30, 40)]))
    widths = draw(st.lists(st.integers(2, 3), min_size=few, max_size=many))
    slots = [slot for slot, width in enumerate(widths) for _ in range(width)]
    masks = st.integers(0, 2 ** len(slots) - 1)
    evidence = draw(st.lists(masks, max_size=12))
    # Masks that most of the evidence nearly lies inside: all but a few bits.
    near = st.lists(st.integers(0, len(slots) - 1), max_size=4).map(
        lambda out: (2 ** len(slots) - 1) & ~sum(1 << bit for bit in set(out))
    )
    counts = draw(st.lists(st.integers(1, 9), min_size=len(evidence), max_size=len(evidence)))
    return draw(st.lists(st.one_of(near, masks), max_size=9)), slots, evidence, counts


@given(cases(), st.sampled_from([1, 2]))
@example(([], [0, 0], [1], [1]), 1)
@example(([3], [0, 0], [1], [1]), 1)
def test_support_is_what_the_definition_says(
    case: tuple[list[int], list[int], list[int], list[int]], threads: int
) -> None:
    masks, slots, evidence, counts = case
    # A pair that violates the constraint tests no predicate; discovery gives only constraints that none violates.
    wanted = [by_definition(mask, slots, evidence, counts) for mask in masks]
    found = least_support(
        words_of(masks, len(slots)), np.array(slots), words_of(evidence, len(slots)), np.array(counts, np.int64),
        threads=threads,
    )  # fmt: skip
    assert found.tolist() == wanted


@pytest.mark.parametrize("slots", [2, 50], ids=["one word", "two words"])
def test_the_scarcest_predicate_decides(slots: int) -> None:
    # Slots of two bits; the constraint allows the first bit of the first and of the last slot, and all of the others.
    of_bit = [slot for slot in range(slots) for _ in range(2)]
    first, last = 0b10, 2 << (2 * slots - 2)
    mask = (4**slots - 1) & ~first & ~last
    between = sum(1 << bit for bit in range(2, 2 * slots - 2, 2))
    # Pairs that fail the first predicate alone (twice), the last alone, and both.
    evidence = [
        first | between | last >> 1,
        first | between << 1 | last >> 1,
        1 | between | last,
        first | between | last,
    ]
    found = least_support(
        words_of([mask], len(of_bit)), np.array(of_bit), words_of(evidence, len(of_bit)), np.array([1, 2, 7, 100])
    )
    assert found.tolist() == [3]
