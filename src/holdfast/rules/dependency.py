"""Rules as people write them: keys, functional dependencies, conditional ones, implications, denials.

Each has `denials`, the denial constraints that it stands for, and a `kind`, one of KINDS.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from holdfast.errors import RuleSyntaxError, TrivialRuleError
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.predicate import (
    Column,
    Comparison,
    Constant,
    Predicate,
    QualifiedColumn,
    Row,
    comparison,
    differs,
    equals,
    quoted_name,
    table_column,
    with_columns,
)
from holdfast.rules.relation import EQ, LT, NE, is_inequality

KINDS = ("key", "fd", "cfd", "order", "dc", "row", "ind")


@dataclass(frozen=True)
class Key:
    """No two rows agree on all columns."""

    columns: tuple[str, ...]

    kind = "key"

    def __post_init__(self) -> None:
        _refuse_repeats(self.columns)

    def __str__(self) -> str:
        return f"unique({_names(self.columns)})"

    @cached_property
    def denials(self) -> tuple[DenialConstraint, ...]:
        return (denial(_agree(self.columns)),)


@dataclass(frozen=True)
class FD:
    """Rows that agree on the left columns agree on each right column."""

    left: tuple[str, ...]
    right: tuple[str, ...]

    kind = "fd"

    def __post_init__(self) -> None:
        _refuse_repeats(self.left)
        _refuse_repeats(self.right)
        _refuse_both_sides(self.left, self.right)

    def __str__(self) -> str:
        if not self.left:  # "one value for the whole table" has no arrow form
            return " and ".join(map(str, self.denials))
        return f"{_names(self.left)} -> {_names(self.right)}"

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left + self.right

    @cached_property
    def denials(self) -> tuple[DenialConstraint, ...]:
        return tuple(denial([*_agree(self.left), _differ(column)]) for column in self.right)


@dataclass(frozen=True)
class Pattern:
    """One line of a tableau: for each left and right column a constant, or None for any value."""

    left: tuple[Constant | None, ...]
    right: tuple[Constant | None, ...]


@dataclass(frozen=True)
class CFD:
    """A functional dependency on the rows that match its patterns.

    A pattern with a constant on the right is a rule on single rows. One without is a rule on pairs of rows that both
    match the constants on the left and agree on the left columns.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    inline: bool = False

    kind = "cfd"

    def __post_init__(self) -> None:
        _refuse_repeats(self.left)
        _refuse_repeats(self.right)
        for pattern in self.patterns:
            for column, wanted in zip(self.right, pattern.right, strict=True):
                if column not in self.left:
                    continue
                given = pattern.left[self.left.index(column)]
                if wanted is None or wanted == given:
                    _refuse_both_sides((column,), (column,))

    def __str__(self) -> str:
        if not self.inline:
            return f"{_names(self.left)} -> {_names(self.right)}"
        return f"{self._side(self.left, self._only.left)} -> {self._side(self.right, self._only.right)}"

    @property
    def _only(self) -> Pattern:
        (pattern,) = self.patterns
        return pattern

    @staticmethod
    def _side(columns: Sequence[str], values: Sequence[Constant | None]) -> str:
        return ", ".join(
            quoted_name(column) if value is None else f"{quoted_name(column)} = {value}"
            for column, value in zip(columns, values, strict=True)
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.left + self.right))

    def normal_form(self) -> tuple[CFD | FD, ...]:
        """Returns equivalent rules with one pattern each, and on the right only constants or only free columns.

        A constant on the right does not depend on free columns on the left, so they are left out. (In a tableau `_`
        does not match null in sql mode; there the rules say more about rows where such a column is null.)
        """
        parts: dict[CFD | FD, None] = {}
        for pattern in self.patterns:
            bound = [(c, v) for c, v in zip(self.left, pattern.left, strict=True) if v is not None]
            for column, value in zip(self.right, pattern.right, strict=True):
                if value is not None:
                    names, values = tuple(c for c, _ in bound), tuple(v for _, v in bound)
                    parts[CFD(names, (column,), (Pattern(values, (value,)),), inline=True)] = None
            free = tuple(c for c, v in zip(self.right, pattern.right, strict=True) if v is None)
            if free and bound:
                parts[CFD(self.left, free, (Pattern(pattern.left, (None,) * len(free)),), inline=True)] = None
            elif free:
                parts[FD(self.left, free)] = None
        return tuple(parts)

    @cached_property
    def denials(self) -> tuple[DenialConstraint, ...]:
        denials: dict[DenialConstraint, None] = {}
        for pattern in self.patterns:
            for column, value in zip(self.right, pattern.right, strict=True):
                denials[self._denial(pattern, column, value)] = None
        return tuple(denials)

    def _denial(self, pattern: Pattern, column: str, value: Constant | None) -> DenialConstraint:
        predicates: list[Predicate] = []
        for name, given in zip(self.left, pattern.left, strict=True):
            t = Column("t", name)
            if given is not None:
                predicates.append(equals(t, given))
                if value is None:
                    predicates.append(equals(Column("s", name), given))
            elif value is None:
                predicates.append(equals(t, Column("s", name)))
            elif not self.inline:
                # `_` matches any value, but in sql mode not null: exactly what `t.A = t.A` says in both null modes.
                predicates.append(equals(t, t))
        predicates.append(_differ(column) if value is None else differs(Column("t", column), value))
        if column not in self.left:
            # Each operand is compared once, so that nothing combines, and nothing contradicts.
            return DenialConstraint(tuple(predicates))
        return denial(predicates)


