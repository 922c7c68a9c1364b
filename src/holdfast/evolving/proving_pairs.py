"""Pairs of rows that prove a set of rules the most general, so that rows may go without a search from nothing.

Rules hold because no pair breaks them, which stays so when rows go. That none is more general follows from what few
pairs show: as long as those are there, the rules are what they were. What a pair showed whose rows went may open the
way for more general candidates, which are put to the table; a pair that breaks one of them takes its place.
`find_in` is the twin that starts from nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.evolving.repair import strengthened
from holdfast.kernels.evidence import FIRST, Counted, merged, packed_pairs
from holdfast.kernels.extended_sets import contained_in
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, shown_words
from holdfast.search.evidence import Evidence, Ints, distinct
from holdfast.search.invert import allowed_relations, full_mask, most_general
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import PredicateSpace, Words, both_ways
from holdfast.search.walk import pairs_that_violate
from holdfast.states.lawful import Mergeable

# So many pairs that show the same are kept: one of them stays when a row of another goes.
_ALIKE = 3
# What pairs are looked at to begin with: drawn at random, so many per pair that is kept of those alike, and so many
# rows in the order of each column, each with those so close behind it.
_DRAWN, _DRAWN_AT_ONCE, _ORDERED_ROWS, _BEHIND = 400_000, 100_000, 50_000, 3
# Of so much less evidence than a search has.
_FEWER_KINDS = 8
# Candidates are put to so many rows before they are put to all, so many at a time, and brought so many pairs at most.
_FEW_ROWS, _AT_ONCE, _PAIRS_OF_CANDIDATE = 8_000, 64, 64
# Looks at a few rows cost as much as so many walks over all.
_WALKS_OF_FEW = 8


@dataclass(frozen=True)
class ProvingPairs(Mergeable):
    """Pairs of rows by the ids of their rows, and the bits each shows with its left row as t.

    Several rows may have one id; a pair is then gone when one of them goes.
    """

    words: Words
    left: Ints
    right: Ints

    def __len__(self) -> int:
        return len(self.left)

    def plus(self, later: ProvingPairs) -> ProvingPairs:
        """These pairs and the later ones, of those that show the same a few, the earlier ones."""
        words = np.concatenate([self.words, later.words])
        left, right = np.concatenate([self.left, later.left]), np.concatenate([self.right, later.right])
        _, which = distinct(words)
        order = np.argsort(which, kind="stable")
        starts = np.flatnonzero(np.diff(which[order], prepend=-1))
        within = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        return ProvingPairs(words, left, right)._of(np.sort(order[within < _ALIKE]))

    def which(self, kept: NDArray[np.bool_]) -> ProvingPairs:
        """Those of the pairs."""
        return self._of(np.flatnonzero(kept))

    def without(self, gone: Ints) -> ProvingPairs:
        """The pairs that are left when the rows with these ids have gone."""
        return self._of(np.flatnonzero(~np.isin(self.left, gone) & ~np.isin(self.right, gone)))

    def named(self, ids: Ints) -> ProvingPairs:
        """The pairs, of which rows that were numbered -1, -2, ... have these ids now."""

        def named(own: Ints) -> Ints:
            now = own.copy()
            now[own < 0] = ids[-1 - own[own < 0]]
            return now

        return replace(self, left=named(self.left), right=named(self.right))

    def _of(self, which: Ints) -> ProvingPairs:
        return ProvingPairs(self.words[which], self.left[which], self.right[which])

    def evidence(self, space: PredicateSpace) -> Evidence:
        """What the pairs show, in both orders; each kind counts once."""
        words, _ = distinct(both_ways(space, self.words))
        return Evidence(words, np.ones(len(words), np.int64))


def no_pairs(space: PredicateSpace) -> ProvingPairs:
    return ProvingPairs(np.zeros((0, space.words), np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Proven:
    """The most general constraints of all rows, and pairs that prove it."""

    masks: Words
    pairs: ProvingPairs


def proving_pairs(
    masks: Words, rows: CodedRows, ids: Ints, options: DiscoverOptions, *, threads: int
) -> ProvingPairs | None:
    """Pairs that prove the constraints, which are the most general ones of the rows; None where too many candidates
    would have to be put to all rows."""
    pairs = _looked_at(rows, ids, options)
    candidates = most_general(rows.space, pairs.evidence(rows.space), options, Clock(None), threads=threads)
    if not candidates.complete:
        return None
    proven = put_to_the_table(rows.space, candidates.masks, masks, pairs, lambda: (rows, ids), options, threads=threads)
    return None if proven is None else proven.pairs


def put_to_the_table(
    space: PredicateSpace, candidates: Words, held: Words, pairs: ProvingPairs,
    everyone: Callable[[], tuple[CodedRows, Ints]], options: DiscoverOptions, *, threads: int,
) -> Proven | None:  # fmt: skip
    """The most general constraints of the rows, given the `candidates`, those that the pairs leave, and some that are
    `held`: what breaks one of these shows what one of the pairs shows. None where too many candidates would have to be
    put to all rows.

    `everyone` gives all rows and their ids, and is only asked for where there is a candidate that does not follow from
    what is held. Cost: per candidate a walk over a few rows, and over all rows where none of those breaks it.
    """
    left = options.limits.most_walks
    while True:
        undecided = candidates[~_follow(space, candidates, held)]
        if not len(undecided):
            return Proven(candidates, pairs)
        if left <= 0 or len(undecided) > options.limits.most_undecided:
            return None
        rows, ids = everyone()
        walked = _walked(undecided, rows, options, threads)
        left -= walked.walks or _WALKS_OF_FEW
        held = np.concatenate([held, walked.holding])
        if not len(walked.left):
            continue
        fresh = shown_pairs(rows, ids, walked.left, walked.right)
        stronger = strengthened(space, candidates, both_ways(space, fresh.words), options, however_many=True)
        if stronger is None:
            return None
        candidates, pairs = stronger.masks, pairs.plus(fresh)


def shown_pairs(rows: CodedRows, ids: Ints, left: Ints, right: Ints) -> ProvingPairs:
    """The pairs of rows at these positions, one for each thing that they show."""
    packed = packed_pairs(rows.codes, left, right, rows.packing)
    counted = merged([Counted(packed, np.ones(len(left), np.int64), left * FIRST + right)])
    assert counted.firsts is not None, "pairs were kept"
    words = shown_words(rows.space, rows.packing, rows.shown, counted)
    return ProvingPairs(words, ids[counted.firsts // FIRST], ids[counted.firsts % FIRST])


def _follow(space: PredicateSpace, masks: Words, held: Words) -> NDArray[np.bool_]:
    """Which of the constraints follow from one of those that hold: they allow no more than it."""
    full = full_mask(space)
    return contained_in(~masks & full, both_ways(space, ~held & full)) >= 0


def _looked_at(rows: CodedRows, ids: Ints, options: DiscoverOptions) -> ProvingPairs:
    """Pairs drawn at random, and pairs that are close in some column: equal and almost equal values are rare at
    random. Fewer where they are of too many kinds."""
    size, chance = rows.codes.shape[1], np.random.default_rng(options.seed)
    pairs, most = no_pairs(rows.space), options.limits.evidence_words // rows.space.words // _FEWER_KINDS
    for left, right in _drawn(rows, size, chance):
        if len(pairs) > _ALIKE * most:
            break
        pairs = pairs.plus(shown_pairs(rows, ids, left, right))
    return pairs


def _drawn(rows: CodedRows, size: int, chance: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of few rows; of others some, a part at a time, by position."""
    if size * (size - 1) // 2 <= _DRAWN:
        left, right = np.triu_indices(size, 1)
        for start in range(0, len(left), _DRAWN_AT_ONCE):
            yield left[start : start + _DRAWN_AT_ONCE], right[start : start + _DRAWN_AT_ONCE]
        return
    for _ in range(-(-_ALIKE * _DRAWN // _DRAWN_AT_ONCE)):
        left, right = chance.integers(0, size, (2, min(_DRAWN, _DRAWN_AT_ONCE)))
        apart = left != right
        yield left[apart], right[apart]
    few = np.sort(chance.permutation(size)[:_ORDERED_ROWS])
    for line in sorted({rows.packing.left[i] for i, pair in enumerate(rows.space.pairs) if pair.same_column}):
        order = few[np.lexsort((chance.permutation(len(few)), rows.codes[line][few]))]
        for behind in range(1, _BEHIND + 1):
            yield order[:-behind], order[behind:]


@dataclass(frozen=True)
class _Walked:
    """Pairs of rows, by position, that break some candidates; candidates that all rows hold; and to how many all rows
    were put."""

    left: Ints
    right: Ints
    holding: Words
    walks: int


def _walked(masks: Words, rows: CodedRows, options: DiscoverOptions, threads: int) -> _Walked:
    """Some of the candidates put to a few rows, and to all where none of those breaks one."""
    space, size, flag = rows.space, rows.codes.shape[1], np.zeros(1, np.int64)
    short = np.argsort(np.bitwise_count(~masks & full_mask(space)).sum(axis=1), kind="stable")
    few = np.sort(np.random.default_rng(options.seed).permutation(size)[:_FEW_ROWS])
    sample = CodedRows(space, rows.packing, rows.shown, rows.codes[:, few], rows.weights[few])

    def violations(masks: Words, rows: CodedRows) -> list[tuple[Ints, Ints, bool]]:
        allowed = allowed_relations(space, masks)

        def walk(i: int) -> tuple[Ints, Ints, bool]:
            return pairs_that_violate(rows, masks[i], allowed[i], flag, limit=_PAIRS_OF_CANDIDATE, seed=options.seed)

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(walk, range(len(masks))))

    def side(walks: list[tuple[Ints, Ints, bool]], which: int) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *(pairs[which] for pairs in walks)])

    if size > _FEW_ROWS:
        first = violations(masks[short[: 4 * _AT_ONCE]], sample)
        if any(len(left) for left, _, _ in first):
            return _Walked(few[side(first, 0)], few[side(first, 1)], masks[:0], 0)
    chosen = masks[short[:_AT_ONCE]]
    walks = violations(chosen, rows)
    holding = np.array([finished and not len(left) for left, _, finished in walks], np.bool_)
    return _Walked(side(walks, 0), side(walks, 1), chosen[holding], len(chosen))
