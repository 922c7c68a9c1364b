"""The best constraints by score, without all constraints: branches that cannot reach the score that is asked for are
not searched.

A constraint is tested by the pairs that meet all its predicates but one. While predicates are chosen, the pairs that
meet those chosen so far become fewer with each, so their number bounds what a longer constraint can be tested by, and
with its length, its score. Better constraints lower the scores of others, never the other way round: when all that
score at least x on their own are known, and the best `top` of them keep at least x, these are the best of all.

Where the evidence is of few of the pairs, what it leaves are candidates. Those that may lead to a constraint of that
score are put to the table; what violates them is new evidence, until all of them hold. A candidate that is not among
those may not hold, but no larger choice that it leads to scores enough either, since the bound only falls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.hitting_sets import DEFAULT_LIMITS, HittingSets, WeightBound, hitting_sets
from holdfast.kernels.slot_search import NO_END
from holdfast.kernels.support import least_support
from holdfast.rules.plain_words import number
from holdfast.rules.relation import ANY, EQ
from holdfast.search.clock import Clock
from holdfast.search.evidence import Evidence, Flags, Ints, distinct
from holdfast.search.invert import allowed_relations, constraint_masks
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import How, SearchResult
from holdfast.search.score import CHANCE, DENIAL_WORTH, Scored, Shares, counted_pairs, evidence_shares, scored
from holdfast.search.space import PredicateSpace, Ranges, Words, as_words

# The scores above `believed` that are looked for one after the other, until there are enough constraints.
_LEVELS = (0.5, 0.43, 0.37, 0.32, 0.25)
# Constraints of up to so many predicates are looked for as long as time lasts; longer ones for a share of it, but at
# least so many seconds.
_SHORT, _PATIENCE, _LEAST_PATIENCE = 3, 1 / 10, 30.0
# All constraints are looked for only where they are no more than so many; fewer where each is put to the table.
_FEW, _FEW_TO_WALK = 10_000, 1_000
# A search ends with so many words of sets: more score as much than anybody reads.
_MOST_WORDS = 1 << 22
# What is left of a search that was cut short is weighed by at most so many comparisons.
_MOST_WEIGHED = 1 << 29
# A search of all lengths is worth so much more work than the one before it, unless that took much.
_WORTH_TRYING, _MUCH_WORK = 5, 1 << 26
# Scores are rounded to nine digits.
_ROUNDING = 1e-9
_NEVER = 1 << 62
# Points of elements, see `_points`: with this many, a constraint is surely neither key, dependency nor order rule.
_DENIAL = 5


@dataclass(frozen=True)
class Best:
    """Constraints that the evidence leaves, best first up to `top`; masks of what they allow, and how they score.

    All that score at least `least_score` are there, None when all are there at all. When not `complete`, `why` says
    why and `known` which are all there, in words; those that are there hold all the same.
    """

    masks: Words
    support: Ints
    scored: Scored
    evidence: Evidence
    shares: Shares
    complete: bool
    least_score: float | None
    why: str | None = None
    known: str | None = None


class KnownPairs(Protocol):
    """What is known of the pairs of a table."""

    @property
    def evidence(self) -> Evidence:
        """The evidence, as far as it is known."""

    def hold(self, masks: Words) -> bool:
        """Whether no pair of the table violates these masks; if some do, or time is up, there is more evidence."""

    def holding(self, masks: Words) -> Flags:
        """Which of the masks, that no known pair violates, hold for sure."""


@dataclass(frozen=True)
class AllPairs:
    """The evidence of all pairs: what none of it violates, holds."""

    evidence: Evidence

    def hold(self, masks: Words) -> bool:
        return True

    def holding(self, masks: Words) -> Flags:
        return np.ones(len(masks), np.bool_)


def best_masks(
    space: PredicateSpace, known: KnownPairs, size: tuple[int, int], ranges: Ranges, how: How, options: DiscoverOptions,
    clock: Clock, *, threads: int,
) -> Best:  # fmt: skip
    """The best `options.top` constraints of the table, and all that score as much as the last of them.

    `size` is how many rows there are, and how many different ones; `ranges` is where the values of columns lie; `how`
    says whether the evidence is of all pairs.
    """
    return _Search(space, known, size, ranges, how, options, clock, threads).run()


class _Search:
    def __init__(
        self, space: PredicateSpace, known: KnownPairs, size: tuple[int, int], ranges: Ranges, how: How,
        options: DiscoverOptions, clock: Clock, threads: int,
    ) -> None:  # fmt: skip
        assert options.top is not None, "how many are wanted is known"
        self.space, self.known, self.options, self.clock, self.threads = space, known, options, clock, threads
        self.top, self.size, self.how, self.ranges = options.top, size, how, ranges
        self.believed = options.limits.believed
        # The elements that are chosen from; all without them.
        self.within: Words | None = None
        self.most = min(options.max_predicates or len(space.pairs), len(space.pairs))
        self.costs = np.array([1 if pair.same_column or pair.one_row else 2 for pair in space.pairs], np.int64)
        self.points = _points(space)
        self._look()

    def _look(self) -> None:
        """Takes up the evidence that is known now."""
        nothing = np.zeros(0, np.int64)
        self.evidence = self.known.evidence
        self.nothing = SearchResult(
            **vars(self.how), space=self.space, masks=np.zeros((0, self.space.words), np.uint64), support=nothing,
            evidence=self.evidence, rows=self.size[0], distinct_rows=self.size[1], violating=nothing,
            ranges=self.ranges,
        )  # fmt: skip
        self.pairs = counted_pairs(self.nothing)
        self.shares = evidence_shares(self.nothing)
        # Support by mask: the same constraints are met again and again.
        self.supports: dict[bytes, int] = {}

    def run(self) -> Best:
        """Constraints that compare columns with themselves first: there are far fewer, and most of what is worth
        reading is among them. Then all, from the score on that the last of enough of those has."""
        if len(self.evidence) == 0:
            return self._scored(self.nothing.masks, None)
        limits = self.options.limits
        if self.how.exact and limits.small_work:
            # Where all are few, nothing is left out.
            searched = self._unbounded(limits.small_work)
            if searched.complete:
                return self._scored(constraint_masks(self.space, searched.sets), None)
        if all(pair.same_column for pair in self.space.pairs):
            return self._stages(None)
        bits = [pair.same_column for pair in self.space.pairs for _ in pair.relations]
        self.within = as_words([sum(1 << bit for bit, same in enumerate(bits) if same)], self.space.words)[0]
        first = self._stages(None)
        self.within = None
        if self.clock.over:
            said = f"{first.why}; " if first.why else ""
            return replace(first, complete=False, why=f"{said}no two columns were compared with each other yet")
        return self._stages(first)

    def _stages(self, first: Best | None) -> Best:
        """Short constraints first, as many levels of scores down as there have to be for enough of them: these say from
        which score on longer ones are wanted. `first` are some that are known already."""
        best, patient = first, self._patient_until()
        least = self.believed if first is None else max(self.believed, self._score_of_last(first))
        for predicates in range(1, self.most + 1):
            if first is not None and least <= self.believed and predicates > 1 and not self.how.exact:
                least = _LEVELS[0]  # many candidates are put to the table, so the better ones first
            while True:
                late = predicates > _SHORT and patient is not None and time.monotonic() >= patient
                searched, masks = self._candidates(least, predicates, until=patient if predicates > _SHORT else None)
                if late or not searched.complete or self.clock.over:
                    return self._ended(searched, masks, (first, best), least, predicates - 1)
                best = self._scored(_together(masks, first), least)
                lower = self._lower(best, least)
                if lower is None:
                    break
                least = lower
            if not searched.cut:
                return self._finished(best, least)
            least = max(least, self._score_of_last(best))
            if predicates in (1, self.most) or searched.work > _MUCH_WORK:
                continue
            # Where longer ones hardly reach that score, all lengths cost little more than the next one.
            searched, masks = self._candidates(least, self.most, most_work=_WORTH_TRYING * searched.work)
            if searched.complete and not self.clock.over:
                longer = self._scored(_together(masks, first), least)
                lower = self._lower(longer, least)
                if lower is None:
                    return self._finished(longer, least)
                # Longer ones have taken from the scores of shorter ones, so that more of these are wanted.
                best, least = longer, lower
        assert best is not None, "a space has an operand pair"
        return self._finished(best, least)

    def _finished(self, best: Best, least: float) -> Best:
        enough = self._score_of_last(best) >= least or self.within is not None
        return best if enough else self._all_of(best)

    def _lower(self, best: Best, least: float) -> float | None:
        """The score from which on to look for more, where there are not enough; None where there are, or where those
        below are not believed."""
        last = self._score_of_last(best)
        if last >= least or least <= self.believed:
            return None
        return max(self.believed, last or max((level for level in _LEVELS if level < least), default=0.0))

    def _patient_until(self) -> float | None:
        """Until when longer constraints are looked for."""
        left = self.clock.left
        return None if left is None else time.monotonic() + max(_PATIENCE * left, _LEAST_PATIENCE)

    def _candidates(
        self, least: float, predicates: int, *, most_work: int = NO_END, until: float | None = None
    ) -> tuple[HittingSets, Words]:
        """A search that has ended, or found only what holds; and what it found."""
        while True:
            searched = self._search(least, predicates, most_work=most_work, until=until)
            masks = constraint_masks(self.space, searched.sets if searched.complete else self._few(searched.sets))
            if not searched.complete:
                return searched, masks
            masks = masks[self._may_lead_to(masks, least)]
            if self.known.hold(masks) or self.clock.over:
                return searched, masks
            self._look()

    def _few(self, sets: Words) -> Words:
        """Of the sets of a search that was cut short, the smallest, no more than can be weighed."""
        few = max(_MOST_WEIGHED // max(len(self.evidence) * self.space.words, 1), self.top)
        return sets[np.argsort(np.bitwise_count(sets).sum(axis=1), kind="stable")[:few]]

    def _ended(
        self, searched: HittingSets, masks: Words, before: Sequence[Best | None], least: float, within: int
    ) -> Best:
        """What there is when a search is cut short: what those before it found, and what it did."""
        masks = masks[self.known.holding(masks)]
        for best in before:
            masks = _together(masks, best)
        said = "the time limit was reached while rules were being looked for"
        if searched.too_many:
            said = f"more rules than can be kept score {least:.2g} or more"
        elif not self.clock.over:
            said = "rules of more predicates were looked for only for a part of the time limit"
        known = f"all of up to {number(within, 'predicate')} that score {least:.2g} or more" if within else None
        said = f"{said}; {known} are there" if known else said
        first = before[0]
        if first is not None:
            # What compares columns with themselves was looked for before, and further.
            further = first.known or f"all that score {first.least_score or 0:.2g} or more"
            said = f"{said}; of those that compare columns with themselves {further}"
        return replace(self._scored(masks, None), complete=False, why=said, known=known)

    def _all_of(self, best: Best) -> Best:
        """All constraints, if they are few; else the given ones, which are those that can be believed."""
        while self.options.limits.little_work:
            searched = self._unbounded(self.options.limits.little_work)
            if not searched.complete or self.clock.over:
                break
            masks = constraint_masks(self.space, searched.sets)
            if self.known.hold(masks):
                return self._scored(masks, None)
            self._look()
        said = f"rules of a score below {self.believed:g} were not looked for"
        why = f"{said}: few pairs test them, so chance explains them"
        return replace(best, complete=False, why=why)

    def _unbounded(self, most_work: int) -> HittingSets:
        few = _FEW if self.how.exact else _FEW_TO_WALK
        limits = DEFAULT_LIMITS._replace(most_work=most_work, most_words=few * self.space.words)
        return hitting_sets(
            self.evidence.words, self.space.pair_of_bit, most_slots=self.most, threads=self.threads,
            seconds=self.clock.left, limits=limits,
        )  # fmt: skip

    def _search(self, least: float, predicates: int, *, most_work: int, until: float | None) -> HittingSets:
        bound = WeightBound(self.evidence.counts, self.costs, self.points, self._needed(least), _DENIAL)
        # Of candidates that are looked for only if there are few, few are enough.
        tried = not self.how.exact and most_work < NO_END
        most_words = _FEW * self.space.words if tried else _MOST_WORDS
        limits = DEFAULT_LIMITS._replace(most_work=most_work, most_words=most_words)
        return hitting_sets(
            self.evidence.words, self.space.pair_of_bit, most_slots=predicates, bound=bound, within=self.within,
            threads=self.threads, seconds=self._left(until), limits=limits,
        )  # fmt: skip

    def _left(self, until: float | None) -> float | None:
        ends = [
            left for left in (self.clock.left, None if until is None else until - time.monotonic()) if left is not None
        ]
        return min(ends, default=None)

    def _needed(self, least: float) -> Ints:
        """Per cost how many pairs must test a constraint that is to score so much; first for any, then for denials."""
        costs = np.arange(int(self.costs.sum()) + 2)

        def reached(worth: float, predicates: NDArray[np.int64]) -> Callable[[Ints], Flags]:
            def enough(tests: Ints) -> Flags:
                tested = np.clip(np.log1p(tests) / np.log1p(self.pairs), 0.0, 1.0)
                lawful = tests / (tests + CHANCE * np.maximum(predicates, 1))
                return np.asarray(worth * lawful * (2.0 / (costs + 1) + tested) / 2 >= least - _ROUNDING)

            return enough

        plain = _fewest(reached(1.0, costs), len(costs), self.pairs)
        # Two columns that are compared cost two, so that there may be half as many predicates.
        denials = _fewest(reached(DENIAL_WORTH, (costs + 1) // 2), len(costs), self.pairs)
        return np.maximum.accumulate(np.stack([np.minimum(plain, denials), denials]), axis=1)

    def _may_lead_to(self, masks: Words, least: float) -> Flags:
        """Whether constraints, or what violated ones lead to, may score so much: as the search bounds it. Those that
        there is no time to weigh may."""
        allowed = allowed_relations(self.space, masks)
        first = [self.space.first_bits[i] + (1 if pair.ordered else 0) for i, pair in enumerate(self.space.pairs)]
        across = np.array([not (pair.same_column or pair.one_row) for pair in self.space.pairs], np.bool_)
        # The points of the bits left out: of `=` on a column, and of any where two columns are compared.
        points = np.where(across, allowed != ANY, (allowed & EQ) == 0) @ self.points[first]
        line = (points >= _DENIAL).astype(np.int64)
        needed = self._needed(least)[line, (allowed != ANY) @ self.costs]
        support = self._support(masks, self.clock)
        return np.asarray((support >= needed) | (support < 0))

    def _support(self, masks: Words, clock: Clock) -> Ints:
        """How many pairs test the masks; -1 for those that were not counted when time was up."""
        keys = [mask.tobytes() for mask in masks]
        new = [i for i, key in enumerate(keys) if key not in self.supports]
        if new:
            counted = least_support(
                masks[new], self.space.pair_of_bit, self.evidence.words, self.evidence.counts, threads=self.threads,
                most_comparisons=NO_END, over=clock.is_over,
            )  # fmt: skip
            known = np.flatnonzero(counted >= 0)
            self.supports.update((keys[new[i]], int(counted[i])) for i in known.tolist())
        return np.array([self.supports.get(key, -1) for key in keys], np.int64)

    def _scored(self, masks: Words, least: float | None) -> Best:
        """The masks that score so much; without those that there was no time to weigh."""
        # The time of the search may be over, as where it was cut short.
        support = self._support(masks, self.clock.whole)
        weighed = support >= 0
        result = replace(
            self.nothing, masks=masks[weighed], support=support[weighed], violating=np.zeros(weighed.sum(), np.int64)
        )
        masks = result.masks
        by_score = scored(result, self.shares)
        enough = by_score.alone >= (least or 0.0) - _ROUNDING
        if not enough.all():
            masks = masks[enough]
            result = replace(result, masks=masks, support=result.support[enough], violating=result.violating[enough])
            by_score = scored(result, self.shares)
        why = None if weighed.all() else "the time limit was reached while rules were being weighed"
        return Best(masks, result.support, by_score, self.evidence, self.shares, why is None, least, why)

    def _score_of_last(self, best: Best) -> float:
        """The score of the last one that is wanted, 0 when there are fewer."""
        by_score = best.scored
        return float(by_score.score[by_score.order[self.top - 1]]) if len(best.masks) >= self.top else 0.0


def _together(masks: Words, known: Best | None) -> Words:
    return masks if known is None else distinct(np.concatenate([masks, known.masks]))[0]


def _points(space: PredicateSpace) -> Ints:
    """Per bit what leaving it out says of the kind of a constraint.

    A dependency has a single `!=` beside equalities, an order rule two inequalities: so a constraint that leaves out
    `=` on two columns without order, on one of them and on one with an order, or on three with one, is neither; nor is
    one that compares two columns over two rows. Such sums, and no others, reach `_DENIAL`.
    """
    points = np.zeros(space.bits, np.int64)
    for i, pair in enumerate(space.pairs):
        bits = slice(space.first_bits[i], space.first_bits[i + 1])
        if not pair.one_row and not pair.same_column:
            points[bits] = _DENIAL
        elif pair.same_column:
            points[space.first_bits[i] + (1 if pair.ordered else 0)] = 2 if pair.ordered else 3
    return points


def _fewest(enough: Callable[[Ints], NDArray[np.bool_]], size: int, most: int) -> Ints:
    """Per place the smallest number up to `most` that is enough, by halving; more than any where none is."""
    low, high = np.zeros(size, np.int64), np.full(size, most + 1, np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        done = enough(middle)
        low, high = np.where(done, low, np.minimum(middle + 1, high)), np.where(done, middle, high)
    return np.where(low > most, _NEVER, low)