@dataclass(frozen=True)
class Denial:
    """A rule written as a denial constraint."""

    constraint: DenialConstraint

    def __str__(self) -> str:
        return str(self.constraint)

    @property
    def denials(self) -> tuple[DenialConstraint, ...]:
        return (self.constraint,)

    @property
    def columns(self) -> tuple[str, ...]:
        return columns_of(self.denials)

    @cached_property
    def kind(self) -> str:
        return kind_of(self.denials)


@dataclass(frozen=True)
class Implication:
    """`if premise then conclusion`: one denial per conclusion, with the conclusion negated."""

    premise: tuple[Predicate, ...]
    conclusion: tuple[Predicate, ...]

    def __str__(self) -> str:
        return f"if {' and '.join(map(str, self.premise))} then {' and '.join(map(str, self.conclusion))}"

    @cached_property
    def denials(self) -> tuple[DenialConstraint, ...]:
        return tuple(dict.fromkeys(denial([*self.premise, predicate.negated()]) for predicate in self.conclusion))

    @property
    def columns(self) -> tuple[str, ...]:
        return columns_of(self.denials)

    @cached_property
    def kind(self) -> str:
        return kind_of(self.denials)


@dataclass(frozen=True)
class NoOverlap:
    """Rows that agree on `within` have intervals, each from `start` up to but not including `end`, that do not overlap.

    >>> str(NoOverlap(("room",), "start", "end").denials[0])
    'not(t.room = s.room and t.start < s.end and t.end > s.start)'
    """

    within: tuple[str, ...]
    start: str
    end: str

    def __post_init__(self) -> None:
        _refuse_repeats(self.columns)

    def __str__(self) -> str:
        within = f"{_names(self.within)}; " if self.within else ""
        return f"no_overlap({within}{_names((self.start, self.end))})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.within, self.start, self.end)

    @cached_property
    def denials(self) -> tuple[DenialConstraint, ...]:
        rows: tuple[tuple[Row, Row], ...] = (("t", "s"), ("s", "t"))
        t_first, s_first = (comparison(Column(row, self.start), LT, Column(other, self.end)) for row, other in rows)
        return (denial([*_agree(self.within), t_first, s_first]),)

    @cached_property
    def kind(self) -> str:
        return kind_of(self.denials)


