"""The most general constraints of a table that is at hand: codes, evidence, hitting sets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.discover.coded_rows import CodedRows, coded_rows
from holdfast.discover.options import DiscoverOptions
from holdfast.discover.space import PredicateSpace, Words, permuted
from holdfast.encode.column_type import ColumnType
from holdfast.kernels.contradiction import contradictory
from holdfast.kernels.evidence import all_pairs
from holdfast.kernels.hitting_sets import hitting_sets
from holdfast.kernels.support import least_support
from holdfast.states.evidence import Evidence, Ints, distinct


@dataclass(frozen=True)
class Found:
    """What a search found: per constraint the mask of what it allows, one of each mirror pair, and how it went.

    `evidence` is of all pairs of rows when `exact`, else of the pairs that were looked at. `complete` is false when the
    search ended early; `why` then says why. Every constraint is valid on the whole table in any case. `support` has,
    per constraint, how many ordered pairs put its least tested predicate to the test: they meet all the others.
    """

    space: PredicateSpace
    masks: Words
    support: Ints
    evidence: Evidence
    rows: int
    distinct_rows: int
    strategy: str
    exact: bool
    complete: bool
    why: str | None = None
    phases: Mapping[str, float] = field(default_factory=dict)


class Clock:
    """Seconds spent, by phase, and how many are left of the limit."""

    def __init__(self, limit: float | None) -> None:
        self._end = None if limit is None else time.monotonic() + limit
        self.phases: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.monotonic() - started

    @property
    def left(self) -> float | None:
        return None if self._end is None else self._end - time.monotonic()

    def over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def find(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, *, threads: int = 1) -> Found:
    """The most general valid, non-trivial constraints over the table's columns."""
    clock = Clock(options.time_limit)
    with clock.phase("encode"):
        rows = coded_rows(table, types, options)
    return find_in(rows, options, clock, threads=threads)


def find_in(rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int) -> Found:
    """As `find`, on rows that are coded."""
    with clock.phase("evidence"):
        evidence = rows.evidence(all_pairs(rows.codes, rows.weights, rows.layout, threads=threads))
    masks, complete = most_general(rows.space, evidence, options, clock, threads=threads)
    why = None if complete else "the time limit was reached while constraints were being found"
    with clock.phase("weigh"):
        support = least_support(masks, rows.space.pair_of_bit, evidence.words, evidence.counts, threads=threads)
    return Found(
        rows.space, masks, support, evidence, rows.rows, len(rows.weights), "all-pairs", True, complete, why,
        clock.phases,
    )  # fmt: skip


def most_general(
    space: PredicateSpace, evidence: Evidence, options: DiscoverOptions, clock: Clock, *, threads: int
) -> tuple[Words, bool]:
    """The masks of the most general non-trivial constraints that no evidence violates, one of each mirror pair; and
    whether these are all."""
    with clock.phase("invert"):
        sets = hitting_sets(
            evidence.words,
            space.pair_of_bit,
            most_slots=options.max_predicates,
            threads=threads,
            seconds=clock.left,
        )
        if len(evidence) == 0:
            return np.zeros((0, space.words), np.uint64), True
        masks = ~sets.sets & full_mask(space)
        masks = one_of_each(space, masks)
        return masks[~_trivial(space, masks)], sets.complete


def full_mask(space: PredicateSpace) -> Words:
    """The mask with every bit of the space."""
    mask = (1 << space.bits) - 1
    return np.array([mask >> (64 * w) & (2**64 - 1) for w in range(space.words)], np.uint64)


def one_of_each(space: PredicateSpace, masks: Words) -> Words:
    """Of each mask and its mirror image one: the one that allows `<` where they first differ."""
    mirrored = permuted(masks, space.mirror)
    chosen, decided = masks.copy(), np.zeros(len(masks), np.bool_)
    for w in range(masks.shape[1]):
        differ = masks[:, w] ^ mirrored[:, w]
        lowest = differ & (~differ + np.uint64(1))
        turn = ~decided & (differ != 0) & ((masks[:, w] & lowest) == 0)
        chosen[turn] = mirrored[turn]
        decided |= differ != 0
    return distinct(chosen)[0]


def allowed_relations(space: PredicateSpace, masks: Words) -> NDArray[np.uint8]:
    """Per mask and operand pair the set of relations it allows, as in rules/relation.py."""
    allowed = np.zeros((len(masks), len(space.pairs)), np.uint8)
    for i, pair in enumerate(space.pairs):
        for bit, relation in enumerate(pair.relations, start=space.first_bits[i]):
            shown = (masks[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1)
            allowed[:, i] |= shown.astype(np.uint8) * np.uint8(relation)
    return allowed


def _trivial(space: PredicateSpace, masks: Words) -> NDArray[np.bool_]:
    if all(pair.same_column for pair in space.pairs):
        return np.zeros(len(masks), np.bool_)  # nothing to contradict: each operand is in one pair
    operands = {o: i for i, o in enumerate(dict.fromkeys(o for p in space.pairs for o in (p.left, p.right)))}
    left, right = (np.array([operands[o] for o in side]) for side in zip(*((p.left, p.right) for p in space.pairs)))  # noqa: B905
    return contradictory(allowed_relations(space, masks), left, right)
