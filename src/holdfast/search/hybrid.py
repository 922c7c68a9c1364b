"""The most general constraints of a table with too many rows for all pairs: sample, invert, complete.

As in Hydra: evidence from a sample gives candidates; candidates that the whole table violates give new evidence; when
none is left, the candidates are the answer. Hydra's completion refines partitions candidate by candidate. Here most
candidates are settled together: once the evidence of *all* pairs that agree on some columns (and differ on one more)
is known, every candidate that speaks of such pairs only is decided by the evidence alone. The others are each put to
the table by a walk over two trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.evidence import (
    EQUALITY_SKIP,
    NULL,
    ORDER_SKIP,
    CountingEnded,
    CountingLimits,
    all_pairs,
    pairs_in_groups,
)
from holdfast.kernels.flag import raised_after
from holdfast.kernels.support import violating_pairs
from holdfast.rules.relation import ANY, EQ
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows
from holdfast.search.drawn import drawn_evidence
from holdfast.search.evidence import Evidence, Flags, Floats, Ints, distinct, evidence
from holdfast.search.invert import allowed_relations, by_ranges, most_general
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import Meeting
from holdfast.search.space import Words
from holdfast.search.walk import pairs_that_violate

# So many comparisons of the sample are made at a time.
_SAMPLED_AT_ONCE = 1 << 26
# Rows that are close are related until their evidence has so many times the words of what a search is given.
_MOST_NEIGHBOURS = 4
_MOST_EQUALITIES = 3


@dataclass(frozen=True)
class Completed:
    """Masks that are valid on the whole table, evidence with estimated counts, and whether those are all masks.

    What pairs show that meet in one of the ways `settled` is counted, and all of it is there.
    """

    masks: Words
    evidence: Evidence
    complete: bool
    why: str | None = None
    settled: tuple[Meeting, ...] = ()


def complete_by_sample(rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int) -> Completed:
    """The masks of the most general constraints of the whole table, from the evidence of few of its pairs."""
    return _Completion(rows, options, clock, threads).run()


def complete_if_small(rows: CodedRows, options: DiscoverOptions, clock: Clock, *, threads: int) -> Completed | None:
    """As `complete_by_sample`, where that takes little work, by what each step is about to take; None where it takes
    more, or more time than the clock has."""
    return _Completion(rows, options, clock, threads).run_if_small()


class DrawnPairs:
    """What is known of a table of which few pairs were drawn: evidence that stands for all, and what was put to the
    table. A `KnownPairs` of the search for the best."""

    def __init__(self, rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int) -> None:
        limits = options.limits
        self._clock, self._threads = clock, threads
        self._completion = _Completion(rows, options, clock, threads, pairs_per_candidate=limits.pairs_of_best)
        with clock.phase("sample"):
            columns = [i for i in self._completion.columns if i not in self._completion.twins]
            self._drawn = drawn_evidence(rows, columns, pairs=limits.drawn_pairs, seed=options.seed, over=clock.is_over)
        self._found = self._completion.nothing()

    @property
    def evidence(self) -> Evidence:
        """What was drawn, with estimated counts; what was only found later is rare, and counts once."""
        words, which = distinct(np.concatenate([self._drawn.words, self._found.words]))
        counts = np.ones(len(words), np.int64)
        counts[which[: len(self._drawn)]] = self._drawn.counts
        return Evidence(words, counts)

    def hold(self, masks: Words) -> bool:
        """Whether no pair of the table violates these masks; if some do, or time is up, there is more evidence."""
        undecided = self._completion.open(masks)
        if len(undecided) == 0:
            return True
        with self._clock.phase("walk"):
            evidence = self._completion.walk(masks[undecided])
        self._found = self._found.plus(evidence)
        return len(evidence) == 0 and len(self._completion.open(masks)) == 0

    def holding(self, masks: Words) -> Flags:
        """Which of the masks hold for sure."""
        sure = np.ones(len(masks), np.bool_)
        sure[self._completion.open(masks)] = False
        violating = violating_pairs(masks, self._found.words, self._found.counts, threads=self._threads)
        sure[violating > 0] = False
        return sure


class _Completion:
    """A search under way: the evidence known so far, the meetings it is complete for, the masks put to the table."""

    def __init__(
        self, rows: CodedRows, options: DiscoverOptions, clock: Clock, threads: int, *,
        pairs_per_candidate: int | None = None,
    ) -> None:  # fmt: skip
        self.rows, self.options, self.clock, self.threads = rows, options, clock, threads
        self.limits = options.limits
        self.pairs_per_candidate = pairs_per_candidate or options.limits.pairs_per_candidate
        self.size = rows.codes.shape[1]
        self.random = np.random.default_rng(options.seed)
        # Operand pairs of one column over two rows: those whose equality divides rows into groups.
        self.columns = [i for i, pair in enumerate(rows.space.pairs) if pair.same_column]
        self.twins = self._twins()
        self.settled: list[Meeting] = []
        # What pairs show that meet in one of these ways, with the counts of all pairs of the table that show it.
        self.counted = self.nothing()
        self.verified: set[bytes] = set()
        chance = self.random.permutation(self.size)
        self._draws = _growing_draws(chance, self.limits.first_rows, self.limits.more_rows)
        few = np.sort(chance[: self.limits.first_rows])
        self._few = CodedRows(rows.space, rows.packing, rows.shown, rows.codes[:, few], rows.weights[few])
        self._costs: dict[Meeting, float] = {}

    def run(self) -> Completed:
        with self.clock.phase("sample"):
            sample = self._sample()
            known = sample.plus(self._neighbours())
        with self.clock.phase("settle"):
            known = known.plus(self._settle(self._cheap_columns()))
        while True:
            candidates = most_general(self.rows.space, known, self.options, self.clock, threads=self.threads)
            masks = candidates.masks
            undecided = self.open(masks)
            if not candidates.complete or self.clock.over:
                valid = np.setdiff1d(np.arange(len(masks)), undecided)
                why = "the time limit was reached before every candidate was put to the whole table"
                if candidates.too_many:
                    why = "there are more candidates than can be kept, and not all were put to the whole table"
                if len(valid) == 0:
                    # Of no rules nothing is asked that known pairs say, and time is up.
                    return Completed(masks[valid], sample, False, why)
                return Completed(masks[valid], self._estimated(sample, known), False, why, tuple(self.settled))
            if len(undecided) == 0:
                return Completed(masks, self._estimated(sample, known), True, None, tuple(self.settled))
            known = known.plus(self.put_to_the_table(masks[undecided]))

    def _cheap_columns(self) -> list[Meeting]:
        """That rows agree on a column, of those where few do."""
        alone: list[Meeting] = [((i,), None) for i in self.columns if i not in self.twins]
        return [m for m in alone if self._cost(m) <= self.limits.cheap_pairs_per_row * self.size]

    def run_if_small(self) -> Completed | None:
        """What `run` gives, or None. A sample of few kinds is inverted first: what it leaves takes the more work the
        more there is of it. Nothing is settled or walked for beyond what the table's size allows."""
        left = self.limits.small_pairs_per_row * self.size
        with self.clock.phase("sample"):
            few = self.random.permutation(self.size)[: self.limits.sampled_rows]
            try:
                sample = self._pairs_of(few, self.limits.small_kinds)
            except CountingEnded:
                return None
            known = sample.plus(self._neighbours())
        while known.words.size <= self.limits.small_kinds:
            candidates = most_general(
                self.rows.space, known, self.options, self.clock, threads=self.threads,
                most_work=self.limits.small_work,
            )  # fmt: skip
            if not candidates.complete or self.clock.over:
                return None
            undecided = self.open(candidates.masks)
            if len(undecided) == 0:
                return Completed(candidates.masks, self._estimated(sample, known), True, None, tuple(self.settled))
            with self.clock.phase("settle"):
                worth = [] if self.settled else self._cheap_columns()
                worth = worth or self._worth_settling(candidates.masks[undecided])
            left -= sum(map(self._cost, worth)) if worth else self._walks(candidates.masks[undecided]).sum()
            if left < 0:
                return None
            with self.clock.phase("settle" if worth else "walk"):
                known = known.plus(self._settle(worth) if worth else self.walk(candidates.masks[undecided]))
        return None

    def put_to_the_table(self, masks: Words) -> Evidence:
        """The evidence of pairs that violate some of these masks; those that none violates are decided, if time is not
        up before."""
        with self.clock.phase("settle"):
            settled = len(self.settled)
            new = self._settle(self._worth_settling(masks))
        if len(self.settled) == settled:
            with self.clock.phase("walk"):
                new = new.plus(self.walk(masks))
        return new

    # Evidence from few pairs -----------------------------------------------------------------------------------

    def _sample(self) -> Evidence:
        """All pairs of a few rows, chosen at random: what pairs of this table look like. Of fewer rows where their
        pairs are of too many kinds, and none when time is up."""
        chance = self.random.permutation(self.size)
        few = self.limits.sampled_rows
        while few > 1:
            try:
                return self._pairs_of(chance[:few], self.limits.evidence_words)
            except CountingEnded as ended:
                if ended.out_of_time:
                    break
                few //= 2
        return self.nothing()

    def _pairs_of(self, few: Ints, most_words: int) -> Evidence:
        """The evidence of all pairs of these rows. Raises CountingEnded where it has more words, or time is up."""
        rows, drawn = self.rows, np.sort(few)
        # In small blocks, between which it is looked whether that is so.
        limits = CountingLimits(
            at_once=_SAMPLED_AT_ONCE, most_kinds=most_words // rows.space.words, over=self.clock.is_over
        )
        counted = all_pairs(
            rows.codes[:, drawn], rows.weights[drawn], rows.packing, threads=self.threads, limits=limits
        )
        return rows.evidence(counted)

    def _neighbours(self) -> Evidence:
        """Pairs that are close in some column, as in focused sampling: equal and almost equal values are the rare
        ones at random."""
        rows = self.rows
        drawn = np.sort(self.random.permutation(self.size)[: self.limits.windowed_rows])
        codes, weights = rows.codes[:, drawn], rows.weights[drawn]
        chance = self.random.permutation(len(drawn))
        known = self.nothing()
        for line in sorted({rows.packing.left[i] for i in self.columns}):
            # Kinds that are too many for the search only cost time.
            if self.clock.over or known.words.size > _MOST_NEIGHBOURS * self.limits.evidence_words:
                break
            groups = np.empty(len(drawn), np.int64)
            groups[np.lexsort((chance, codes[line]))] = np.arange(len(drawn)) // self.limits.window
            counted = pairs_in_groups(codes, weights, groups, rows.packing, threads=self.threads)
            known = known.plus(rows.evidence(counted))
        return known

    def _twins(self) -> dict[int, int]:
        """Columns on which rows agree exactly when they agree on an earlier one, such as a code and its name: those
        that are seen while there is time, since they only save work."""
        codes, packing = self.rows.codes, self.rows.packing
        twins: dict[int, int] = {}
        seen: list[tuple[int, int]] = []
        for i in self.columns:
            if self.clock.over:
                break
            column = codes[packing.left[i]]
            values = len(np.unique(column))
            for first, size in seen:
                if size == values and _as_many(codes[packing.left[first]], column, values):
                    twins[i] = first
                    break
            else:
                seen.append((i, values))
        return twins

    def nothing(self) -> Evidence:
        return Evidence(np.zeros((0, self.rows.space.words), np.uint64), np.zeros(0, np.int64))

    def _estimated(self, sample: Evidence, known: Evidence) -> Evidence:
        """All known evidence, counted where pairs that meet so are settled, else as the sample has it; what the sample
        has not is rare, and counts once."""
        n = self.rows.rows
        scale = n * (n - 1) / max(sample.pairs, 1)
        scaled = np.maximum(np.round(sample.counts * scale), 1).astype(np.int64)
        once = evidence(np.concatenate([known.words, sample.words]), np.ones(len(known) + len(sample), np.int64))
        rare = Evidence(once.words, np.where(once.counts == 1, 1, 0))
        return self.with_counted(Evidence(sample.words, scaled).plus(rare))

    def with_counted(self, estimated: Evidence) -> Evidence:
        """The evidence, with the counts of what is counted."""
        words, which = distinct(np.concatenate([estimated.words, self.counted.words]))
        counts = np.zeros(len(words), np.int64)
        counts[which[: len(estimated)]] = estimated.counts
        counts[which[len(estimated) :]] = self.counted.counts
        return Evidence(words, counts)

    # All pairs that meet on some columns -------------------------------------------------------------------------

    def _groups(self, rows: CodedRows, meeting: Meeting) -> tuple[Ints, Ints | None]:
        """Rows that agree where the meeting asks for it have one number, -1 when they agree with none, for a null;
        and what they have where it asks them to differ."""
        equal, differ = meeting
        ids = np.zeros(rows.codes.shape[1], np.int64)
        out = np.zeros(len(ids), np.bool_)
        for i in (*equal, *(() if differ is None else (differ,))):
            if rows.packing.ways[i] in (EQUALITY_SKIP, ORDER_SKIP):
                out |= rows.codes[rows.packing.left[i]] == NULL
        for at, i in enumerate(equal):
            codes = rows.codes[rows.packing.left[i]].astype(np.int64) + 1
            joint = ids * (int(codes.max(initial=0)) + 1) + codes
            ids = joint if at == 0 else np.unique(joint, return_inverse=True)[1]
        ids[out] = -1
        return ids, None if differ is None else rows.codes[rows.packing.left[differ]].astype(np.int64)

    def _cost(self, meeting: Meeting) -> float:
        """About how many pairs of rows meet so, judged by a few rows."""
        if meeting not in self._costs:
            groups, apart = self._groups(self._few, meeting)
            inside = groups >= 0
            pairs = _pairs_within(groups[inside])
            if apart is not None:
                joint = groups[inside] * (int(apart.max(initial=0)) + 2) + apart[inside] + 1
                pairs -= _pairs_within(joint)
            share = len(groups) / max(self.size, 1)
            self._costs[meeting] = pairs / max(share, 1e-12) ** 2 + self.size
        return self._costs[meeting]

    def _settle(self, meetings: Iterable[Meeting]) -> Evidence:
        """The evidence of all pairs that meet in one of these ways; constraints that only speak of such pairs are
        decided by the evidence from now on."""
        rows, known = self.rows, self.nothing()
        limits = CountingLimits(over=self.clock.is_over)
        for meeting in meetings:
            if self.clock.over:
                break
            groups, apart = self._groups(rows, meeting)
            try:
                counted = pairs_in_groups(
                    rows.codes, rows.weights, groups, rows.packing, apart=apart, threads=self.threads, limits=limits
                )
            except CountingEnded:
                break  # time is up
            met = rows.evidence(counted)
            known = known.plus(met)
            self.counted = _either(self.counted, met)
            self.settled.append(meeting)
        return known

    def _shapes(self, masks: Words) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Ints]:
        """Per mask and operand pair of one column, whether it asks for equality, and whether for difference (`<` does);
        and how many predicates are no such equality."""
        allowed = allowed_relations(self.rows.space, masks)
        others = np.setdiff1d(np.arange(allowed.shape[1]), self.columns)
        equal, differ = allowed == EQ, (allowed & EQ) == 0
        equal[:, others] = differ[:, others] = False
        for twin, first in self.twins.items():
            equal[:, first] |= equal[:, twin]
            differ[:, first] |= differ[:, twin]
            equal[:, twin] = differ[:, twin] = False
        return equal, differ, (allowed != ANY).sum(axis=1) - equal.sum(axis=1)

    def open(self, masks: Words) -> Ints:
        """Which masks are neither decided by settled meetings nor put to the table yet."""
        equal, differ, _ = self._shapes(masks)
        space = self.rows.space
        decided = by_ranges(space, allowed_relations(space, masks), self.rows.ranges)
        decided |= np.array([mask.tobytes() in self.verified for mask in masks], np.bool_)
        for agree, apart in self.settled:
            met = equal[:, list(agree)].all(axis=1)
            decided |= met if apart is None else met & differ[:, apart]
        return np.flatnonzero(~decided)

    def _worth_settling(self, masks: Words) -> list[Meeting]:
        """SiteMeetings that decide these masks at less than the cost of the walks they save, greedily."""
        equal, differ, _ = self._shapes(masks)
        walk = self._walks(masks)
        shapes, which = np.unique(np.concatenate([equal, differ], axis=1), axis=0, return_inverse=True)
        saved = np.bincount(which.ravel(), weights=walk)
        deciding = [_meetings(shape[: equal.shape[1]], shape[equal.shape[1] :]) for shape in shapes]
        gain: Counter[Meeting] = Counter()
        for meetings, cost in zip(deciding, saved.tolist(), strict=True):
            for meeting in meetings:
                gain[meeting] += cost
        chosen: list[Meeting] = []
        undecided = set(range(len(shapes)))
        while undecided and not self.clock.over:
            # Only what could pay is worth an estimate.
            best = max(
                (m for m in gain if gain[m] > 0),
                key=lambda m: (gain[m] / self._cost(m), -len(m[0]), m[1] is None, m[0]),
                default=None,
            )
            if best is None or self._cost(best) > gain[best]:
                break
            chosen.append(best)
            for i in [i for i in undecided if best in deciding[i]]:
                undecided.remove(i)
                for meeting in deciding[i]:
                    gain[meeting] -= saved[i]
                    if gain[meeting] <= 1e-6:
                        del gain[meeting]
        return chosen

    def _walks(self, masks: Words) -> Floats:
        """Per mask how many pairs of rows could be counted while it is put to the table by a walk."""
        others = self._shapes(masks)[2]
        growth = float(self.limits.walk_growth) ** np.maximum(others - 2, 0)
        return np.asarray(self.size * np.minimum(self.limits.walk_pairs_per_row * growth, max(self.size, 1)))

    # One candidate against the table -----------------------------------------------------------------------------

    def walk(self, masks: Words) -> Evidence:
        """The evidence of pairs that violate some of these masks; those that none violates are verified.

        Among few rows first and then among more and more, where most of those that are violated are found to be; those
        that are left among all rows, short ones first. Ends early when many of these are violated: their successors are
        better candidates.
        """
        known, flag = self.nothing(), np.zeros(1, np.int64)
        with raised_after(self.clock.left, flag), ThreadPoolExecutor(self.threads) as pool:
            for drawn in self._draws:
                if len(masks) == 0 or flag[0]:
                    break
                evidence, violated = self._walked(masks, drawn, pool, flag)
                known, masks = known.plus(evidence), self._unbroken(masks[~violated], evidence)
            masks = masks[np.argsort(self._predicates(masks), kind="stable")]
            while len(masks) and not flag[0]:
                turn = masks[: self.limits.candidates_per_turn]
                evidence, violated = self._walked(turn, None, pool, flag)
                known, masks = known.plus(evidence), masks[len(turn) :]
                if 4 * violated.sum() >= len(turn):
                    break
                masks = self._unbroken(masks, evidence)
        return known

    def _unbroken(self, masks: Words, evidence: Evidence) -> Words:
        """The masks that the evidence does not violate."""
        if len(masks) == 0 or len(evidence) == 0:
            return masks
        violating = violating_pairs(masks, evidence.words, evidence.counts, threads=self.threads)
        return np.asarray(masks[violating == 0])

    def _walked(self, masks: Words, among: Ints | None, pool: ThreadPoolExecutor, flag: Ints) -> tuple[Evidence, Flags]:
        """The evidence of pairs of these rows (None: of all) that violate the masks, and which of the masks some
        violate."""
        allowed = allowed_relations(self.rows.space, masks)
        seed, limit = self.options.seed, self.pairs_per_candidate

        def walked(i: int) -> tuple[Ints, Ints, bool]:
            return pairs_that_violate(self.rows, masks[i], allowed[i], flag, limit=limit, seed=seed, among=among)

        violations = list(pool.map(walked, range(len(masks))))
        violated = np.array([len(left) > 0 for left, _, _ in violations], np.bool_)
        if among is None:
            for mask, (left, _, finished) in zip(masks, violations, strict=True):
                if finished and len(left) == 0:
                    self.verified.add(mask.tobytes())
        if not violated.any():
            return self.nothing(), violated
        left, right = (np.concatenate([pairs[side] for pairs in violations]) for side in (0, 1))
        return self.rows.evidence_of_pairs(left, right), violated

    def _predicates(self, masks: Words) -> Ints:
        return np.asarray((allowed_relations(self.rows.space, masks) != ANY).sum(axis=1))


