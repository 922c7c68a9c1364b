"""What follows from several constraints together, over two rows without nulls.

Found by closure: a constraint all of whose predicates but one are surely met says that the last one is not. With
`orders`, what each row keeps is known as well, and how three values stand to each other: `t.a <= t.b` and `t.b < s.b`
tell `t.a < s.b`. What is said to follow does; of what needs cases to be told apart, some is not found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.predicate import Column, Comparison
from holdfast.rules.relation import ANY, EQ, GT, LT, complement, swapped
from holdfast.search.row_orders import RowOrder

# Nothing is found of a constraint with more combinations of single relations than that.
_COMBINATIONS = 256
# A closure ends when so many times three values were looked at: of many columns in order all follow from each other.
_MOST_STEPS = 20_000

Slot: TypeAlias = tuple[Column, Column]
"""Two columns that are compared, of t before s, and within one row by name."""
Denied: TypeAlias = Mapping[Slot, int]
"""What a constraint allows, per pair of columns."""


def _composed(a: int, b: int) -> int:
    """The relations that x and z may be in, where x and y are in one of the first, and y and z in one of the second."""
    through = 0
    for first in (LT, EQ, GT):
        for second in (LT, EQ, GT):
            if a & first and b & second:
                through |= second if first == EQ else first if second in (first, EQ) else ANY
    return through


_THROUGH = [[_composed(a, b) for b in range(ANY + 1)] for a in range(ANY + 1)]


def on_columns(constraint: DenialConstraint) -> bool:
    """Whether it compares columns only."""
    return all(
        isinstance(p, Comparison) and isinstance(p.left, Column) and isinstance(p.right, Column)
        for p in constraint.predicates
    )


def slots_of(predicates: Iterable[object]) -> dict[Slot, int]:
    """What the predicates allow, per pair of columns."""
    slots: dict[Slot, int] = {}
    for predicate in predicates:
        assert isinstance(predicate, Comparison), "the rule is on columns"
        assert isinstance(predicate.left, Column), "the rule is on columns"
        assert isinstance(predicate.right, Column), "the rule is on columns"
        slot, turned = _slot(predicate.left, predicate.right)
        slots[slot] = swapped(predicate.allowed) if turned else predicate.allowed
    return slots


def conclusion(denied: Denied) -> set[Slot]:
    """The columns that a constraint wants in some relation where others are equal."""
    return {slot for slot, allowed in denied.items() if allowed != EQ}


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
    known, so that many others cost nothing.

    With `orders`, also what each row keeps, under the numbers that come after those of the constraints.

    >>> from holdfast.rules.parse import parse_constraint as dc
    >>> low = Consequences([], orders=[RowOrder("Low", "High", LT | EQ)])
    >>> low.needed(dc("not(t.Low >= s.High and t.High < s.High)"), {0})
    {0}
    """

    def __init__(self, constraints: Iterable[DenialConstraint], orders: Sequence[RowOrder] | None = None) -> None:
        self.ways: list[tuple[int, Denied]] = []
        self.by_slot: dict[Slot, list[int]] = {}
        # Those that conclude something of any two rows.
        self.alone: list[int] = []
        count = 0
        for number, constraint in enumerate(constraints):
            count = number + 1
            for denied in both_ways(constraint) if on_columns(constraint) else ():
                at = len(self.ways)
                self.ways.append((number, denied))
                for slot in denied:
                    self.by_slot.setdefault(slot, []).append(at)
                if len(denied) < 2:
                    self.alone.append(at)
        self.transitive = orders is not None
        # What each row keeps, and which columns that makes stand beside each other.
        self.kept: dict[Slot, tuple[int, int]] = {}
        self.beside: dict[Column, dict[Column, None]] = {}
        for number, order in enumerate(orders or (), start=count):
            for denied in both_ways(order.constraint):
                (((left, right), broken),) = denied.items()
                self.kept[left, right] = number, complement(broken)
                self.beside.setdefault(left, {})[right] = None
                self.beside.setdefault(right, {})[left] = None

    def needed(self, constraint: DenialConstraint, among: Collection[int]) -> set[int] | None:
        """Numbers of constraints, of those `among` them, that suffice for this one to follow; None where it does not.

        That is so where no pair of rows without nulls can break it without breaking one of those.
        """
        if not on_columns(constraint):
            return None
        own = slots_of(constraint.predicates)
        single = [[relation for relation in (LT, EQ, GT) if allowed & relation] for allowed in own.values()]
        if prod(map(len, single)) > _COMBINATIONS:
            return None
        # From what is equal on, forward: backward from what differs, rules that conclude something else may come first.
        equal = _Closure(self, among)
        equal.waiting.extend(self.alone)
        broken = equal.close({slot: EQ for slot, allowed in own.items() if allowed == EQ})
        if broken is not None:
            return set(broken)
        needed = set[int]()
        for chosen in product(*single):
            broken = equal.copy().close(dict(zip(own, chosen, strict=True)))
            if broken is None:
                return None
            needed |= broken
        return needed

    def surely(self, relations: Denied, among: Collection[int]) -> Denied:
        """What is known of two rows in these relations that keep the constraints `among` them."""
        closure = _Closure(self, among)
        closure.waiting.extend(self.alone)
        closure.close(relations)
        return closure.known


