"""The evidence that rows bring when they come, and take with them when they go: theirs with all others, and among them.

`CodedRows.evidence` of all pairs is the twin: what it says after a change is what it said before, plus what came and
minus what went.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.encode.codes import Coded, dense_codes
from holdfast.kernels import gpu_evidence
from holdfast.kernels.evidence import EQUALITY, EQUALITY_SKIP, FIRST, ORDER_MEET, Counted, Packing, Short
from holdfast.kernels.extended_sets import first_missed
from holdfast.kernels.pairs_between import MOST_ROWS, BlockPair, beside
from holdfast.rules.rule import Nulls
from holdfast.search.coded_rows import (
    CodedRows,
    both_orders,
    collapsed_rows,
    comparing,
    row_way,
    rows_apart,
    shown_words,
)
from holdfast.search.evidence import Evidence, distinct
from holdfast.search.invert import full_mask
from holdfast.search.space import PredicateSpace, Words, permuted
from holdfast.states.lawful import Mergeable

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class KeptRows(Mergeable):
    """Rows as codes, a line per column: equality and order of codes are those of values, also between columns that
    are compared. Where not valid, the value is null."""

    codes: Mapping[str, Ints]
    valid: Mapping[str, Bools]
    size: int

    def part(self, start: int, end: int) -> KeptRows:
        return self._selected(slice(start, end), min(end, self.size) - start)

    def take(self, rows: Ints) -> KeptRows:
        return self._selected(rows, len(rows))

    def _selected(self, which: Ints | slice, size: int) -> KeptRows:
        codes = {name: codes[which] for name, codes in self.codes.items()}
        return KeptRows(codes, {name: valid[which] for name, valid in self.valid.items()}, size)

    def plus(self, later: KeptRows) -> KeptRows:
        """These rows, and after them the later ones."""
        codes = {name: np.concatenate([codes, later.codes[name]]) for name, codes in self.codes.items()}
        valid = {name: np.concatenate([valid, later.valid[name]]) for name, valid in self.valid.items()}
        return KeptRows(codes, valid, self.size + later.size)


@dataclass(frozen=True)
class NewPair:
    """A pair of rows, by position in the two blocks, and the bits it shows, which no pair had shown."""

    left: int
    right: int
    words: Words


@dataclass(frozen=True)
class Related:
    """What pairs of rows of two blocks show."""

    space: PredicateSpace
    blocks: BlockPair
    shown: tuple[tuple[int, ...], ...]
    counted: Counted
    start: int

    def evidence(self) -> Evidence:
        return both_orders(self.space, self._words(), self.counted.counts)

    def _words(self) -> Words:
        return shown_words(self.space, self.blocks.packing, self.shown, self.counted)

    def shown_pairs(self) -> tuple[Words, Ints, Ints]:
        """Per different thing that pairs show its bits, and one such pair, by position in the two blocks."""
        assert self.counted.firsts is not None, "pairs were kept"
        firsts = self.counted.firsts
        return self._words(), firsts // FIRST + self.start, firsts % FIRST

    def breaking_pairs(self, known: Words, masks: Words) -> list[NewPair]:
        """For each of the constraints that what is not known yet breaks, a pair of rows that breaks it; of all that
        do, one that shows what most pairs show."""
        assert self.counted.firsts is not None, "pairs were kept"
        words = self._words()
        lines, which = distinct(np.concatenate([known, words]))
        is_known = np.zeros(len(lines), np.bool_)
        is_known[which[: len(known)]] = True
        fresh = np.flatnonzero(~is_known[which[len(known) :]])
        fresh = fresh[np.argsort(-self.counted.counts[fresh], kind="stable")]
        both = np.stack([words[fresh], permuted(words[fresh], self.space.mirror)], axis=1)
        broken = first_missed(~masks & full_mask(self.space), both.reshape(-1, words.shape[1]))
        wanted = fresh[np.unique(broken[broken >= 0] // 2)]
        pairs = self.counted.firsts[wanted].tolist()
        return [
            NewPair(pair // FIRST + self.start, pair % FIRST, words[i]) for i, pair in zip(wanted, pairs, strict=True)
        ]


def listed(
    space: PredicateSpace, nulls: Nulls, changed: KeptRows, others: KeptRows, left: Ints, right: Ints
) -> Iterator[Related]:
    """What the given pairs of a changed row and another one show, by their positions, block by block."""
    order = np.argsort(left, kind="stable")
    left, right = left[order], right[order]
    for start in range(0, changed.size, MOST_ROWS):
        part = slice(*np.searchsorted(left, [start, start + MOST_ROWS]))
        if part.start == part.stop:
            continue
        rows, where = np.unique(right[part], return_inverse=True)
        block = changed.part(start, start + MOST_ROWS)
        blocks, shown = _blocks(space, nulls, block, others.take(rows), within=False)
        counted = blocks.counted_of(left[part] - start, where.astype(np.int64))
        assert counted.firsts is not None, "pairs were kept"
        of_all = counted.firsts // FIRST * FIRST + rows[counted.firsts % FIRST]
        yield Related(space, blocks, shown, replace(counted, firsts=of_all), start)


def related(
    space: PredicateSpace, nulls: Nulls, changed: KeptRows, others: KeptRows, *, threads: int = 1, firsts: bool = False
) -> Iterator[Related]:
    """What the changed rows show with all others, block by block; with `firsts`, pairs that break rules are told."""
    for start in range(0, changed.size, MOST_ROWS):
        block = changed.part(start, start + MOST_ROWS)
        if others.size:
            yield _related(space, nulls, block, others, start, threads, firsts)


def related_within(
    space: PredicateSpace, nulls: Nulls, changed: KeptRows, *, threads: int = 1, firsts: bool = False, share: int = 0,
    shares: int = 1,
) -> Iterator[tuple[Related, int]]:  # fmt: skip
    """What the changed rows show with each other, block by block, with the position of the first row on the right; of
    all blocks one share."""
    for start in range(share * MOST_ROWS, changed.size, shares * MOST_ROWS):
        block = changed.part(start, start + MOST_ROWS)
        yield _related(space, nulls, block, block, start, threads, firsts, within=True), start
        after = start + block.size
        if after < changed.size:
            yield _related(space, nulls, block, changed.part(after, changed.size), start, threads, firsts), after


def _related(
    space: PredicateSpace, nulls: Nulls, block: KeptRows, others: KeptRows, start: int, threads: int,
    firsts: bool, *, within: bool = False,
) -> Related:  # fmt: skip
    blocks, shown = _blocks(space, nulls, block, others, within=within)
    return Related(space, blocks, shown, blocks.counted(threads=threads, firsts=firsts), start)


def _blocks(
    space: PredicateSpace, nulls: Nulls, block: KeptRows, others: KeptRows, *, within: bool
) -> tuple[BlockPair, tuple[tuple[int, ...], ...]]:
    """The two blocks as the kernel compares them, and the bits that the states of their operand pairs show."""
    left, right, ways, shown = _compared(space, nulls, block, others, wide=False)
    places = tuple(range(len(ways)))
    packing = Packing(places, places, ways, tuple(map(len, shown)))
    return BlockPair(left, right, packing, within), shown


def _compared(
    space: PredicateSpace, nulls: Nulls, block: KeptRows, others: KeptRows, *, wide: bool
) -> tuple[Any, Any, tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Per operand pair the codes of both blocks, which compare with each other, its way, and the bits it shows."""
    nullable = [
        name for name in space.columns if not (bool(block.valid[name].all()) and bool(others.valid[name].all()))
    ]
    how = [comparing(pair, nullable, nulls) for pair in space.pairs]
    kind = np.int32 if wide else np.int16
    left, right = np.zeros((len(how), block.size), kind), np.zeros((len(how), others.size), kind)
    for i, (pair, comparison) in enumerate(zip(space.pairs, how, strict=True)):
        if pair.one_row:
            left[i] = _states_of_rows(block, comparison.names, comparison.way, comparison.nulls_are_values)
            right[i] = _states_of_rows(others, comparison.names, comparison.way, comparison.nulls_are_values)
            continue
        a, b = comparison.names
        left[i], right[i] = beside(
            block.codes[a],
            block.valid[a],
            others.codes[b],
            others.valid[b],
            nulls_equal=comparison.nulls_are_values,
            wide=wide,
        )
    ways = tuple(row_way(p) if p.one_row else comparison.way for p, comparison in zip(space.pairs, how, strict=True))
    return left, right, ways, tuple(comparison.shown for comparison in how)


