"""The predicate space of a discovery: which operands are compared, and how constraints become bits.

Each operand pair has one bit per relation its values can be in: `<`, `=`, `>` where they have an order, `=`, `!=`
where they have none. A constraint is the mask of the bits it allows; a pair of rows is the mask of the bits it shows,
its evidence; the pair violates the constraint exactly when its evidence lies inside the constraint's mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.predicate import Column, Comparison, comparison
from holdfast.rules.relation import EQ, GT, LT, NE, swapped

Words = NDArray[np.uint64]
# Per column its least and its greatest value, as codes that columns of one type share.
Ranges = Mapping[str, tuple[int, int]]

ORDERED = (LT, EQ, GT)
UNORDERED = (EQ, NE)
WORD = 64


@dataclass(frozen=True)
class OperandPair:
    """Two operands that are compared: `t.A` with `s.A`, `t.A` with `s.B`, or `t.A` with `t.B`.

    Columns may be alike `by_chance`, such as those of flags: rules that compare them are worth less.
    """

    left: Column
    right: Column
    ordered: bool
    by_chance: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.left} {'<, =, >' if self.ordered else '=, !='} {self.right}"

    @property
    def relations(self) -> tuple[int, ...]:
        """The relation each of its bits stands for, lowest bit first."""
        return ORDERED if self.ordered else UNORDERED

    @property
    def same_column(self) -> bool:
        return self.left.name == self.right.name

    @property
    def one_row(self) -> bool:
        return self.left.row == self.right.row


@dataclass(frozen=True)
class PredicateSpace:
    """Operand pairs in order; closed under swapping t and s. Bits are numbered along them."""

    pairs: tuple[OperandPair, ...]

    def to_lists(self) -> list[list[Any]]:
        """The operand pairs as plain values, to travel as JSON."""
        return [
            [p.left.row, p.left.name, p.right.row, p.right.name, p.ordered, *([True] if p.by_chance else [])]
            for p in self.pairs
        ]

    @classmethod
    def from_lists(cls, pairs: Iterable[Sequence[Any]]) -> PredicateSpace:
        """What `to_lists` told."""
        return cls(tuple(OperandPair(Column(a, left), Column(b, right), *more) for a, left, b, right, *more in pairs))

    @cached_property
    def first_bits(self) -> tuple[int, ...]:
        """Where each operand pair's bits start, and at the end how many bits there are."""
        return tuple(np.cumsum([0, *(len(pair.relations) for pair in self.pairs)]).tolist())

    @property
    def bits(self) -> int:
        return self.first_bits[-1]

    @property
    def words(self) -> int:
        """How many 64-bit words a mask takes; at least one."""
        return max(1, -(-self.bits // WORD))

    @property
    def predicates(self) -> int:
        """How many predicates there are: six operators on an ordered operand pair, two on another."""
        return sum(6 if pair.ordered else 2 for pair in self.pairs)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared, in order of first mention."""
        return tuple(dict.fromkeys(c.name for pair in self.pairs for c in (pair.left, pair.right)))

    @cached_property
    def pair_of_bit(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.pairs)), [len(pair.relations) for pair in self.pairs])

    @cached_property
    def mirror(self) -> NDArray[np.int64]:
        """For each bit the bit it becomes when t and s are swapped."""
        place = {(pair.left, pair.right): i for i, pair in enumerate(self.pairs)}
        target = np.empty(self.bits, np.int64)
        for i, pair in enumerate(self.pairs):
            left, right = pair.left.mirrored(), pair.right.mirrored()
            turned = (left, right) not in place
            other = place[(right, left) if turned else (left, right)]
            order = range(len(pair.relations))
            if turned and pair.ordered:
                order = range(2, -1, -1)
            for bit, into in enumerate(order):
                target[self.first_bits[i] + bit] = self.first_bits[other] + into
        return target

    # Masks and what they say ---------------------------------------------------------------------------------

    def constraint(self, mask: int) -> DenialConstraint:
        """The denial constraint that allows exactly the bits of the mask, or of its mirror where it would speak of s
        alone; operand pairs all of whose bits are allowed have no predicate in it."""
        # By what is missing: in a wide space that is little, and most operand pairs have no predicate.
        missing, touched = ~mask & ((1 << self.bits) - 1), []
        while missing:
            touched.append(int(self.pair_of_bit[(missing & -missing).bit_length() - 1]))
            missing &= missing - 1
        predicates = []
        for i in dict.fromkeys(touched):
            pair, shown = self.pairs[i], mask >> self.first_bits[i]
            allowed = sum(relation for bit, relation in enumerate(pair.relations) if shown >> bit & 1)
            assert allowed, "an operand pair without an allowed relation is trivial"
            predicates.append(comparison(pair.left, allowed, pair.right))
        constraint = DenialConstraint(tuple(predicates))
        # What speaks of s alone is a one-row rule, which speaks of t.
        return constraint if any(column.row == "t" for column in constraint.columns()) else constraint.mirrored()

    def mask_of(self, constraint: DenialConstraint) -> int:
        """The mask of a constraint over this space; KeyError when it compares something else."""
        mask = (1 << self.bits) - 1
        place = {(pair.left, pair.right): i for i, pair in enumerate(self.pairs)}
        for predicate in constraint.predicates:
            if not isinstance(predicate, Comparison):
                raise KeyError(str(predicate))
            left, right, allowed = predicate.left, predicate.right, predicate.allowed
            if not isinstance(left, Column) or not isinstance(right, Column):
                raise KeyError(str(predicate))
            if (left, right) not in place:
                left, right = right, left
                allowed = swapped(allowed)
            i = place[left, right]
            for bit, relation in enumerate(self.pairs[i].relations):
                if not allowed & relation:
                    mask &= ~(1 << (self.first_bits[i] + bit))
        return mask


def as_words(masks: Iterable[int], words: int) -> Words:
    """Masks as lines of 64-bit words, lowest word first."""
    lines = b"".join(mask.to_bytes(WORD // 8 * words, "little") for mask in masks)
    return np.frombuffer(lines, "<u8").astype(np.uint64).reshape(-1, words)


def as_masks(lines: Words) -> list[int]:
    """Lines of 64-bit words as masks."""
    return [int.from_bytes(line.tobytes(), "little") for line in lines.astype("<u8")]


def permuted(lines: Words, target: Sequence[int] | NDArray[np.int64]) -> Words:
    """The lines with bit b of each moved to `target[b]`."""
    moved = np.zeros_like(lines)
    lowest_bit = np.uint64(1)
    for bit, into in enumerate(target):
        shown = (lines[:, bit // WORD] >> np.uint64(bit % WORD)) & lowest_bit
        moved[:, into // WORD] |= shown << np.uint64(into % WORD)
    return moved


def both_ways(space: PredicateSpace, lines: Words) -> Words:
    """The lines, and after them their mirror images."""
    return np.concatenate([lines, permuted(lines, space.mirror)])