class _Closure:
    """What is known of two rows, per pair of columns: in which relations they may be, and which constraints say so."""

    def __init__(self, said: Consequences, among: Collection[int]) -> None:
        self.said, self.among = said, among
        self.known: dict[Slot, int] = {}
        self.reasons: dict[Slot, frozenset[int]] = {}
        self.beside: dict[Column, dict[Column, None]] = {}
        # The ways of constraints that may say something new, and pairs of columns of which something new is known.
        self.waiting: deque[int] = deque()
        self.changed: deque[Slot] = deque()
        self.steps = 0

    def copy(self) -> _Closure:
        other = _Closure(self.said, self.among)
        other.known, other.reasons = dict(self.known), dict(self.reasons)
        other.beside = {column: dict(beside) for column, beside in self.beside.items()}
        return other

    def close(self, relations: Denied) -> frozenset[int] | None:
        """Adds that the rows are in these relations, and all that follows. Where no two rows are, returns the numbers
        of the constraints that say so."""
        for slot, possible in relations.items():
            if (broken := self._refine(slot, possible, frozenset())) is not None:
                return broken
        while True:
            # Constraints first: what they say is short to tell.
            if self.waiting:
                broken = self._apply(*self.said.ways[self.waiting.popleft()])
            elif self.said.transitive and self.changed and self.steps < _MOST_STEPS:
                broken = self._through(*self.changed.popleft())
            else:
                return None
            if broken is not None:
                return broken

    def _relation(self, slot: Slot) -> tuple[int, frozenset[int]]:
        known = self.known.get(slot)
        if known is not None:
            return known, self.reasons[slot]
        number, kept = self.said.kept.get(slot, (-1, ANY))
        return (kept, frozenset((number,))) if number in self.among else (ANY, frozenset())

    def _refine(self, slot: Slot, possible: int, why: frozenset[int]) -> frozenset[int] | None:
        before, reasons = self._relation(slot)
        now = before & possible
        if now == before and slot in self.known:
            return None
        # What is known for the same reason anyway has no other one.
        self.known[slot], self.reasons[slot] = now, reasons if now == before else reasons | why
        if not now:
            return self.reasons[slot]
        self.changed.append(slot)
        self.waiting.extend(self.said.by_slot.get(slot, ()))
        a, b = slot
        self.beside.setdefault(a, {})[b] = None
        self.beside.setdefault(b, {})[a] = None
        return None

    def _apply(self, number: int, denied: Denied) -> frozenset[int] | None:
        """What a constraint says where all its predicates but one, or all, are surely met."""
        if number not in self.among:
            return None
        unmet, why = [], frozenset((number,))
        for slot, allowed in denied.items():
            relation, reasons = self._relation(slot)
            if relation & ~allowed:
                unmet.append(slot)
            else:
                why |= reasons
        if len(unmet) > 1:
            return None
        return self._refine(unmet[0], ANY & ~denied[unmet[0]], why) if unmet else why

    def _through(self, a: Column, b: Column) -> frozenset[int] | None:
        """What the relation of two columns says of others that stand beside either."""
        for first, middle in ((a, b), (b, a)):
            into, why = self._directed(first, middle)
            for last in [*self.beside.get(middle, ()), *self.said.beside.get(middle, ())]:
                self.steps += 1
                if last == first:
                    continue
                onward, more = self._directed(middle, last)
                through = _THROUGH[into][onward]
                slot, turned = _slot(first, last)
                if self._relation(slot)[0] & ~(swapped(through) if turned else through):
                    broken = self._refine(slot, swapped(through) if turned else through, why | more)
                    if broken is not None:
                        return broken
        return None

    def _directed(self, a: Column, b: Column) -> tuple[int, frozenset[int]]:
        slot, turned = _slot(a, b)
        relation, why = self._relation(slot)
        return (swapped(relation) if turned else relation), why


def both_ways(constraint: DenialConstraint) -> tuple[Denied, ...]:
    """What the constraint and its mirror image allow."""
    mirror = (predicate.mirrored() for predicate in constraint.predicates)
    return tuple(slots_of(predicates) for predicates in (constraint.predicates, mirror))


def _slot(a: Column, b: Column) -> tuple[Slot, bool]:
    """The two columns in order, and whether they are turned."""
    turned = a.name > b.name if a.row == b.row else b.row == "t" or (a.row != "t" and a.row > b.row)
    return ((b, a), True) if turned else ((a, b), False)