def evidence_on_card(
    space: PredicateSpace, nulls: Nulls, changed: KeptRows, others: KeptRows, *, card: int
) -> Evidence:
    """What the changed rows show with all others and with each other, counted on a GPU of this machine."""
    everyone = changed.plus(others)
    left, right, ways, shown = _compared(space, nulls, changed, everyone, wide=True)
    pairs = len(ways)
    columns = np.zeros((2 * pairs, everyone.size), np.int32)
    columns[:pairs, : changed.size], columns[pairs:] = left, right
    places = tuple(range(pairs))
    packing = Packing(places, tuple(p + pairs for p in places), ways, tuple(map(len, shown)))
    ones = np.ones(everyone.size, np.int64)
    counted = gpu_evidence.all_pairs(columns, ones, packing, card=card, first=changed.size)
    return both_orders(space, shown_words(space, packing, shown, counted), counted.counts)


def _states_of_rows(rows: KeptRows, names: tuple[str, str], way: int, nulls_are_values: bool) -> Short:
    """The state of two columns of one row, per row, as the evidence kernel numbers them."""
    (a, b), (a_valid, b_valid) = ((part[names[0]], part[names[1]]) for part in (rows.codes, rows.valid))
    both, neither = a_valid & b_valid, ~a_valid & ~b_valid
    if way in (EQUALITY, EQUALITY_SKIP):
        states = np.where(both, a != b, 2)
        if nulls_are_values:
            states = np.where(both, a != b, ~neither)
        return states.astype(np.int16)
    missing = np.where(neither & (way == ORDER_MEET), 1, 3)
    return np.where(both, (a >= b).astype(np.int16) + (a > b), missing).astype(np.int16)


def coded(rows: KeptRows, together: Sequence[Sequence[str]], space: PredicateSpace, nulls: Nulls) -> CodedRows:
    """The rows as a search takes them; columns that stand together have codes that compare with each other."""
    return collapsed_rows(small_codes(rows, together), rows.size, space, nulls)


def coded_apart(rows: KeptRows, together: Sequence[Sequence[str]], space: PredicateSpace, nulls: Nulls) -> CodedRows:
    """As `coded`, every row for itself, in order."""
    return rows_apart(small_codes(rows, together), rows.size, space, nulls)


def small_codes(rows: KeptRows, together: Sequence[Sequence[str]]) -> dict[str, NDArray[np.int32]]:
    """Per column the rank of each value among those of the columns it stands together with; -1 for a null."""
    codes: dict[str, NDArray[np.int32]] = {}
    for family in together:
        alike = [Coded(rows.codes[name], rows.valid[name]) for name in family]
        codes.update(zip(family, dense_codes(alike), strict=True))
    return {name: codes[name] for name in rows.codes}