def _growing_draws(chance: Ints, size: int, growth: int) -> list[Ints]:
    """So many of the rows, which come in random order, then `growth` times as many, and so on while they are less than
    a quarter of all; each in order."""
    draws = []
    while 0 < 4 * size < len(chance):
        draws.append(np.sort(chance[:size]))
        size *= growth
    return draws


def _meetings(equal: NDArray[np.bool_], differ: NDArray[np.bool_]) -> set[Meeting]:
    """The meetings that decide a mask which asks for these equalities and differences; all pairs always do."""
    places, apart = np.flatnonzero(equal).tolist(), np.flatnonzero(differ).tolist()
    meetings: set[Meeting] = {((), None)}
    for size in range(1, _MOST_EQUALITIES + 1):
        for agree in combinations(places, size):
            meetings.add((agree, None))
            if size < _MOST_EQUALITIES:
                meetings |= {(agree, i) for i in apart}
    return meetings


def _either(first: Evidence, second: Evidence) -> Evidence:
    """What either has; what both have, counted once: each counts all pairs that show it."""
    words, which = distinct(np.concatenate([first.words, second.words]))
    counts = np.zeros(len(words), np.int64)
    counts[which] = np.concatenate([first.counts, second.counts])
    return Evidence(words, counts)


def _as_many(a: NDArray[np.int32], b: NDArray[np.int32], values: int) -> bool:
    """Whether the two columns together have no more values than each alone. A few rows mostly tell that they have."""
    for part in (slice(0, 10_000), slice(None)):
        joint = a[part].astype(np.int64) * (int(b.max(initial=NULL)) + 2) + b[part]
        if len(np.unique(joint)) > min(values, len(np.unique(a[part]))):
            return False
    return True


def _pairs_within(groups: Ints) -> float:
    sizes = np.unique(groups, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1)).sum()) / 2
