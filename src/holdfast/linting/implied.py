"""Rules that could all be left out together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import TypeAlias

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import of_its_table
from holdfast.rules.rule import Allowance, Nulls, Rule
from holdfast.search.consequences import Consequences

# Whether a rule follows from several together is looked at among so many rules.
MOST_TOGETHER = 200

# The tables, the condition and the severity of rules that tolerate nothing.
_Terms: TypeAlias = tuple[tuple[str, ...], str | None, str]
_Compared: TypeAlias = tuple[object, ...]


def implied_rules(rules: Sequence[Rule], nulls: Nulls) -> Iterator[tuple[int, list[str]]]:
    """The places of rules that follow from others that are left, each with the names of these; the last ones first.

    First those that follow from one other rule, then those that follow from several, none of which could be left out.
    A rule is compared with those alone that compare nothing but what it compares.
    """
    if len(rules) < 2:
        return
    index = _Index(rules, nulls)
    left = set(range(len(rules)))
    for by in (index.by_one, index.by_several):
        for place in reversed(range(len(rules))):
            if place in left and (names := by(place, left)):
                left.discard(place)
                yield place, names


def denials_of(rule: Rule) -> tuple[DenialConstraint, ...]:
    """The denials of the rule, over the columns of its table where it is of one."""
    body = of_its_table(rule.body) if len(rule.tables) == 1 else rule.body
    return tuple(body.denials)


class _Index:
    """Rules by what their denials compare, and by the terms under which others follow from them."""

    def __init__(self, rules: Sequence[Rule], nulls: Nulls) -> None:
        self._rules, self._nulls_equal = rules, nulls == "equal"
        self._tables = [rule.tables for rule in rules]
        self._denials = [denials_of(rule) for rule in rules]
        self._strict: dict[_Terms, list[int]] = {}
        for place, rule in enumerate(rules):
            if (rule.allow, rule.allow_pairs, rule.warn) == (Allowance(), None, None):
                terms = self._tables[place], rule.where, rule.severity
                self._strict.setdefault(terms, []).append(place)
        # The denials, under the rarest of what each compares, either way round.
        ways = [
            (place, denial, way.compared)
            for place, denials in enumerate(self._denials)
            for denial in denials
            for way in (denial, DenialConstraint(tuple(predicate.mirrored() for predicate in denial.predicates)))
        ]
        many = Counter(part for _, _, compared in ways for part in compared)
        self._by_rarest: dict[_Compared, list[tuple[int, DenialConstraint, frozenset[_Compared]]]] = {}
        for way in ways:
            self._by_rarest.setdefault(min(way[2], key=many.__getitem__, default=()), []).append(way)
        everything = [denial for denials in self._denials for denial in denials]
        self._numbers: list[range] = []
        for denials in self._denials:
            start = self._numbers[-1].stop if self._numbers else 0
            self._numbers.append(range(start, start + len(denials)))
        self._places = [place for place, numbers in enumerate(self._numbers) for _ in numbers]
        self._consequences = Consequences(everything)

    def by_one(self, place: int, left: Collection[int]) -> list[str]:
        """The name of the first rule, of those `left`, from which the rule follows, in a list."""
        terms = self._terms(place)
        possible: set[int] | None = None
        for denial in self._denials[place]:
            covering = set()
            for part in denial.compared:
                for other, own, compared in self._by_rarest.get(part, ()):
                    wanted = other in left and other != place and (possible is None or other in possible)
                    if (
                        wanted
                        and other not in covering
                        and compared <= denial.compared
                        and self._is_strict(other, terms)
                        and own.covers(denial, nulls_equal=self._nulls_equal)
                    ):
                        covering.add(other)
            if not covering:
                return []
            possible = covering
        return [self._rules[min(possible)].name] if possible else []

    def by_several(self, place: int, left: Collection[int]) -> list[str]:
        """The names of rules, of those `left`, from which the rule follows together."""
        if len(self._tables[place]) > 1:
            return []
        strict = merge(*(self._strict.get(terms, ()) for terms in self._terms(place)))
        together = list(islice((other for other in strict if other != place and other in left), MOST_TOGETHER))
        used = self._sufficient(place, together)
        if used is None:
            return []
        for other in list(together):
            rest = [kept for kept in together if kept != other]
            without = used if other not in used else self._sufficient(place, rest)
            if without is not None:
                together, used = rest, without
        return [self._rules[other].name for other in together]

    def _sufficient(self, place: int, together: Sequence[int]) -> set[int] | None:
        """Rules of those `together` from which the rule follows; None where it does not follow from all of them."""
        among = {number for other in together for number in self._numbers[other]}
        used = set[int]()
        for denial in self._denials[place]:
            needed = self._consequences.needed(denial, among)
            if needed is None:
                return None
            used |= {self._places[number] for number in needed}
        return used

    def _terms(self, place: int) -> list[_Terms]:
        """The terms of rules that speak of all the rows that the rule speaks of, and are of no lower severity."""
        rule = self._rules[place]
        severities = ("error", "warn") if rule.severity == "warn" else ("error",)
        return [
            (self._tables[place], where, severity)
            for where in dict.fromkeys((None, rule.where))
            for severity in severities
        ]

    def _is_strict(self, place: int, terms: Sequence[_Terms]) -> bool:
        rule = self._rules[place]
        own = self._tables[place], rule.where, rule.severity
        return own in terms and (rule.allow, rule.allow_pairs, rule.warn) == (Allowance(), None, None)
