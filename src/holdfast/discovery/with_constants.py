"""Rules that hold among the rows with given values: `not(t.A = c and s.A = c and …)`.

As in C-FASTDC: the most general constraints of the rows with each set of values that enough rows have. A constraint
is kept only if it does not hold for all values of one of the columns, so that no other constraint implies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pyarrow as pa

from holdfast.discovery.conditional import least_rows
from holdfast.discovery.constant_values import constant_of
from holdfast.encode.column_type import ColumnType
from holdfast.errors import TrivialRuleError
from holdfast.kernels.evidence import CountingEnded, CountingLimits
from holdfast.kernels.support import least_support, violating_pairs
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.dependency import CFD, Denial, dependency_of, kind_of
from holdfast.rules.predicate import Column, Constant, Predicate, equals
from holdfast.rules.relation import EQ
from holdfast.rules.rule import Allowance, Rule, readable_name
from holdfast.rules.sentence import sentence
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, EncodingEnded, coded_rows, family_codes
from holdfast.search.device import count_pairs
from holdfast.search.evidence import Evidence, Floats, Ints
from holdfast.search.find import SEARCH_SHARE, find_in, uncoded
from holdfast.search.invert import most_general
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import FoundRule, RankedRules
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult
from holdfast.search.space import Words, as_masks, as_words

# Each value lowers the score: it is one more condition to read. A rule that few pairs outside of these rows break may
# hold by chance.
_PER_VALUE, _CHANCE = 0.8, 20.0
# Between so many rules it is looked whether time is up.
_LOOKED_AT = 256
Given = tuple[tuple[str, Constant], ...]


@dataclass(frozen=True)
class PartRules:
    """The constraints of the rows with given values, best first: masks of what they allow beside the values, how many
    ordered pairs test them, how many violate them, and scores."""

    given: Given
    rows: int
    masks: Words
    support: Ints
    violating: Ints
    scores: Floats


@dataclass(frozen=True)
class ConstantsOutcome:
    """The rules for each set of values, and whether these are all; `why` says why not."""

    parts: tuple[PartRules, ...]
    complete: bool
    why: str | None = None


def find_with_constants(
    table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, *, threads: int = 1
) -> tuple[SearchResult, ConstantsOutcome]:
    """Returns the most general constraints, and those with values that no other constraint implies."""
    clock = Clock(options.time_limit)
    try:
        with clock.phase("encode"):
            rows = coded_rows(table, types, options, over=clock.is_over)
    except EncodingEnded:
        result = uncoded(table.num_rows, types, options, clock)
        return result, ConstantsOutcome((), False, result.why)
    result = find_in(rows, options, clock.part(SEARCH_SHARE), threads=threads)
    if result.rows < 2 or not result.complete:
        return result, ConstantsOutcome((), result.complete, result.why)
    if not result.exact:
        # Only the evidence of all pairs shows whether a rule holds without its values.
        return result, ConstantsOutcome(
            (), False, "there are too many rows for all pairs, which rules with values need"
        )
    with clock.phase("constants"):
        parts = _Search(table, types, rows, result, options, clock.part(SEARCH_SHARE), threads).run()
    return replace(result, phases=dict(clock.phases)), parts


class _Search:
    """The search over sets of values, smaller sets first, with the evidence of the rows that have them."""

    def __init__(
        self, table: pa.Table, types: Mapping[str, ColumnType], rows: CodedRows, result: SearchResult,
        options: DiscoverOptions, clock: Clock, threads: int,
    ) -> None:  # fmt: skip
        self.rows, self.result, self.options, self.clock, self.threads = rows, result, options, clock, threads
        self.least = least_rows(options, rows.rows)
        self.budget = int(options.error * rows.rows * (rows.rows - 1))
        self.members = self._frequent(table, types)
        # Per column the bits of the evidence of two rows that differ there.
        space = rows.space
        self._apart = {
            pair.left.name: as_words(
                [sum(1 << space.first_bits[i] + b for b, r in enumerate(pair.relations) if r != EQ)], space.words
            )[0]
            for i, pair in enumerate(space.pairs)
            if pair.same_column
        }

    def _frequent(self, table: pa.Table, types: Mapping[str, ColumnType]) -> dict[tuple[str, Constant], Ints]:
        """Returns, per column and frequent value, the numbers of the distinct rows that have it."""
        same = [(i, pair.left.name) for i, pair in enumerate(self.rows.space.pairs) if pair.same_column]
        lines = {name: self.rows.packing.left[i] for i, name in same}
        members: dict[tuple[str, Constant], Ints] = {}
        for name, codes in family_codes(table, [[name] for name in types]).items():
            known, firsts = np.unique(codes[codes >= 0], return_index=True)
            values = table.column(name).take(pa.array(np.flatnonzero(codes >= 0)[firsts])).to_pylist()
            # Columns that are compared with each other share codes, and null may have a code after all values; so the
            # codes of this column, in order, are those of its values, in order.
            numbers = self.rows.codes[lines[name]]
            shared = np.unique(numbers[numbers >= 0])[: len(known)]
            for code, value in zip(shared.tolist(), values, strict=True):
                constant = constant_of(value, types[name])
                members_of_value = np.flatnonzero(numbers == code)
                if constant is not None and int(self.rows.weights[members_of_value].sum()) >= self.least:
                    members[name, constant] = members_of_value
        return members

    def run(self) -> ConstantsOutcome:
        parts: list[PartRules] = []
        names = list(dict.fromkeys(name for name, _ in self.members))
        above: dict[Given, tuple[Ints, Evidence]] = {(): (np.arange(len(self.rows.weights)), self.result.evidence)}
        most = self.options.max_predicates
        for size in range(1, len(names) + 1):
            if (most is not None and size >= most) or not above:
                break
            level: dict[Given, tuple[Ints, Evidence]] = {}
            for given in self._next(above, names, size):
                if self.clock.over:
                    why = "the time limit was reached while rules with values were looked for"
                    return ConstantsOutcome(tuple(parts), False, why)
                below = [above[part] for part in combinations(given, size - 1)]
                members = np.intersect1d(above[given[:-1]][0], self.members[given[-1]])
                if int(self.rows.weights[members].sum()) < self.least:
                    continue
                same = next((evidence for parent, evidence in below if len(parent) == len(members)), None)
                if same is not None:
                    level[given] = (members, same)  # the same rows as with one value less, so the same rules
                    continue
                # `combinations` leaves out the last value first.
                searched = self._searched(given, members, [evidence for _, evidence in reversed(below)])
                if searched is None:
                    why = (
                        "the time limit was reached, or there were too many rules, while those with values were derived"
                    )
                    return ConstantsOutcome(tuple(parts), False, why)
                part, evidence, goes_on = searched
                if len(part.masks):
                    parts.append(part)
                if goes_on:
                    level[given] = (members, evidence)
            above = level
        return ConstantsOutcome(tuple(parts), True)

    def _next(self, above: Mapping[Given, object], names: Sequence[str], size: int) -> list[Given]:
        """Returns the sets of `size` values, in the order of columns, all of whose subsets are in `above`."""
        candidates = []
        for first in above:
            after = names.index(first[-1][0]) + 1 if first else 0
            for name in names[after:]:
                for value in (value for value in self.members if value[0] == name):
                    given = (*first, value)
                    if all(part in above for part in combinations(given, size - 1)):
                        candidates.append(given)
        return candidates

    def _searched(
        self, given: Given, members: Ints, below: Sequence[Evidence]
    ) -> tuple[PartRules, Evidence, bool] | None:
        """Returns the constraints of these rows that do not hold with one value less, the evidence of the rows, and
        whether sets with more values may have constraints. None when the search was not completed."""
        rows = self.rows
        coded = CodedRows(rows.space, rows.packing, rows.shown, rows.codes[:, members], rows.weights[members])
        try:
            counting = CountingLimits(over=self.clock.is_over)
            on = count_pairs(
                coded, self.options.device, threads=self.threads, limits=self.options.limits, counting=counting
            )
        except CountingEnded:
            return None
        evidence = coded.evidence(on.counted)
        most = self.options.max_predicates
        rules = most_general(
            rows.space, evidence, self.options, self.clock, threads=self.threads, budget=self.budget,
            most=None if most is None else most - len(given),
        )  # fmt: skip
        if not rules.complete:
            return None
        if self.budget >= evidence.pairs:
            # All of these few pairs may break a rule, so every rule holds.
            part = self._part(given, coded, rules.masks[:0], rules.violating[:0], evidence)
            return part, evidence, False
        fresh = np.zeros(len(rules.masks), np.bool_)
        for i, mask in enumerate(as_masks(rules.masks)):
            if i % _LOOKED_AT == 0 and self.clock.over:
                return None
            fresh[i] = self._can_be_violated(mask, given)
        usual = np.full(len(fresh), np.inf)
        for (name, _), parent in zip(given, below, strict=True):
            left = np.flatnonzero(fresh)
            agree = rules.masks[left] & ~self._apart[name]
            counts = violating_pairs(agree, parent.words, parent.counts, threads=self.threads)
            fresh[left[counts <= self.budget]] = False
            share = violating_pairs(rules.masks[left], parent.words, parent.counts, threads=self.threads) / parent.pairs
            usual[left] = np.minimum(usual[left], share * evidence.pairs)
        part = self._part(given, coded, rules.masks[fresh], rules.violating[fresh], evidence)
        return self._weighed(part, rules.masks[fresh], usual[fresh]), evidence, True

    def _weighed(self, part: PartRules, masks: Words, usual: Floats) -> PartRules:
        """Returns the part with lower scores for constraints that hold without their values, too, in the new order.

        `usual` is how many pairs would break a constraint if its values had no influence.
        """
        place = {mask.tobytes(): i for i, mask in enumerate(masks)}
        usual = usual[[place[mask.tobytes()] for mask in part.masks]]
        influence = usual / (usual + _CHANCE) * np.log1p(usual) / np.log1p(max(self.result.evidence.pairs, 1))
        scores = part.scores * np.minimum(influence, 1.0)
        order = np.argsort(-scores, kind="stable")
        return PartRules(
            part.given, part.rows, part.masks[order], part.support[order], part.violating[order], scores[order]
        )

    def _can_be_violated(self, mask: int, given: Given) -> bool:
        """Whether a table could violate the constraint among rows with these values, which do not differ there."""
        fixed = {name for name, _ in given}
        for i, pair in enumerate(self.rows.space.pairs):
            width = (1 << len(pair.relations)) - 1
            if pair.same_column and pair.left.name in fixed and mask >> self.rows.space.first_bits[i] & width != width:
                return False
        if all(pair.same_column for pair in self.rows.space.pairs):
            return True
        try:
            denial([*_both(given), *self.rows.space.constraint(mask).predicates])
        except TrivialRuleError:
            return False
        return True

    def _part(self, given: Given, coded: CodedRows, masks: Words, violating: Ints, evidence: Evidence) -> PartRules:
        slots = coded.space.pair_of_bit
        support = least_support(masks, slots, evidence.words, evidence.counts, threads=self.threads) + violating
        size = coded.rows
        result = SearchResult(
            space=coded.space, masks=masks, support=support, evidence=evidence, rows=size, distinct_rows=size,
            strategy="all-pairs", exact=True, complete=True, violating=violating, error=self.options.error,
        )  # fmt: skip
        best = ranked(result)
        which, scores = best.which, best.scores * _PER_VALUE ** len(given)
        return PartRules(given, size, masks[which], support[which], violating[which], scores)


def _both(given: Given) -> list[Predicate]:
    """Returns the conditions that both rows have the values."""
    return [equals(Column(row, name), value) for name, value in given for row in ("t", "s")]


# Rules ------------------------------------------------------------------------------------------------------------


def ranked_with_constants(
    result: SearchResult, parts: Sequence[PartRules], over: Callable[[], bool] = lambda: False
) -> RankedRules:
    """Returns all constraints, with values and without, best first; once time is `over`, no others."""
    plain = ranked(result)
    scores = np.concatenate([plain.scores, *(part.scores for part in parts)])
    source = np.repeat(np.arange(len(parts) + 1), [len(plain), *(len(part.masks) for part in parts)])
    place = np.concatenate([np.arange(len(plain)), *(np.arange(len(part.masks)) for part in parts)])
    order = np.argsort(-scores, kind="stable")

    def inner(part: PartRules, at: int) -> DenialConstraint:
        (mask,) = as_masks(part.masks[at : at + 1])
        return result.space.constraint(mask)

    def rule(i: int) -> FoundRule:
        which, at = int(source[order[i]]), int(place[order[i]])
        if which == 0:
            return plain.make(at)
        part = parts[which - 1]
        return _rule(part, at, inner(part, at), result)

    kinds: list[str] = []
    for which, at in zip(source[order].tolist(), place[order].tolist(), strict=True):
        if len(kinds) % _LOOKED_AT == 0 and over():
            break
        if which == 0:
            kinds.append(plain.kinds[at])
        else:
            part = parts[which - 1]
            kinds.append(_kind(part, at, inner(part, at)))
    return RankedRules(rule, kinds, scores=scores[order[: len(kinds)]])


def _with_values(part: PartRules, at: int, inner: DenialConstraint) -> DenialConstraint:
    """Returns the constraint with its values: on both rows, or on one where it is a rule on single rows that holds."""
    alone = not inner.two_rows and not part.violating[at]
    values = [p for p in _both(part.given) if not alone or next(p.columns()).row == "t"]
    return DenialConstraint((*values, *inner.predicates))


def _kind(part: PartRules, at: int, inner: DenialConstraint) -> str:
    return kind_of([_with_values(part, at, inner)])


def _rule(part: PartRules, at: int, inner: DenialConstraint, result: SearchResult) -> FoundRule:
    constraint = _with_values(part, at, inner)
    dependency = dependency_of([constraint])
    body = dependency if isinstance(dependency, CFD) else Denial(constraint)
    where = " and ".join(f"{name} = {value}" for name, value in part.given)
    broken, pairs = int(part.violating[at]), result.rows * (result.rows - 1)
    rule = Rule(readable_name(body), body, description=f"where {where}, {sentence(inner)}")
    if broken:
        rule = Rule(rule.name, body, allow_pairs=Allowance(None, result.error * 100), description=rule.description)
    support = int(part.support[at])
    if not constraint.two_rows:
        # A row is tested against all other rows, not only against those with its values.
        support = support // max(part.rows - 1, 1) * (result.rows - 1)
    return FoundRule(
        rule,
        constraint,
        float(part.scores[at]),
        min(support / max(pairs, 1), 1.0),
        support,
        broken // 2 if constraint.symmetric else broken,
        None if broken else 0,
    )
