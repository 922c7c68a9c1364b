"""Rules that say the same in other words, folded: one entry for each fact, its variants under it.

A rule is a *variant* when it follows from the others that are shown, and from what each row keeps: no pair of rows can
break it without breaking one of those, as long as none of their values is null. What follows is found by closure over
all of them, not rule by rule: `zip, price -> sku` follows from `state, price -> sku` and `zip -> state`. Of rules that
follow from each other in a circle the best ones stay. Dependencies whose left sides determine each other share an
entry, too; so do rules that follow from the same of what each row keeps, and from nothing else.

A rule is folded under such only as people believe and read as easily as it: one that is likely no accident follows from
others like it alone, and a key, dependency or order rule from others of these kinds. A dependency that three denials
happen to say together is a fact of its own. Nor is a rule folded under one that far fewer pairs put to the test: where
most values of a column are null, a rule on it says little, and a key that follows from it is worth more than it. What
each row keeps is known for sure, and anything may follow from it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.rules.dependency import FD
from holdfast.rules.predicate import Column, Comparison
from holdfast.rules.relation import EQ
from holdfast.search.consequences import Consequences, conclusion, on_columns, slots_of
from holdfast.search.row_orders import RowOrder

if TYPE_CHECKING:
    from holdfast.search.outcome import FoundRule

# How many of the first rules are looked at; each of the others is an entry of its own.
LOOKED_AT = 200
# Beyond this estimate a rule is more likely an accident than not.
PROBABLY = 0.5
# A rule is folded only under such as are tested by at least this share of the pairs that test it.
AS_TESTED = 0.5


@dataclass(frozen=True)
class Reason:
    """What a rule follows from, none of which could be left out: places of rules, and what each row keeps."""

    rules: tuple[int, ...] = ()
    orders: tuple[RowOrder, ...] = ()


@dataclass(frozen=True)
class Entries:
    """Per rule the number of its entry, from 1 on, and whether it is a variant, which follows from rules that are none.

    Entries are in the order of the best rule of each that is no variant, those first of which this one is believed.
    `reasons` has what variants follow from, by place, and also the first rule of an entry where that is what each row
    keeps.
    """

    numbers: tuple[int, ...]
    variants: tuple[bool, ...]
    reasons: Mapping[int, Reason] = field(default_factory=dict, compare=False)

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


def entries_of(rules: Sequence[FoundRule], orders: Sequence[RowOrder] = ()) -> Entries:
    """The rules, best first, as entries, beside what each row keeps. Only rules on columns that nothing breaks follow
    or let others follow."""
    plain = [i for i, rule in enumerate(rules[:LOOKED_AT]) if _is_plain(rule)]
    folding = _Folding(rules, plain, _useful(orders, [rules[i] for i in plain]))
    under = folding.under()
    sides = {i: frozenset(body.left) for i in plain if isinstance(body := rules[i].rule.body, FD) and body.left}
    same_fact = folding.equivalent({i: left for i, left in sides.items() if i not in under})

    def head(i: int) -> int:
        while i in under:
            i = under[i]
        return same_fact.get(i, i)

    places = range(len(rules))
    heads = dict.fromkeys(head(i) for i in places if i not in under)
    in_order = sorted(heads, key=lambda i: not _is_believed(rules[i]))
    numbers = {i: number for number, i in enumerate(in_order, start=1)}
    return Entries(tuple(numbers[head(i)] for i in places), tuple(i in under for i in places), folding.reasons)


def _is_plain(rule: FoundRule) -> bool:
    exact = not rule.violating_pairs and not rule.suspect_rows and rule.interval is None
    return exact and on_columns(rule.constraint)


def _is_believed(rule: FoundRule) -> bool:
    return rule.accident is None or rule.accident <= PROBABLY


def _standing(rule: FoundRule) -> tuple[bool, bool]:
    """Whether it is believed, and is of a kind that people read easily."""
    return _is_believed(rule), rule.rule.kind in ("key", "fd", "order")


def _serves(other: FoundRule, rule: FoundRule) -> bool:
    """Whether the rule may be folded under the other one, if it follows."""
    stands = all(there or not want for want, there in zip(_standing(rule), _standing(other), strict=True))
    return stands and other.coverage >= AS_TESTED * rule.coverage


def _useful(orders: Iterable[RowOrder], rules: Sequence[FoundRule]) -> list[RowOrder]:
    """What each row keeps of columns that a rule compares, but for what such a rule says itself."""
    said = {rule.constraint for rule in rules if rule.rule.kind == "row"}
    compared = {
        column.name
        for rule in rules
        for p in rule.constraint.predicates
        if isinstance(p, Comparison) and not p.same_column
        for column in rule.constraint.columns()
    }
    return [order for order in orders if {order.left, order.right} <= compared and order.constraint not in said]


class _Folding:
    """Which rule each variant stands under, and why."""

    def __init__(self, rules: Sequence[FoundRule], plain: Sequence[int], orders: Sequence[RowOrder]) -> None:
        self.rules, self.plain, self.orders = rules, plain, orders
        # Numbers that the closure knows: first of the rules, then of what each row keeps.
        self.numbers = {place: number for number, place in enumerate(plain)}
        self.kept = range(len(plain), len(plain) + len(orders))
        self.said = Consequences([rules[place].constraint for place in plain], orders)
        self.reasons: dict[int, Reason] = {}

    def under(self) -> dict[int, int]:
        """Per variant the rule that it stands under."""
        under = self._under_what_rows_keep()
        left = {place: None for place in self.plain if place not in self.reasons}
        # The worst is looked at first, and what follows is no longer among the others.
        for place in sorted(left, reverse=True):
            del left[place]
            like = [self.numbers[other] for other in left if _serves(self.rules[other], self.rules[place])]
            reason = self._reason(place, [*like, *self.kept])
            if reason is None or not reason.rules:
                left[place] = None
            else:
                self.reasons[place], under[place] = reason, self._concluding(place, reason.rules)
        return under

    def equivalent(self, sides: Mapping[int, frozenset[str]]) -> dict[int, int]:
        """Per dependency the first one whose left side determines its own, and is determined by it."""
        everything = range(len(self.plain) + len(self.orders))
        closures: dict[frozenset[str], frozenset[str]] = {}
        for left in dict.fromkeys(sides.values()):
            known = self.said.surely({(Column("t", name), Column("s", name)): EQ for name in left}, everything)
            closures[left] = frozenset(
                a.name for (a, b), relations in known.items() if relations == EQ and (a.row, a.name) == ("t", b.name)
            )
        firsts: dict[frozenset[str], int] = {}
        same: dict[int, int] = {}
        for i, left in sides.items():
            like = next((known for known in firsts if known <= closures[left] and left <= closures[known]), left)
            same[i] = firsts.setdefault(like, i)
        return same

    def _under_what_rows_keep(self) -> dict[int, int]:
        """Of rules over two rows that follow from what each row keeps alone: the best of those that need the same is
        no variant, and the others stand under it. What needs more than one such fact stands under the first of them."""
        for place in self.plain if self.orders else ():
            if self.rules[place].constraint.two_rows:
                reason = self._reason(place, self.kept)
                if reason is not None:
                    self.reasons[place] = reason
        firsts: dict[RowOrder, int] = {}
        under: dict[int, int] = {}
        for place in sorted(self.reasons, key=lambda place: (len(self.reasons[place].orders) > 1, place)):
            orders = self.reasons[place].orders
            known = [firsts[order] for order in orders if order in firsts]
            if known:
                under[place] = min(known)
            else:
                firsts |= dict.fromkeys(orders, place)
        return under

    def _reason(self, place: int, among: Collection[int]) -> Reason | None:
        """What the rule follows from, of those: none of it could be left out. None where it does not follow."""
        constraint = self.rules[place].constraint
        needed = self.said.needed(constraint, frozenset(among))
        if needed is None:
            return None
        # Later rules are worse, and what each row keeps is on no page.
        for number in sorted(needed, reverse=True):
            fewer = needed - {number} if number in needed else needed
            needed = fewer if self.said.needed(constraint, fewer) is not None else needed
        numbers = sorted(needed)
        rules = tuple(self.plain[number] for number in numbers if number < len(self.plain))
        return Reason(rules, tuple(self.orders[number - len(self.plain)] for number in numbers if number in self.kept))

    def _concluding(self, place: int, needed: Collection[int]) -> int:
        """The rule that it follows by, of those that it needs for it: one that concludes the same, if there is one and
        nothing else, and the best of these."""
        concluded = conclusion(slots_of(self.rules[place].constraint.predicates))
        conclusions = {i: conclusion(slots_of(self.rules[i].constraint.predicates)) for i in needed}
        return min(needed, key=lambda i: (-len(concluded & conclusions[i]), len(conclusions[i] - concluded), i))