@dataclass(frozen=True)
class Inclusion:
    """The values of `left` in each row of the first table are those of `right` in some row of the second.

    It denies no pair of rows, so that it has no denials; `matches` is what a row and the one that it refers to satisfy.

    >>> str(Inclusion(("orders", "customers"), ("customer_id",), ("id",)))
    'orders(customer_id) in customers(id)'
    """

    tables: tuple[str, str]
    left: tuple[str, ...]
    right: tuple[str, ...]

    kind = "ind"
    denials: tuple[DenialConstraint, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        _refuse_repeats(self.left)
        _refuse_repeats(self.right)
        if len(self.left) != len(self.right):
            raise RuleSyntaxError(f"{len(self.left)} columns cannot be in {len(self.right)}.")
        if self.tables[0] == self.tables[1] and set(zip(self.left, self.right, strict=True)) == {
            (name, name) for name in self.left
        }:
            raise TrivialRuleError("no table could violate it: every row refers to itself.")

    def __str__(self) -> str:
        (table, other), left, right = self.tables, _names(self.left), _names(self.right)
        return f"{table}({left}) in {other}({right})"

    @cached_property
    def matches(self) -> tuple[Comparison, ...]:
        table, other = self.tables
        pairs = zip(self.left, self.right, strict=True)
        return tuple(equals(table_column("t", table, a), table_column("s", other, b)) for a, b in pairs)

    @property
    def columns(self) -> tuple[str, ...]:
        mentioned = chain.from_iterable(predicate.columns() for predicate in self.matches)
        return tuple(dict.fromkeys(column.name for column in mentioned))


Body: TypeAlias = Key | FD | CFD | Denial | Implication | NoOverlap | Inclusion


def table_columns(body: Body) -> tuple[QualifiedColumn, ...]:
    """Returns the columns of the body that are written with their tables, in order of first mention."""
    predicates: Iterable[Predicate] = ()
    if isinstance(body, Inclusion):
        predicates = body.matches
    elif isinstance(body, Denial):
        predicates = body.constraint.predicates
    elif isinstance(body, Implication):
        predicates = (*body.premise, *body.conclusion)
    mentioned = chain.from_iterable(predicate.columns() for predicate in predicates)
    return tuple(dict.fromkeys(column for column in mentioned if isinstance(column, QualifiedColumn)))


def tables_of(body: Body) -> tuple[str, ...]:
    """Returns the tables that the body names, that of the left row first; none where it speaks of any one table.

    >>> from holdfast.rules.parse import parse_body
    >>> tables_of(parse_body("not(orders.customer_id = customers.id and orders.ordered < customers.signed_up)"))
    ('orders', 'customers')
    """
    if isinstance(body, Inclusion):
        return tuple(dict.fromkeys(body.tables))
    by_row = sorted(table_columns(body), key=lambda column: column.row, reverse=True)
    return tuple(dict.fromkeys(column.table for column in by_row))


def of_its_table(body: Body) -> Body:
    """Returns a body that names one table as one of that table's own columns; others as they are."""
    if len(tables_of(body)) != 1 or not isinstance(body, Denial | Implication):
        return body

    def own(predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
        return tuple(with_columns(predicate, _own_column) for predicate in predicates)

    if isinstance(body, Denial):
        return Denial(denial(own(body.constraint.predicates)))
    return Implication(own(body.premise), own(body.conclusion))


def _own_column(column: Column) -> Column:
    assert isinstance(column, QualifiedColumn), "either all columns are written with their tables or none"
    return Column(column.row, column.own)


def columns_of(denials: Iterable[DenialConstraint]) -> tuple[str, ...]:
    """Returns the names of all columns of the denials, in order of first mention."""
    mentioned = chain.from_iterable(constraint.columns() for constraint in denials)
    return tuple(dict.fromkeys(column.name for column in mentioned))


def kind_of(denials: Sequence[DenialConstraint]) -> str:
    """Returns the kind of a set of denials, which depends on their meaning and not on how they were written.

    >>> from holdfast.rules.parse import parse_constraint as dc
    >>> kind_of([dc("not(t.A = s.A and t.B != s.B)")]), kind_of([dc("not(t.A < s.A and t.B >= s.B)")])
    ('fd', 'order')
    """
    if not any(constraint.two_rows for constraint in denials):
        return "row"
    dependency = dependency_of(denials)
    if dependency is not None:
        return dependency.kind
    return "order" if all(map(_is_order, denials)) else "dc"


def dependency_of(denials: Sequence[DenialConstraint]) -> Key | FD | CFD | None:
    """Returns the key, FD or CFD without constants on the right that is equivalent to the denials; None without one."""
    shapes = [_shape(constraint) for constraint in denials]
    if not shapes or None in shapes:
        return None
    agree, constants, _ = shapes[0]  # type: ignore[misc]
    if any((frozenset(a), c) != (frozenset(agree), constants) for a, c, _ in shapes):  # type: ignore[misc]
        return None
    rights = [right for _, _, right in shapes]  # type: ignore[misc]
    if rights == [None]:
        return None if constants else Key(agree)
    if None in rights:
        return None
    right = tuple(dict.fromkeys(name for name in rights if name is not None))
    if not constants:
        return FD(agree, right)
    names = (*constants, *agree)
    line = Pattern((*constants.values(), *(None for _ in agree)), (None,) * len(right))
    return CFD(names, right, (line,), inline=True)


def _shape(
    constraint: DenialConstraint,
) -> tuple[tuple[str, ...], dict[str, Constant], str | None] | None:
    """Returns (columns that agree, columns with the same constant on both rows, the column that differs or None).

    None where the constraint has any other predicate.
    """
    agree: list[str] = []
    unequal: list[str] = []
    constants: dict[Column, Constant] = {}
    for predicate in constraint.predicates:
        if not isinstance(predicate, Comparison):
            return None
        if predicate.same_column and predicate.allowed == EQ:
            agree.append(predicate.left.name)
        elif predicate.same_column and predicate.allowed == NE:
            unequal.append(predicate.left.name)
        elif isinstance(predicate.right, Constant) and isinstance(predicate.left, Column) and predicate.allowed == EQ:
            if predicate.left in constants:
                return None
            constants[predicate.left] = predicate.right
        else:
            return None
    both = {c.name: v for c, v in constants.items() if constants.get(c.mirrored()) == v}
    if len(both) * 2 != len(constants) or len(unequal) > 1 or set(both) & {*agree, *unequal}:
        return None
    return tuple(agree), both, unequal[0] if unequal else None


def _is_order(constraint: DenialConstraint) -> bool:
    comparisons = [p for p in constraint.predicates if isinstance(p, Comparison) and p.same_column]
    inequalities = [p for p in comparisons if is_inequality(p.allowed)]
    equalities = [p for p in comparisons if p.allowed == EQ]
    return len(inequalities) == 2 and len(inequalities) + len(equalities) == len(constraint.predicates)


def _agree(columns: Iterable[str]) -> list[Predicate]:
    return [equals(Column("t", name), Column("s", name)) for name in columns]


def _differ(name: str) -> Comparison:
    return differs(Column("t", name), Column("s", name))


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted_name, columns))


def _refuse_repeats(columns: Sequence[str]) -> None:
    for i, name in enumerate(columns):
        if name in columns[:i]:
            raise RuleSyntaxError(f"column {quoted_name(name)} is named twice on one side of the rule.")


def _refuse_both_sides(left: Sequence[str], right: Sequence[str]) -> None:
    for name in right:
        if name in left:
            raise TrivialRuleError(
                f"no table could violate it: column {quoted_name(name)} stands on both sides of the arrow."
            )


def as_dependency(body: Body) -> Key | FD | CFD | None:
    """Returns the body as a key, FD or CFD if it is equivalent to one; None otherwise."""
    return body if isinstance(body, Key | FD | CFD) else dependency_of(body.denials)


def is_symmetric(body: Body) -> bool:
    """Whether (t, s) violates the body exactly when (s, t) does, so that each pair is listed once."""
    two_row = {constraint for constraint in body.denials if constraint.two_rows}
    return all(constraint.mirrored() in two_row for constraint in two_row)
