"""The most general constraints of a table with too many rows for all pairs: sample, invert, complete.

As in Hydra: evidence from a sample gives candidates; candidates that the whole table violates give new evidence; when
none is left, the candidates are the answer. Hydra's completion refines partitions candidate by candidate. Here most
candidates are settled together: once the evidence of *all* pairs that agree on some columns is known, every candidate
with these equalities is decided by the evidence alone. The others are each put to the table by a walk over two trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from threading import Timer

import numpy as np
from numpy.typing import NDArray

from holdfast.discover.clock import Clock
from holdfast.discover.coded_rows import CodedRows
from holdfast.discover.invert import allowed_relations, most_general
from holdfast.discover.options import DiscoverOptions
from holdfast.discover.space import Words
from holdfast.kernels.dual_tree import EQUAL, GREATER, LESS, NULL_BESIDE_VALUE, satisfying_pairs
from holdfast.kernels.evidence import (
    EQUALITY_SKIP,
    LEFT_ROW,
    NULL,
    ORDER_MEET,
    ORDER_SKIP,
    RIGHT_ROW,
    all_pairs,
    pairs_in_groups,
)
from holdfast.rules.relation import ANY, EQ, GT, LT, NE
from holdfast.states.evidence import Evidence, evidence

Ints = NDArray[np.int64]

SAMPLED_ROWS = 6_000
WINDOWED_ROWS, WINDOW = 200_000, 16
# Equalities whose rows form so few pairs, per row of the table, are settled before anything is known.
CHEAP_PAIRS_PER_ROW = 200
# What a walk for one candidate costs, in pairs per row that the evidence kernel could have done instead.
WALK_PAIRS_PER_ROW = 300
PAIRS_PER_CANDIDATE = 512
CANDIDATES_PER_TURN = 64
_ESTIMATE_ROWS = 20_000
_MOST_EQUALITIES = 3


@dataclass(frozen=True)
class Completed:
    """Masks that are valid on the whole table, evidence with estimated counts, and whether those are all masks."""

    masks: Words
    evidence: Evidence
    complete: bool
    why: str | None = None


def complete_by_sample(rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int) -> Completed:
    """The masks of the most general constraints of the whole table, from the evidence of few of its pairs."""
    return _Completion(rows, options, clock, threads).run()


class _Completion:
    """A search under way: the evidence known so far, the equalities it is complete for, the masks put to the table."""

    def __init__(self, rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int) -> None:
        self.rows, self.options, self.clock, self.threads = rows, options, clock, threads
        self.size = rows.codes.shape[1]
        self.random = np.random.default_rng(options.seed)
        # Operand pairs of one column over two rows: those whose equality divides rows into groups.
        self.columns = [i for i, pair in enumerate(rows.space.pairs) if pair.same_column]
        self.settled: list[tuple[int, ...]] = []
        self.verified: set[bytes] = set()
        few = np.sort(self.random.permutation(self.size)[:_ESTIMATE_ROWS])
        self._few = CodedRows(rows.space, rows.layout, rows.shown, rows.codes[:, few], rows.weights[few])
        self._costs: dict[tuple[int, ...], float] = {}

    def run(self) -> Completed:
        with self.clock.phase("sample"):
            sample = self._sample()
            known = sample.plus(self._neighbours())
        with self.clock.phase("settle"):
            cheap = [(i,) for i in self.columns if self._cost((i,)) <= CHEAP_PAIRS_PER_ROW * self.size]
            known = known.plus(self._settle(cheap))
        while True:
            masks, inverted = most_general(self.rows.space, known, self.options, self.clock, threads=self.threads)
            open_ones = self._open(masks)
            if not inverted or self.clock.over:
                valid = np.setdiff1d(np.arange(len(masks)), open_ones)
                why = "the time limit was reached before every candidate was put to the whole table"
                return Completed(masks[valid], self._estimated(sample, known), False, why)
            if len(open_ones) == 0:
                return Completed(masks, self._estimated(sample, known), True)
            with self.clock.phase("settle"):
                worth = self._worth_settling(masks[open_ones])
                new = self._settle(worth)
            if not worth:
                with self.clock.phase("walk"):
                    new = self._walk(masks[open_ones])
            known = known.plus(new)

    # Evidence from few pairs -----------------------------------------------------------------------------------

    def _sample(self) -> Evidence:
        """All pairs of a few rows, chosen at random: what pairs of this table look like."""
        some = np.sort(self.random.permutation(self.size)[:SAMPLED_ROWS])
        rows = self.rows
        return rows.evidence(all_pairs(rows.codes[:, some], rows.weights[some], rows.layout, threads=self.threads))

    def _neighbours(self) -> Evidence:
        """Pairs that are close in some column, as in focused sampling: equal and almost equal values are the rare
        ones at random."""
        rows = self.rows
        some = np.sort(self.random.permutation(self.size)[:WINDOWED_ROWS])
        codes, weights = rows.codes[:, some], rows.weights[some]
        chance = self.random.permutation(len(some))
        known = self._nothing()
        for line in sorted({rows.layout.left[i] for i in self.columns}):
            groups = np.empty(len(some), np.int64)
            groups[np.lexsort((chance, codes[line]))] = np.arange(len(some)) // WINDOW
            counted = pairs_in_groups(codes, weights, groups, rows.layout, threads=self.threads)
            known = known.plus(rows.evidence(counted))
        return known

    def _nothing(self) -> Evidence:
        return Evidence(np.zeros((0, self.rows.space.words), np.uint64), np.zeros(0, np.int64))

    def _estimated(self, sample: Evidence, known: Evidence) -> Evidence:
        """All known evidence, counted as the sample has it; what the sample has not is rare, and counts once."""
        n = self.rows.rows
        scale = n * (n - 1) / max(sample.pairs, 1)
        scaled = np.maximum(np.round(sample.counts * scale), 1).astype(np.int64)
        once = evidence(np.concatenate([known.words, sample.words]), np.ones(len(known) + len(sample), np.int64))
        rare = Evidence(once.words, np.where(once.counts == 1, 1, 0))
        return Evidence(sample.words, scaled).plus(rare)

    # All pairs that agree on some columns ------------------------------------------------------------------------

    def _groups(self, rows: CodedRows, equal: Sequence[int]) -> Ints:
        """Rows that agree on these operand pairs have one number; -1 for rows that agree with none, for a null."""
        ids = np.zeros(rows.codes.shape[1], np.int64)
        out = np.zeros(len(ids), np.bool_)
        for i in equal:
            codes = rows.codes[rows.layout.left[i]]
            if rows.layout.ways[i] in (EQUALITY_SKIP, ORDER_SKIP):
                out |= codes == NULL
            joint = ids * (int(codes.max(initial=NULL)) + 2) + (codes.astype(np.int64) + 1)
            ids = joint if i == equal[0] else np.unique(joint, return_inverse=True)[1]
        ids[out] = -1
        return ids

    def _cost(self, equal: tuple[int, ...]) -> float:
        """About how many pairs of rows agree on these operand pairs, judged by a few rows."""
        if equal not in self._costs:
            groups = self._groups(self._few, equal)
            sizes = np.unique(groups[groups >= 0], return_counts=True)[1].astype(np.float64)
            share = len(groups) / max(self.size, 1)
            self._costs[equal] = float((sizes * (sizes - 1)).sum()) / 2 / max(share, 1e-12) ** 2 + self.size
        return self._costs[equal]

    def _settle(self, choices: Iterable[tuple[int, ...]]) -> Evidence:
        """The evidence of all pairs that agree on one of the choices; constraints with its equalities are decided by
        it from now on."""
        rows, known = self.rows, self._nothing()
        for equal in choices:
            if self.clock.over:
                break
            groups = self._groups(rows, equal)
            counted = pairs_in_groups(rows.codes, rows.weights, groups, rows.layout, threads=self.threads)
            known = known.plus(rows.evidence(counted))
            self.settled.append(equal)
        return known

    def _equalities(self, masks: Words) -> NDArray[np.bool_]:
        """Per mask and operand pair, whether it asks for equality within one column."""
        equal: NDArray[np.bool_] = allowed_relations(self.rows.space, masks) == EQ
        others = np.setdiff1d(np.arange(equal.shape[1]), self.columns)
        equal[:, others] = False
        return equal

    def _open(self, masks: Words) -> Ints:
        """Which masks are neither decided by settled equalities nor put to the table yet."""
        equal = self._equalities(masks)
        decided = np.array([mask.tobytes() in self.verified for mask in masks], np.bool_)
        for choice in self.settled:
            decided |= equal[:, list(choice)].all(axis=1)
        return np.flatnonzero(~decided)

    def _worth_settling(self, masks: Words) -> list[tuple[int, ...]]:
        """Choices of equalities that decide many of these masks at less than the cost of a walk for each."""
        equal, times = np.unique(self._equalities(masks), axis=0, return_counts=True)
        chosen: list[tuple[int, ...]] = []
        while len(equal):
            decides: Counter[tuple[int, ...]] = Counter()
            for line, n in zip(equal, times.tolist(), strict=True):
                places = np.flatnonzero(line).tolist()
                for size in range(1, _MOST_EQUALITIES + 1):
                    for choice in combinations(places, size):
                        decides[choice] += n
            if not decides:
                break
            best = max(decides, key=lambda choice: (decides[choice] / self._cost(choice), -len(choice), choice))
            if self._cost(best) > decides[best] * WALK_PAIRS_PER_ROW * self.size:
                break
            chosen.append(best)
            rest = ~equal[:, list(best)].all(axis=1)
            equal, times = equal[rest], times[rest]
        return chosen

    # One candidate against the table -----------------------------------------------------------------------------

    def _walk(self, masks: Words) -> Evidence:
        """The evidence of pairs that violate some of these masks; those that none violates are verified.

        Short ones first. Ends early when many are violated: their successors are better candidates.
        """
        allowed = allowed_relations(self.rows.space, masks)
        order = np.argsort((allowed != ANY).sum(axis=1), kind="stable")
        known, flag = self._nothing(), np.zeros(1, np.int64)
        left = self.clock.left
        timer = Timer(max(left, 0.0), flag.__setitem__, (0, 1)) if left is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            with ThreadPoolExecutor(self.threads) as pool:
                for start in range(0, len(order), CANDIDATES_PER_TURN):
                    turn = order[start : start + CANDIDATES_PER_TURN]
                    found = list(pool.map(lambda i: self._violations(masks[i], allowed[i], flag), turn))
                    for i, (one, _, finished) in zip(turn, found, strict=True):
                        if finished and len(one) == 0:
                            self.verified.add(masks[i].tobytes())
                    ones, others = (np.concatenate([pairs[side] for pairs in found]) for side in (0, 1))
                    if len(ones):
                        known = known.plus(self.rows.evidence_of_pairs(ones, others))
                    violated = sum(len(one) > 0 for one, *_ in found)
                    if flag[0] or (violated and 4 * violated >= len(turn)):
                        break
        finally:
            if timer is not None:
                timer.cancel()
        return known

    def _violations(self, mask: Words, allowed: NDArray[np.uint8], flag: Ints) -> tuple[Ints, Ints, bool]:
        """Some pairs of rows that violate the constraint, and whether there are no more."""
        rows, layout = self.rows, self.rows.layout
        sides = [np.ones(self.size, np.bool_), np.ones(self.size, np.bool_)]
        compared = []
        for i in np.flatnonzero(allowed != (EQ | NE)).tolist():
            way = layout.ways[i]
            if way in (LEFT_ROW, RIGHT_ROW):
                start = rows.space.first_bits[i]
                bits = sum(int(mask[b // 64] >> np.uint64(b % 64) & np.uint64(1)) << (b - start)
                           for b in range(start, rows.space.first_bits[i + 1]))  # fmt: skip
                fits = np.array([shown & ~bits == 0 for shown in rows.shown[i]])
                sides[way == RIGHT_ROW] &= fits[rows.codes[layout.left[i]]]
                continue
            if way in (EQUALITY_SKIP, ORDER_SKIP):
                sides[0] &= rows.codes[layout.left[i]] != NULL
                sides[1] &= rows.codes[layout.right[i]] != NULL
            compared.append(i)
        # Equalities first: they keep apart what cannot meet; then inequalities, whose order narrows the boxes.
        compared.sort(key=lambda i: (allowed[i] != EQ, allowed[i] == NE, i))
        ways = np.array([_ways(int(allowed[i]), layout.ways[i]) for i in compared], np.int64)
        trees: list[tuple[NDArray[np.int32], Ints]] = []
        for side, lines in enumerate((layout.left, layout.right)):
            used = [lines[i] for i in compared]
            if side == 1 and used == [layout.left[i] for i in compared] and (sides[0] == sides[1]).all():
                trees.append(trees[0])
            else:
                trees.append(self._sorted(used, sides[side]))
        (left, left_ids), (right, right_ids) = trees
        return satisfying_pairs(
            left, right, ways, left_ids, right_ids, rows.weights > 1,
            limit=PAIRS_PER_CANDIDATE, seed=self.options.seed, flag=flag,
        )  # fmt: skip

    def _sorted(self, lines: Sequence[int], among: NDArray[np.bool_]) -> tuple[NDArray[np.int32], Ints]:
        """The codes of these lines for the rows among those given, sorted, and their numbers. Of rows that are alike on
        all lines two are enough."""
        ids = np.flatnonzero(among)
        key, size = np.zeros(len(ids), np.int64), 1
        for line in lines:
            codes = self.rows.codes[line][ids].astype(np.int64) + 1
            radix = int(codes.max(initial=0)) + 1
            if size * radix >= 2**62:
                key = np.unique(key, return_inverse=True)[1].astype(np.int64)
                size = int(key.max(initial=0)) + 1
            key, size = key * radix + codes, size * radix
        order = np.argsort(key)
        key, ids = key[order], ids[order]
        third = np.zeros(len(ids), np.bool_)
        third[2:] = key[2:] == key[:-2]
        ids = ids[~third]
        return np.ascontiguousarray(self.rows.codes[np.asarray(lines, np.int64)][:, ids]), ids


def _ways(allowed: int, way: int) -> int:
    """The relations of a constraint's operand pair as the walk reads them."""
    ways = (LESS if allowed & LT else 0) | (EQUAL if allowed & EQ else 0) | (GREATER if allowed & GT else 0)
    return ways | NULL_BESIDE_VALUE if way == ORDER_MEET and allowed == NE else ways
