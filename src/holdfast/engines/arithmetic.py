"""Discovered arithmetic: what holds in a sample of the rows is asked of all of them, by a check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, log1p, perm
from typing import Protocol

import numpy as np
import pyarrow as pa

from holdfast.checking.outcome import RuleOutcome
from holdfast.discovery.arithmetic import ArithmeticSample, Implied, SampledRelation, combinations_of, multiples
from holdfast.encode.column_type import ColumnType
from holdfast.engines.timed_batches import timed_batches
from holdfast.rules.constraint import denial
from holdfast.rules.dependency import Denial
from holdfast.rules.plain_words import number
from holdfast.rules.predicate import Column, NullTest
from holdfast.rules.rule import Names, Rule, RuleSet, readable_name
from holdfast.search.clock import Clock
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import FoundRule, RankedRules

# So many rows show what may hold in all. More only make accidents rarer, which all rows do anyway.
SAMPLED_ROWS = 4096
# So many relations are counted on the whole table, some at once.
_MOST_COUNTED, _COUNTED_AT_ONCE = 1_000, 100
# The share of the time left for what is counted before it is known how many rows test it; and why nothing more is.
_SEARCH_SHARE = 0.8
_CUT = "time was up before every column was tried that may be computed from others"
# In so many shapes columns are computed from others: see discovery/arithmetic.py.
_SHAPES = 10
# As in the ranking of other rules, a few tests say little.
_CHANCE = 4.0


@dataclass(frozen=True)
class ArithmeticRules:
    """Relations that hold in all rows, best first; notes on what is missing, and `cut`, what there was no time for."""

    rules: tuple[FoundRule, ...] = ()
    notes: tuple[str, ...] = ()
    cut: str | None = None


class CountedTable(Protocol):
    """A table on an engine, of which rows can be drawn and rules counted."""

    def sample(self, columns: Sequence[str], *, most: int, seed: int) -> pa.Table: ...

    def counted(self, rules: RuleSet, *, limit: int) -> Sequence[RuleOutcome]: ...


def arithmetic_rules(
    source: CountedTable,
    types: Mapping[str, ColumnType],
    options: DiscoverOptions,
    rows: int,
    *,
    clock: Clock,
) -> ArithmeticRules:
    """Returns the relations between numeric columns that hold in all rows, best first.

    Each is a rule on single rows, and says what those before it do not say together. Cost: a sample, and a check or
    two of few rules. Ends when time is up, with those that were counted by then.
    """
    numeric = {name: kind for name, kind in types.items() if kind.numeric}
    if len(numeric) < 2 or rows < 2:
        return ArithmeticRules()
    if clock.over:
        return ArithmeticRules(cut=_CUT)
    searching = clock.part(_SEARCH_SHARE)
    drawn = source.sample(list(numeric), most=SAMPLED_ROWS, seed=options.seed)
    sample = ArithmeticSample(drawn, numeric)
    counting = _Counting(source, options, rows, searching)
    single = counting.holding(multiples(sample, searching.is_over))
    # Columns that are equal are one in all else.
    equal = [
        relation.relation.columns
        for relation in single
        if relation.relation.multiple == 1 and relation.level == "equal"
    ]
    columns = list(sample.values)
    for pair in equal:
        later = max(pair, key=sample.place.__getitem__)
        columns = [name for name in columns if name != later]
    combined, complete = combinations_of(sample, columns, searching.is_over)
    holding = counting.holding([*single, *combined], known=single)
    if options.one_row:  # which compares columns of one row for being equal
        holding = [
            relation
            for relation in holding
            if not (relation.relation.multiple == 1 and relation.relation.shape == "multiple")
        ]
    cut = searching.over
    described = counting.described(holding, clock)
    if cut or len(described) < len(holding):
        return ArithmeticRules(tuple(described), cut=_CUT)
    if complete and len(combined) <= _MOST_COUNTED:
        return ArithmeticRules(tuple(described))
    note = (
        f"{number(len(sample.values), 'numeric column')} are too many to try every sum and product of them; "
        "--columns names fewer"
    )
    return ArithmeticRules(tuple(described), (note,))


class _Counting:
    """Relations of a sample, counted on all rows."""

    def __init__(self, source: CountedTable, options: DiscoverOptions, rows: int, clock: Clock) -> None:
        self._source, self._options, self._rows, self._clock = source, options, rows, clock

    def holding(
        self, candidates: Iterable[SampledRelation], known: Sequence[SampledRelation] = ()
    ) -> list[SampledRelation]:
        """Returns those that hold in all rows, each in the strictest way, in order, without what others imply.

        Those `known` hold. What others imply is not even counted, unless one of these turns out not to hold. When time
        is up, those are left out that were not counted.
        """
        held, waiting = list(known), [candidate for candidate in candidates if candidate not in known]
        first = list(known)
        while not self._clock.over:
            first = _without_implied([*held, *waiting], self._clock)
            unknown = [candidate for candidate in first if candidate not in held][:_COUNTED_AT_ONCE]
            if not unknown:
                return first
            for counted in timed_batches(unknown, self._clock, most=_COUNTED_AT_ONCE):
                waiting = [candidate for candidate in waiting if candidate not in counted]
                for candidate, outcome in zip(counted, self._counted(counted), strict=True):
                    if outcome.holds:
                        held.append(candidate)
                    elif (next_way := candidate.next_way) is not None:
                        waiting.append(next_way)
        return [candidate for candidate in first if candidate in held]

    def _counted(self, relations: Sequence[SampledRelation]) -> Sequence[RuleOutcome]:
        rules = tuple(Rule(f"r{i}", relation.body) for i, relation in enumerate(relations))
        return self._source.counted(RuleSet(rules, nulls=self._options.nulls), limit=1)

    def described(self, relations: Sequence[SampledRelation], clock: Clock) -> list[FoundRule]:
        """Returns them as rules with scores, best first; as many of the first as there is time for."""
        found_rules: list[FoundRule] = []
        for batch in timed_batches(relations, clock, most=_COUNTED_AT_ONCE):
            there = [
                Denial(denial([NullTest(Column("t", name), False) for name in relation.relation.columns]))
                for relation in batch
            ]
            rules = tuple(Rule(f"r{i}", body) for i, body in enumerate(there))
            outcomes = self._source.counted(RuleSet(rules, nulls=self._options.nulls), limit=1)
            found_rules += [
                self._described(relation, outcome.violating_rows)
                for relation, outcome in zip(batch, outcomes, strict=True)
            ]
        return sorted(found_rules, key=lambda entry: -entry.score)

    def _described(self, relation: SampledRelation, tested: int) -> FoundRule:
        """The score is as that of other rules: how short it is, each column beyond two counting as a predicate, and how
        many rows test it. It does not depend on which rows were drawn."""
        body = relation.body
        short = 2 / len(relation.relation.columns)
        weight = log1p(tested) / log1p(max(self._rows, 1))
        return FoundRule(
            Rule(readable_name(body), body, description=relation.words),
            body.denials[0],
            round(tested / (tested + _CHANCE) * (short + weight) / 2, 9),
            tested / max(self._rows, 1),
            tested * (self._rows - 1),
            accident=_accident(relation),
        )


def _accident(relation: SampledRelation) -> float:
    """How likely it is an accident, as search/accident.py says it of other rules; relations of so many columns there
    are in each of several shapes."""
    columns = len(relation.relation.columns)
    return exp(min(relation.log_chance + log(_SHAPES * perm(len(relation.sample.values), columns) * columns**2), 0.0))


def _without_implied(relations: Iterable[SampledRelation], clock: Clock) -> list[SampledRelation]:
    """Returns those that say more than the ones before them; not the later ones when time is up."""
    implied, kept = Implied(), list[SampledRelation]()
    for relation in sorted(relations, key=lambda relation: relation.order):
        if clock.over:
            break
        if implied.adds(relation.relation):
            kept.append(relation)
    return kept


def with_more(rules: Sequence[FoundRule], more: Sequence[FoundRule]) -> Sequence[FoundRule]:
    """Returns all the rules, best first; names stay unique, and rules that are made when asked for stay so."""
    if not more:
        return rules
    if not isinstance(rules, RankedRules):
        names = Names()
        entries = sorted([*rules, *more], key=lambda entry: -entry.score)
        return tuple(replace(entry, rule=replace(entry.rule, name=names.give(entry.rule.name))) for entry in entries)
    scores = np.concatenate([rules.scores, [entry.score for entry in more]])
    order = np.argsort(-scores, kind="stable")
    kinds = [*rules.kinds, *(entry.rule.kind for entry in more)]

    def make(i: int) -> FoundRule:
        at = int(order[i])
        return rules[at] if at < len(rules) else more[at - len(rules)]

    return RankedRules(make, [kinds[i] for i in order.tolist()], scores=scores[order])
