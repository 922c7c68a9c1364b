"""Masks say what constraints say: there and back, mirrored, and over several words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Column
from holdfast.search.space import OperandPair, PredicateSpace, as_masks, as_words, permuted

T, S = ({name: Column(row, name) for name in "abcdefgh"} for row in ("t", "s"))


def space_of(ordered: Mapping[str, bool], *, crossed: bool) -> PredicateSpace:
    """Each column with itself; with `crossed`, each ordered one with the next, over two rows and within one."""
    pairs = [OperandPair(T[name], S[name], has_order) for name, has_order in ordered.items()]
    names = [name for name, has_order in ordered.items() if has_order]
    for a, b in pairwise(names):
        if crossed:
            pairs += [OperandPair(T[a], S[b], True), OperandPair(T[b], S[a], True)]
            pairs += [OperandPair(T[a], T[b], True), OperandPair(S[a], S[b], True)]
    return PredicateSpace(tuple(pairs))


SPACES = st.builds(
    space_of, st.dictionaries(st.sampled_from("abcdefgh"), st.booleans(), min_size=1, max_size=8), crossed=st.booleans()
)


@st.composite
def masks(draw: st.DrawFn) -> tuple[PredicateSpace, int]:
    """A mask that leaves every operand pair a relation; most pairs keep all of theirs."""
    space, mask = draw(SPACES), 0
    for i, pair in enumerate(space.pairs):
        whole = 2 ** len(pair.relations) - 1
        allowed = draw(st.integers(1, whole)) if draw(st.integers(0, 3)) == 0 else whole
        mask |= allowed << space.first_bits[i]
    return space, mask


def mirrored(space: PredicateSpace, mask: int) -> int:
    return as_masks(permuted(as_words([mask], space.words), space.mirror))[0]


@given(masks())
def test_a_mask_becomes_a_constraint_and_back(case: tuple[PredicateSpace, int]) -> None:
    space, mask = case
    constraint = space.constraint(mask)
    assert space.mask_of(constraint) in (mask, mirrored(space, mask))
    alone = {column.row for column in constraint.columns()} == {"t"}
    assert alone or space.mask_of(constraint) == mask
    assert constraint == parse_or_same(constraint)


def parse_or_same(constraint: DenialConstraint) -> DenialConstraint:
    """Read back from its text, unless no table could violate it."""
    try:
        return parse_constraint(str(constraint))
    except ValueError:
        return constraint


@given(masks())
def test_the_mirrored_mask_is_the_mirrored_constraint(case: tuple[PredicateSpace, int]) -> None:
    space, mask = case
    assert mirrored(space, mirrored(space, mask)) == mask
    assert space.constraint(mirrored(space, mask)) == space.constraint(mask).mirrored()


@given(st.lists(st.integers(0, 2**130 - 1), max_size=5))
def test_words_are_masks(numbers: list[int]) -> None:
    words = as_words(numbers, 3)
    assert words.shape == (len(numbers), 3)
    assert words.dtype == np.uint64
    assert as_masks(words) == numbers


def test_a_constraint_on_other_operands_has_no_mask() -> None:
    space = space_of({"a": True, "b": True}, crossed=False)
    for text in ("not(t.a = s.b)", "not(t.a = 1)", "not(t.c = s.c)"):
        with pytest.raises(KeyError):
            space.mask_of(parse_constraint(text))


def test_predicates_are_counted_by_operator() -> None:
    assert space_of({"a": True, "b": False}, crossed=False).predicates == 8
    assert PredicateSpace(()).predicates == 0
    assert PredicateSpace(()).words == 1
