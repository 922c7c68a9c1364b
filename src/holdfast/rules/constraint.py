"""Denial constraints: `not(p1 and ... and pk)`, a sentence that no two distinct rows may make true."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from ctypes import c_float
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

from holdfast.errors import TrivialRuleError
from holdfast.rules.predicate import (
    Column,
    Comparison,
    Constant,
    Membership,
    NullTest,
    Operand,
    Predicate,
    TextTest,
    comparison,
    difference_of,
)
from holdfast.rules.relation import ANY, EQ, GT, LT, NE, operator_of, swapped

Canonical: TypeAlias = frozenset[tuple[object, ...]]


@dataclass(frozen=True, eq=False)
class DenialConstraint:
    """No two distinct rows t, s may satisfy all predicates; a rule on single rows mentions only `t`.

    Predicates keep the order in which they were written; there is one for each pair of operands. Two constraints are
    equal when their canonical forms are: neither order nor the direction of a comparison matters.
    """

    predicates: tuple[Predicate, ...]

    def __str__(self) -> str:
        return f"not({' and '.join(map(str, self.predicates))})"

    @cached_property
    def canonical(self) -> Canonical:
        """The predicates without order, one entry per operand pair."""
        return frozenset(_canonical_entry(predicate) for predicate in self.predicates)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DenialConstraint) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def columns(self) -> Iterator[Column]:
        for predicate in self.predicates:
            yield from predicate.columns()

    @cached_property
    def compared(self) -> frozenset[tuple[object, ...]]:
        """What the predicates are about, without what they say of it. A constraint `covers` another only where all
        of this, or of its mirror image, is compared by the other, too."""
        return frozenset(map(_slot, self.predicates))

    @cached_property
    def two_rows(self) -> bool:
        return any(column.row == "s" for column in self.columns())

    def mirrored(self) -> DenialConstraint:
        """Returns the constraint with t and s swapped; a constraint on single rows is its own mirror."""
        if not self.two_rows:
            return self
        return DenialConstraint(tuple(predicate.mirrored() for predicate in self.predicates))

    @property
    def symmetric(self) -> bool:
        return self == self.mirrored()

    def implies(self, other: DenialConstraint) -> bool:
        """Whether every table that satisfies this constraint satisfies the other.

        So it is where each predicate of this constraint, or of its mirror, has a narrower one in the other.

        >>> from holdfast.rules.parse import parse_constraint as dc
        >>> dc("not(t.A <= s.A)").implies(dc("not(t.A < s.A and t.B = s.B)"))
        True
        """
        # Also on single rows: what holds for no t holds for no s.
        mirror = DenialConstraint(tuple(predicate.mirrored() for predicate in self.predicates))
        return _allows_at_least(self, other) or _allows_at_least(mirror, other)

    def covers(self, other: DenialConstraint, *, nulls_equal: bool = False) -> bool:
        """Whether two rows that violate the other violate this constraint, too, the one way round or the other.

        That is more than `implies` sees: part of the other may lie in this constraint, and the rest in its mirror.
        `nulls_equal` says that a null differs from every value, without being less or greater.

        >>> from holdfast.rules.parse import parse_constraint as dc
        >>> less, differ = dc("not(t.A = s.A and t.B < s.B)"), dc("not(t.A = s.A and t.B != s.B)")
        >>> less.implies(differ), less.covers(differ)
        (False, True)
        """
        mirror = DenialConstraint(tuple(predicate.mirrored() for predicate in self.predicates))
        if _allows_at_least(self, other) or _allows_at_least(mirror, other):
            return True
        theirs = {_slot(predicate): predicate for predicate in other.predicates}
        for predicate in self.predicates:
            # What of the other lies outside of this constraint, by this predicate, has to lie in the mirror.
            outside = _outside(theirs.get(_slot(predicate)), predicate, nulls_equal=nulls_equal)
            if outside is None:
                return False
            if outside == 0:
                continue
            rest = dict(theirs)
            rest[_slot(predicate)] = _with_relations(predicate, outside)
            if not _allows_at_least(mirror, DenialConstraint(tuple(rest.values()))):
                return False
        return True


def denial(predicates: Iterable[Predicate]) -> DenialConstraint:
    """Returns the constraint with all predicates on one operand pair combined into one.

    Raises TrivialRuleError when no table could violate it.
    """
    merged: dict[tuple[object, ...], Predicate] = {}
    for predicate in _rows_named_from_t(list(predicates)):
        slot = _slot(predicate)
        earlier = merged.get(slot)
        if earlier is not None and not _can_combine(earlier, predicate):
            assert isinstance(predicate, Membership), "all other predicates can"
            slot = (*slot, predicate.values)
            earlier = merged.get(slot)
        merged[slot] = predicate if earlier is None else _both(earlier, predicate)
    result = DenialConstraint(tuple(p for p in merged.values() if not (isinstance(p, Comparison) and p.allowed == ANY)))
    reason = _contradiction(result.predicates)
    if reason is not None:
        raise TrivialRuleError(f"no table could violate it: {reason}.")
    return result


def _rows_named_from_t(predicates: list[Predicate]) -> list[Predicate]:
    # A rule that mentions only s is a one-row rule; read s as t.
    rows = {column.row for predicate in predicates for column in predicate.columns()}
    return [predicate.mirrored() for predicate in predicates] if rows == {"s"} else predicates


def _slot(predicate: Predicate) -> tuple[object, ...]:
    """Returns what the predicate is about; predicates with the same slot can be combined."""
    if isinstance(predicate, Comparison):
        if not isinstance(predicate.right, Constant) and predicate.left.row == predicate.right.row:
            return ("pair", *sorted((predicate.left, predicate.right), key=str))
        return ("pair", predicate.left, predicate.right)
    if isinstance(predicate, NullTest):
        return ("null", predicate.column, predicate.is_null)
    if isinstance(predicate, TextTest):
        return (predicate.operator, predicate.column, predicate.argument, predicate.positive)
    return ("in" if predicate.inside else "not in", predicate.column)


def _canonical_entry(predicate: Predicate) -> tuple[object, ...]:
    slot = _slot(predicate)
    if isinstance(predicate, Comparison):
        turned = slot[1] != predicate.left
        return (*slot, swapped(predicate.allowed) if turned else predicate.allowed)
    return (*slot, predicate.values) if isinstance(predicate, Membership) else slot


def _can_combine(first: Predicate, second: Predicate) -> bool:
    """Whether what both say is one predicate, whatever the type of the column.

    Two lists may share a value though they are written differently: 0.1 and 0.10000000001 are one float.
    """
    if not (isinstance(first, Membership) and isinstance(second, Membership) and first.inside):
        return True
    apart = [(a, b) for a in first.values - second.values for b in second.values - first.values]
    return all(_surely_differ(a, b) for a, b in apart)


def _both(first: Predicate, second: Predicate) -> Predicate:
    if isinstance(first, Comparison) and isinstance(second, Comparison):
        turned = first.left != second.left
        allowed = first.allowed & (swapped(second.allowed) if turned else second.allowed)
        return Comparison(first.left, allowed, first.right)
    if isinstance(first, Membership) and isinstance(second, Membership):
        values = first.values & second.values if first.inside else first.values | second.values
        return Membership(first.column, values, first.inside)
    return first


def _allows_at_least(general: DenialConstraint, special: DenialConstraint) -> bool:
    special_predicates = {_slot(predicate): predicate for predicate in special.predicates}
    for predicate in general.predicates:
        other = special_predicates.get(_slot(predicate))
        if other is None or not _inside(other, predicate):
            return False
    return True


def _outside(narrow: Predicate | None, wide: Predicate, *, nulls_equal: bool) -> int | None:
    """Returns the relations, as `wide` names its operands, that `narrow` allows and `wide` does not; 0 where there are
    none, None where what is left is not told by relations: there may be a null, or it is no comparison."""
    if narrow is not None and _inside(narrow, wide):
        return 0
    if not (isinstance(narrow, Comparison) and isinstance(wide, Comparison)):
        return None
    allowed = swapped(narrow.allowed) if narrow.left != wide.left else narrow.allowed
    outside = allowed & ~wide.allowed
    if nulls_equal and allowed & NE == NE and outside & NE not in (0, NE):
        return None
    return outside


def _with_relations(predicate: Predicate, allowed: int) -> Predicate:
    assert isinstance(predicate, Comparison), "only comparisons have relations"
    return Comparison(predicate.left, allowed, predicate.right)


def _inside(narrow: Predicate, wide: Predicate) -> bool:
    if isinstance(narrow, Comparison) and isinstance(wide, Comparison):
        turned = narrow.left != wide.left
        allowed = swapped(narrow.allowed) if turned else narrow.allowed
        return allowed & ~wide.allowed == 0
    if isinstance(narrow, Membership) and isinstance(wide, Membership):
        return narrow.values <= wide.values if narrow.inside else narrow.values >= wide.values
    return narrow == wide


# Contradiction -----------------------------------------------------------------------------------------------


def _contradiction(predicates: tuple[Predicate, ...]) -> str | None:
    """Returns why no rows can satisfy all predicates; None when rows can.

    Complete for comparisons over a dense order without ends: the predicates are a graph of <, <= and !=; they
    contradict each other exactly when a cycle has a strict edge, or a cycle without one joins two operands that
    must differ. Nulls do not rescue a cycle: its operands are all null or all values, in both null modes.
    """
    for predicate in predicates:
        if isinstance(predicate, Comparison) and predicate.left == predicate.right:
            if not predicate.allowed & EQ:
                return f"{predicate.left} cannot differ from itself"
        elif isinstance(predicate, Comparison) and predicate.allowed == 0:
            return f"{predicate.left} and {predicate.right} cannot be in all those relations at once"
        elif isinstance(predicate, Comparison) and _below_zero(predicate):
            return f"{predicate.left} is never below 0"
        elif isinstance(predicate, Membership) and predicate.inside and not predicate.values:
            return f"no value of {predicate.column} is in all the lists"
    nulls = {p.column for p in predicates if isinstance(p, NullTest) and p.is_null}
    for predicate in predicates:
        if isinstance(predicate, NullTest) and not predicate.is_null and predicate.column in nulls:
            return f"{predicate.column} cannot be both null and not null"
        if (
            isinstance(predicate, Comparison)
            and isinstance(predicate.right, Constant)
            and predicate.left in nulls
            and predicate.allowed != NE
        ):
            return f"{predicate.left} cannot be null and have a value"
        if isinstance(predicate, Membership | TextTest) and _needs_a_value(predicate) and predicate.column in nulls:
            return f"{predicate.column} cannot be null and have a value"
        if isinstance(predicate, TextTest) and predicate.negated() in predicates:
            return f"{predicate.column} cannot both be and not be such that it {predicate.operator} that text"
    facts = [p for p in predicates if isinstance(p, Comparison)]
    for member in (p for p in predicates if isinstance(p, Membership) and not p.inside):
        facts += [comparison(member.column, NE, value) for value in member.values]
    reason = _order_contradiction(facts)
    if reason is not None:
        return reason
    for member in (p for p in predicates if isinstance(p, Membership) and p.inside):
        if all(_order_contradiction([*facts, comparison(member.column, EQ, v)]) for v in member.values):
            return f"no value in the list fits the other predicates on {member.column}"
    return None


def _needs_a_value(predicate: Membership | TextTest) -> bool:
    return predicate.inside if isinstance(predicate, Membership) else predicate.positive


def _below_zero(predicate: Comparison) -> bool:
    """Whether this wants an absolute difference of two rows to be negative."""
    difference, right = difference_of(predicate.left), predicate.right
    if difference is None or not difference.absolute or not isinstance(right, Constant):
        return False
    assert isinstance(right.value, int | Decimal), "a difference is compared with a number"
    return not predicate.allowed & GT and (right.value < 0 or (right.value == 0 and predicate.allowed == LT))


def _order_contradiction(facts: list[Comparison]) -> str | None:
    known = [*facts, *_constant_order(facts)]
    nodes: list[Operand] = list(dict.fromkeys(operand for fact in known for operand in fact.operands))
    place = {node: i for i, node in enumerate(nodes)}
    # below[i][j]: 0 nothing known, 1 node i is at most node j, 2 node i is less than node j; transitively closed.
    below = [[0] * len(nodes) for _ in nodes]
    for fact in known:
        i, j = place[fact.left], place[fact.right]
        for allowed, a, b in ((fact.allowed, i, j), (swapped(fact.allowed), j, i)):
            if not allowed & GT:
                below[a][b] = max(below[a][b], 1 if allowed & EQ else 2)
    for k in range(len(nodes)):
        for i in range(len(nodes)):
            if below[i][k]:
                for j in range(len(nodes)):
                    if below[k][j]:
                        below[i][j] = max(below[i][j], below[i][k], below[k][j])
    for fact in known:
        i, j = place[fact.left], place[fact.right]
        if i == j:
            continue
        cycle = below[i][j] and below[j][i]
        if cycle and (below[i][i] == 2 or fact.allowed in (NE, LT, GT)):
            involved = [
                f"{f.left} {operator_of(f.allowed)} {f.right}"
                for f in facts
                if f.left != f.right and _on_cycle(below, place[f.left], place[f.right], i)
            ]
            return f"{' and '.join(involved)} contradict each other"
    return None


def _on_cycle(below: list[list[int]], a: int, b: int, through: int) -> bool:
    return all(below[x][through] and below[through][x] for x in (a, b))


def _constant_order(facts: list[Comparison]) -> list[Comparison]:
    # How the constants compare with each other, for kinds whose order does not depend on the type of a column.
    known: list[Comparison] = []
    by_kind: dict[str, list[Constant]] = {}
    for fact in facts:
        if isinstance(fact.right, Constant) and fact.right not in by_kind.setdefault(fact.right.kind, []):
            by_kind[fact.right.kind].append(fact.right)
    for kind, constants in by_kind.items():
        if kind in ("number", "date", "text"):
            ordered = sorted(filter(_keeps_its_value, constants), key=_order_key)
            known += [_fact(low, LT, high) for low, high in pairwise(ordered) if _surely_differ(low, high)]
        else:
            pairs = [(a, b) for i, a in enumerate(constants) for b in constants[i + 1 :]]
            known += [_fact(a, NE, b) for a, b in pairs if _surely_differ(a, b)]
    return known


def _keeps_its_value(constant: Constant) -> bool:
    """Whether the constant has the same value for every column; text that can be read as a date does not."""
    if constant.kind != "text":
        return True
    try:
        dt.datetime.fromisoformat(str(constant.value).strip())
    except ValueError:
        return True
    return False


def _surely_differ(a: Constant, b: Constant) -> bool:
    """Whether two constants that are written differently are different values for every column."""
    if a.kind != b.kind or a.kind == "raw":
        return False
    if a.kind == "number":
        # Two different numbers may round to the same float, which is coarser than a double.
        return c_float(float(str(a.value))).value != c_float(float(str(b.value))).value
    if isinstance(a.value, dt.datetime) and isinstance(b.value, dt.datetime):
        # A time without a zone is one of UTC to a column of times that have one.
        return (a.value.tzinfo is None) == (b.value.tzinfo is None)
    return _keeps_its_value(a) and _keeps_its_value(b)


def _order_key(constant: Constant) -> Any:
    value = constant.value
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _fact(left: Constant, allowed: int, right: Constant) -> Comparison:
    # Only here, in the search for contradictions, may the left operand be a constant.
    return Comparison(left, allowed, right)  # type: ignore[arg-type]
