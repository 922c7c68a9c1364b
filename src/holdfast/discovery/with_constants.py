"""Rules that hold among the rows with given values: `not(t.A = c and s.A = c and …)`.

As in C-FASTDC: for every set of values that enough rows have together, the most general constraints of those rows. A
constraint is kept when it does not hold for all values of a column on which two rows agree; so each is implied by no
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.discovery.conditional import least_rows
from holdfast.discovery.constant_values import constant_of
from holdfast.encode.column_type import ColumnType
from holdfast.errors import TrivialRuleError
from holdfast.kernels.support import least_support, violating_pairs
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.dependency import CFD, Denial, dependency_of, kind_of
from holdfast.rules.predicate import Column, Constant, Predicate, equals
from holdfast.rules.relation import EQ
from holdfast.rules.rule import Allowance, Rule, readable_name
from holdfast.rules.sentence import sentence
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, coded_rows, family_codes
from holdfast.search.device import count_pairs
from holdfast.search.evidence import Evidence
from holdfast.search.find import Found, find_in
from holdfast.search.invert import most_general
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import FoundRule, RankedRules
from holdfast.search.rank import ranked
from holdfast.search.space import Words, as_masks, as_words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# A value more is a condition more to read; and by chance alone a rule holds that is broken a few times elsewhere.
_PER_VALUE, _CHANCE = 0.8, 20.0
Given = tuple[tuple[str, Constant], ...]


@dataclass(frozen=True)
class Within:
    """The constraints of the rows with given values, best first: masks of what they allow beside these, how many
    ordered pairs put them to the test, how many violate them, and scores."""

    given: Given
    rows: int
    masks: Words
    support: Ints
    violating: Ints
    scores: Floats


@dataclass(frozen=True)
class FoundWithin:
    """What was found for each set of values, and whether these are all; `why` says why not."""

    parts: tuple[Within, ...]
    complete: bool
    why: str | None = None


def find_with_constants(
    table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, *, threads: int = 1
) -> tuple[Found, FoundWithin]:
    """The most general constraints, and those with values that none of the others implies."""
    clock = Clock(options.time_limit)
    with clock.phase("encode"):
        rows = coded_rows(table, types, options)
    found = find_in(rows, options, clock, threads=threads)
    if found.rows < 2 or not found.complete:
        return found, FoundWithin((), found.complete, found.why)
    if not found.exact:
        # Whether a rule holds without its values is seen in the evidence of all pairs.
        return found, FoundWithin((), False, "there are too many rows for all pairs, which rules with values need")
    with clock.phase("constants"):
        parts = _Search(table, types, rows, found, options, clock, threads).run()
    return replace(found, phases=dict(clock.phases)), parts


class _Search:
    """Sets of values, fewer first, and the evidence of the rows that have them."""

    def __init__(
        self, table: pa.Table, types: Mapping[str, ColumnType], rows: CodedRows, found: Found,
        options: DiscoverOptions, clock: Clock, threads: int,
    ) -> None:  # fmt: skip
        self.rows, self.found, self.options, self.clock, self.threads = rows, found, options, clock, threads
        self.least = least_rows(options, rows.rows)
        self.budget = int(options.error * rows.rows * (rows.rows - 1))
        self.members = self._frequent(table, types)
        # Per column the bits of two rows that differ there.
        space = rows.space
        self._apart = {
            pair.left.name: as_words(
                [sum(1 << space.first_bits[i] + b for b, r in enumerate(pair.relations) if r != EQ)], space.words
            )[0]
            for i, pair in enumerate(space.pairs)
            if pair.same_column
        }

    def _frequent(self, table: pa.Table, types: Mapping[str, ColumnType]) -> dict[tuple[str, Constant], Ints]:
        """Per column and frequent value the numbers of the distinct rows that have it."""
        same = [(i, pair.left.name) for i, pair in enumerate(self.rows.space.pairs) if pair.same_column]
        lines = {name: self.rows.packing.left[i] for i, name in same}
        members: dict[tuple[str, Constant], Ints] = {}
        for name, codes in family_codes(table, [[name] for name in types]).items():
            known, firsts = np.unique(codes[codes >= 0], return_index=True)
            values = table.column(name).take(pa.array(np.flatnonzero(codes >= 0)[firsts])).to_pylist()
            # Columns that are compared share one numbering, and a null may stand behind all values: in any case the
            # values of this column have their own order.
            numbers = self.rows.codes[lines[name]]
            shared = np.unique(numbers[numbers >= 0])[: len(known)]
            for code, value in zip(shared.tolist(), values, strict=True):
                constant = constant_of(value, types[name])
                mine = np.flatnonzero(numbers == code)
                if constant is not None and int(self.rows.weights[mine].sum()) >= self.least:
                    members[name, constant] = mine
        return members

    def run(self) -> FoundWithin:
        parts: list[Within] = []
        names = list(dict.fromkeys(name for name, _ in self.members))
        above: dict[Given, tuple[Ints, Evidence]] = {(): (np.arange(len(self.rows.weights)), self.found.evidence)}
        most = self.options.max_predicates
        for size in range(1, len(names) + 1):
            if (most is not None and size >= most) or not above:
                break
            level: dict[Given, tuple[Ints, Evidence]] = {}
            for given in self._next(above, names, size):
                if self.clock.over:
                    why = "the time limit was reached while rules with values were looked for"
                    return FoundWithin(tuple(parts), False, why)
                below = [above[part] for part in combinations(given, size - 1)]
                mine = np.intersect1d(above[given[:-1]][0], self.members[given[-1]])
                if int(self.rows.weights[mine].sum()) < self.least:
                    continue
                same = next((evidence for members, evidence in below if len(members) == len(mine)), None)
                if same is not None:
                    level[given] = (mine, same)  # the same rows with one value less: nothing new holds among them
                    continue
                # `combinations` leaves out the last one first.
                told = self._within(given, mine, [evidence for _, evidence in reversed(below)])
                if told is None:
                    why = (
                        "the time limit was reached, or there were too many rules, while those with values were derived"
                    )
                    return FoundWithin(tuple(parts), False, why)
                part, evidence, goes_on = told
                if len(part.masks):
                    parts.append(part)
                if goes_on:
                    level[given] = (mine, evidence)
            above = level
        return FoundWithin(tuple(parts), True)

    def _next(self, above: Mapping[Given, object], names: Sequence[str], size: int) -> list[Given]:
        """Sets of one value more, of different columns in order, all of whose parts are of interest."""
        found = []
        for first in above:
            after = names.index(first[-1][0]) + 1 if first else 0
            for name in names[after:]:
                for value in (value for value in self.members if value[0] == name):
                    given = (*first, value)
                    if all(part in above for part in combinations(given, size - 1)):
                        found.append(given)
        return found

    def _within(self, given: Given, mine: Ints, below: Sequence[Evidence]) -> tuple[Within, Evidence, bool] | None:
        """The constraints of these rows that do not hold with one value less; their evidence; and whether there may be
        more with further values. None when the search for them was not completed."""
        rows = self.rows
        some = CodedRows(rows.space, rows.packing, rows.shown, rows.codes[:, mine], rows.weights[mine])
        evidence = some.evidence(
            count_pairs(some, self.options.device, threads=self.threads, limits=self.options.limits).counted
        )
        most = self.options.max_predicates
        told = most_general(
            rows.space, evidence, self.options, self.clock, threads=self.threads, budget=self.budget,
            most=None if most is None else most - len(given),
        )  # fmt: skip
        if not told.complete:
            return None
        if self.budget >= evidence.pairs:
            # So few pairs that all of them may break a rule: what holds among them says nothing.
            nothing = slice(0, 0)
            return self._part(given, some, told.masks[nothing], told.violating[nothing], evidence), evidence, False
        fresh = np.array([self._speaks(mask, given) for mask in as_masks(told.masks)], np.bool_)
        usual = np.full(len(fresh), np.inf)
        for (name, _), parent in zip(given, below, strict=True):
            left = np.flatnonzero(fresh)
            agree = told.masks[left] & ~self._apart[name]
            counts = violating_pairs(agree, parent.words, parent.counts, threads=self.threads)
            fresh[left[counts <= self.budget]] = False
            share = violating_pairs(told.masks[left], parent.words, parent.counts, threads=self.threads) / parent.pairs
            usual[left] = np.minimum(usual[left], share * evidence.pairs)
        part = self._part(given, some, told.masks[fresh], told.violating[fresh], evidence)
        return self._weighed(part, told.masks[fresh], usual[fresh]), evidence, True

    def _weighed(self, part: Within, masks: Words, usual: Floats) -> Within:
        """The part with its scores, in order: `usual` is how many pairs would break a constraint if its values told
        nothing, and says how much they do tell."""
        place = {mask.tobytes(): i for i, mask in enumerate(masks)}
        usual = usual[[place[mask.tobytes()] for mask in part.masks]]
        tells = usual / (usual + _CHANCE) * np.log1p(usual) / np.log1p(max(self.found.evidence.pairs, 1))
        scores = part.scores * np.minimum(tells, 1.0)
        order = np.argsort(-scores, kind="stable")
        return Within(
            part.given, part.rows, part.masks[order], part.support[order], part.violating[order], scores[order]
        )

    def _speaks(self, mask: int, given: Given) -> bool:
        """Whether some table could violate the constraint, given the values; columns that have one do not differ."""
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

    def _part(self, given: Given, some: CodedRows, masks: Words, violating: Ints, evidence: Evidence) -> Within:
        slots = some.space.pair_of_bit
        support = least_support(masks, slots, evidence.words, evidence.counts, threads=self.threads) + violating
        size = some.rows
        found = Found(
            space=some.space, masks=masks, support=support, evidence=evidence, rows=size, distinct_rows=size,
            strategy="all-pairs", exact=True, complete=True, violating=violating, error=self.options.error,
        )  # fmt: skip
        best = ranked(found)
        return Within(
            given,
            size,
            masks[best.which],
            support[best.which],
            violating[best.which],
            best.scores * _PER_VALUE ** len(given),
        )


def _both(given: Given) -> list[Predicate]:
    """The values, on both rows."""
    return [equals(Column(row, name), value) for name, value in given for row in ("t", "s")]


# Rules ------------------------------------------------------------------------------------------------------------


def ranked_with_constants(found: Found, within: Sequence[Within]) -> RankedRules:
    """Every constraint found, with values or without, best first."""
    plain = ranked(found)
    scores = np.concatenate([plain.scores, *(part.scores for part in within)])
    source = np.repeat(np.arange(len(within) + 1), [len(plain), *(len(part.masks) for part in within)])
    place = np.concatenate([np.arange(len(plain)), *(np.arange(len(part.masks)) for part in within)])
    order = np.argsort(-scores, kind="stable")
    inner = [[found.space.constraint(mask) for mask in as_masks(part.masks)] for part in within]

    def rule(i: int) -> FoundRule:
        which, at = int(source[order[i]]), int(place[order[i]])
        if which == 0:
            return plain.make(at)
        return _rule(within[which - 1], at, inner[which - 1][at], found)

    kinds = [
        plain.kinds[at] if which == 0 else _kind(within[which - 1], at, inner[which - 1][at])
        for which, at in zip(source[order].tolist(), place[order].tolist(), strict=True)
    ]
    return RankedRules(rule, kinds, scores=scores[order])


def _whole(part: Within, at: int, inner: DenialConstraint) -> DenialConstraint:
    """The constraint with its values: on both rows, or where nothing breaks it and it speaks of one, on that."""
    alone = not inner.two_rows and not part.violating[at]
    values = [p for p in _both(part.given) if not alone or next(p.columns()).row == "t"]
    return DenialConstraint((*values, *inner.predicates))


def _kind(part: Within, at: int, inner: DenialConstraint) -> str:
    return kind_of([_whole(part, at, inner)])


def _rule(part: Within, at: int, inner: DenialConstraint, found: Found) -> FoundRule:
    constraint = _whole(part, at, inner)
    dependency = dependency_of([constraint])
    body = dependency if isinstance(dependency, CFD) else Denial(constraint)
    where = " and ".join(f"{name} = {value}" for name, value in part.given)
    broken, pairs = int(part.violating[at]), found.rows * (found.rows - 1)
    rule = Rule(readable_name(body), body, description=f"where {where}, {sentence(inner)}")
    if broken:
        rule = Rule(rule.name, body, allow_pairs=Allowance(None, found.error * 100), description=rule.description)
    support = int(part.support[at])
    if not constraint.two_rows:
        # A row is tested beside all others, not only beside those with its values.
        support = support // max(part.rows - 1, 1) * (found.rows - 1)
    return FoundRule(
        rule,
        constraint,
        float(part.scores[at]),
        min(support / max(pairs, 1), 1.0),
        support,
        broken // 2 if constraint.symmetric else broken,
        None if broken else 0,
    )
