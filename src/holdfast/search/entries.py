"""Rules that say the same in other words, folded: one entry for each fact, its variants under it.

A rule is a *variant* when it follows from the others that are shown: no pair of rows can break it without breaking one
of those, as long as none of their values is null. What follows is found by closure over all of them, not rule by rule:
`zip, price -> sku` follows from `state, price -> sku` and `zip -> state`. Of rules that follow from each other in a
circle the best ones stay. Dependencies whose left sides determine each other share an entry, too.

A rule is folded under such only as people believe and read as easily as it: one that is likely no accident follows from
others like it alone, and a key, dependency or order rule from others of these kinds. A dependency that three denials
happen to say together is a fact of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import FD
from holdfast.rules.predicate import Column, Comparison
from holdfast.rules.relation import ANY, EQ, GT, LT

if TYPE_CHECKING:
    from holdfast.search.outcome import FoundRule

# How many of the first rules are looked at; each of the others is an entry of its own.
LOOKED_AT = 200
# Beyond this estimate a rule is more likely an accident than not.
PROBABLY = 0.5
# A rule with more combinations of single relations than that is an entry of its own.
_COMBINATIONS = 256

Slot: TypeAlias = tuple[Column, Column]
"""Two columns that are compared."""
Denied: TypeAlias = Mapping[Slot, int]
"""What a constraint allows, per pair of columns."""


@dataclass(frozen=True)
class Entries:
    """Per rule the number of its entry, from 1 on, and whether it is a variant, which follows from rules that are none.

    Entries are in the order of the best rule of each that is no variant.
    """

    numbers: tuple[int, ...]
    variants: tuple[bool, ...]

    def __iter__(self) -> Iterator[list[int]]:
        """The places of the rules of each entry, in order."""
        members: dict[int, list[int]] = {}
        for place, entry in enumerate(self.numbers):
            members.setdefault(entry, []).append(place)
        return (members[entry] for entry in sorted(members))

    def head(self, place: int) -> int:
        """The place of the best rule, of the entry of the rule at this place, that is no variant."""
        entry = self.numbers[place]
        return next(i for i, number in enumerate(self.numbers) if number == entry and not self.variants[i])


def entries_of(rules: Sequence[FoundRule]) -> Entries:
    """The rules, best first, as entries. Only rules on columns that nothing breaks follow or let others follow."""
    denials = {i: _both_ways(rule.constraint) for i, rule in enumerate(rules[:LOOKED_AT]) if _is_plain(rule)}
    under = _variants(denials, [(_is_believed(rule), _is_dependency(rule)) for rule in rules[:LOOKED_AT]])
    sides = {i: frozenset(body.left) for i in denials if isinstance(body := rules[i].rule.body, FD) and body.left}
    same_fact = _equivalent({i: left for i, left in sides.items() if i not in under}, denials)

    def head(i: int) -> int:
        while i in under:
            i = under[i]
        return same_fact.get(i, i)

    numbers: dict[int, int] = {}
    for i in range(len(rules)):
        if i not in under:
            numbers.setdefault(head(i), len(numbers) + 1)
    places = range(len(rules))
    return Entries(tuple(numbers[head(i)] for i in places), tuple(i in under for i in places))


def follows(constraint: DenialConstraint, others: Iterable[DenialConstraint]) -> bool:
    """Whether no pair of rows without nulls can break the constraint without breaking one of the others.

    >>> from holdfast.rules.parse import parse_constraint as dc
    >>> chain = [dc("not(t.zip = s.zip and t.city != s.city)"), dc("not(t.city = s.city and t.state != s.state)")]
    >>> follows(dc("not(t.zip = s.zip and t.state != s.state)"), chain)
    True
    """
    listed = list(others)
    return Consequences(listed).needed(constraint, range(len(listed))) is not None


class Consequences:
    """Constraints, and what follows from some of them; a constraint is looked at when a column that it compares is
    known, so that many others cost nothing."""

    def __init__(self, constraints: Iterable[DenialConstraint]) -> None:
        self._ways: list[tuple[int, Denied]] = []
        self._by_slot: dict[Slot, list[int]] = {}
        # Those that conclude something of any two rows.
        self._alone: list[int] = []
        for number, constraint in enumerate(constraints):
            for denied in _both_ways(constraint) if _on_columns(constraint) else ():
                at = len(self._ways)
                self._ways.append((number, denied))
                for slot in denied:
                    self._by_slot.setdefault(slot, []).append(at)
                if len(denied) < 2:
                    self._alone.append(at)

    def needed(self, constraint: DenialConstraint, among: Collection[int]) -> set[int] | None:
        """Numbers of constraints, of those `among` them, that suffice for this one to follow; None where it does not.

        That is so where no pair of rows without nulls can break it without breaking one of those.
        """
        if not _on_columns(constraint):
            return None
        return _needed(_slots(constraint.predicates), lambda relations: self._closed(relations, among))

    def _closed(self, relations: Denied, among: Collection[int]) -> tuple[dict[Slot, int], set[int], bool]:
        """As `_closed`, of the constraints `among` them."""
        known, used = dict(relations), set[int]()
        waiting = dict.fromkeys(self._alone + [at for slot in known for at in self._by_slot.get(slot, ())])
        while waiting:
            number, denied = self._ways[waiting.popitem()[0]]
            if number not in among:
                continue
            unmet = [slot for slot, allowed in denied.items() if known.get(slot, ANY) & ~allowed]
            if not unmet:
                return known, used | {number}, False
            if len(unmet) == 1 and (possible := known.get(unmet[0], ANY)) & denied[unmet[0]]:
                known[unmet[0]] = possible & ~denied[unmet[0]]
                used.add(number)
                waiting |= dict.fromkeys(self._by_slot[unmet[0]])
        return known, used, True


def _is_plain(rule: FoundRule) -> bool:
    exact = not rule.violating_pairs and not rule.suspect_rows and rule.interval is None
    return exact and _on_columns(rule.constraint)


def _is_believed(rule: FoundRule) -> bool:
    return rule.accident is None or rule.accident <= PROBABLY


def _is_dependency(rule: FoundRule) -> bool:
    return rule.rule.kind in ("key", "fd", "order")


def _on_columns(constraint: DenialConstraint) -> bool:
    return all(
        isinstance(p, Comparison) and isinstance(p.left, Column) and isinstance(p.right, Column)
        for p in constraint.predicates
    )


def _both_ways(constraint: DenialConstraint) -> tuple[Denied, ...]:
    """What the constraint and its mirror image allow."""
    mirror = (predicate.mirrored() for predicate in constraint.predicates)
    return tuple(_slots(predicates) for predicates in (constraint.predicates, mirror))


def _slots(predicates: Iterable[object]) -> dict[Slot, int]:
    slots: dict[Slot, int] = {}
    for predicate in predicates:
        assert isinstance(predicate, Comparison), "the rule is on columns"
        assert isinstance(predicate.left, Column), "the rule is on columns"
        assert isinstance(predicate.right, Column), "the rule is on columns"
        slots[predicate.left, predicate.right] = predicate.allowed
    return slots


def _variants(denials: Mapping[int, tuple[Denied, ...]], standing: Sequence[tuple[bool, bool]]) -> dict[int, int]:
    """Per rule that follows from the others the one that it follows by; the worst rule is looked at first, and what
    follows is no longer among the others. Of these only such count as are whatever a rule is by its `standing`."""
    left, under = dict(denials), dict[int, int]()
    for i in sorted(denials, reverse=True):
        own = left.pop(i)
        wanted = standing[i]
        like = {
            j: denied
            for j, denied in left.items()
            if all(there or not want for want, there in zip(wanted, standing[j], strict=True))
        }
        by = _broken_with(own[0], like)
        if by is None:
            left[i] = own
        else:
            under[i] = by
    return under


def _broken_with(own: Denied, others: Mapping[int, tuple[Denied, ...]]) -> int | None:
    """The rule that the own one follows by, of those that it needs for it: one that concludes the same, if there is
    one and nothing else, and the best of these; None where pairs of rows can break the own one alone."""
    needed = _needed(own, lambda relations: _closed(relations, others))
    if needed is None:
        return None
    concluded = _conclusion(own)
    conclusions = {i: _conclusion(others[i][0]) for i in needed}
    return min(needed, key=lambda i: (-len(concluded & conclusions[i]), len(conclusions[i] - concluded), i))


def _needed(own: Denied, closed: Callable[[Denied], tuple[dict[Slot, int], set[int], bool]]) -> set[int] | None:
    """The rules that the own one follows from, by what is `closed` under them; None where it does not."""
    single = [[relation for relation in (LT, EQ, GT) if allowed & relation] for allowed in own.values()]
    if prod(map(len, single)) > _COMBINATIONS:
        return None
    # From what is equal on, forward: backward from what differs, rules that conclude something else may come first.
    equal, needed, _ = closed({slot: EQ for slot, allowed in own.items() if allowed == EQ})
    for chosen in product(*single):
        known = {slot: equal.get(slot, ANY) & relation for slot, relation in zip(own, chosen, strict=True)}
        impossible = not all(known.values())
        if impossible:
            continue
        _, used, kept = closed({**equal, **known})
        if kept:
            return None
        needed |= used
    return needed


def _conclusion(denied: Denied) -> set[Slot]:
    """The columns that a rule wants in some relation where others are equal."""
    return {slot for slot, allowed in denied.items() if allowed != EQ}


def _closed(relations: Denied, others: Mapping[int, tuple[Denied, ...]]) -> tuple[dict[Slot, int], set[int], bool]:
    """What is known of a pair of rows in these relations that keeps the rules, the rules that this needed, and whether
    the pair may keep all of them.

    A rule all of whose predicates but one are surely met says that the last one is not.
    """
    known, used = dict(relations), set[int]()
    grown = True
    while grown:
        grown = False
        for i, ways in others.items():
            for denied in ways:
                unmet = [slot for slot, allowed in denied.items() if known.get(slot, ANY) & ~allowed]
                if not unmet:
                    return known, used | {i}, False
                possible = known.get(unmet[0], ANY)
                if len(unmet) == 1 and possible & denied[unmet[0]]:
                    known[unmet[0]] = possible & ~denied[unmet[0]]
                    used.add(i)
                    grown = True
    return known, used, True


def _equivalent(sides: Mapping[int, frozenset[str]], denials: Mapping[int, tuple[Denied, ...]]) -> dict[int, int]:
    """Per dependency the first one whose left side determines its own, and is determined by it."""
    closures: dict[frozenset[str], frozenset[str]] = {}
    for left in dict.fromkeys(sides.values()):
        known, _, _ = _closed({(Column("t", name), Column("s", name)): EQ for name in left}, denials)
        closures[left] = frozenset(
            a.name for (a, b), relations in known.items() if relations == EQ and a.name == b.name
        )
    firsts: dict[frozenset[str], int] = {}
    same: dict[int, int] = {}
    for i, left in sides.items():
        like = next((known for known in firsts if known <= closures[left] and left <= closures[known]), left)
        same[i] = firsts.setdefault(like, i)
    return same
