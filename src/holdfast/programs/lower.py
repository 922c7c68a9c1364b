"""Rules with expressions become rules on columns, some of them computed: the one place where a tolerance is rewritten.

A difference of two rows against a constant becomes comparisons of one row's value with a bound that is computed from
the other row, so that it is indexed and counted as any inequality is. Where that is one of several things, such as
`abs(t.x - s.x) > 5`, the rule has several denials, and a pair that violates two of them counts once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product

from holdfast.encode.column_type import UNBOUNDED, ColumnType, Family
from holdfast.errors import TypeMismatchError
from holdfast.programs.expression_type import DOUBLE, SECONDS, digits_of, exact_type, expression_type, number_digits
from holdfast.programs.shifted import ABOVE, AS_DOUBLE, AT_LEAST, DAYS, SHIFT
from holdfast.programs.shifted import SECONDS as SECONDS_OF
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.functions import DIGITS, Number, nearest_double
from holdfast.rules.predicate import (
    Call,
    Column,
    Comparison,
    Constant,
    Difference,
    NullTest,
    Operand,
    Predicate,
    RowOperand,
    comparison,
    difference_of,
)
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE, swapped
from holdfast.rules.rule import Nulls, Rule, RuleSet

# Functions of doubles whose result is rounded, so that another way to calculate it gives another number.
_ROUNDING = frozenset("+-*/%")
# Lists of predicates that hold together; no two lists hold for the same rows.
Alternatives = list[list[Predicate]]


@dataclass(frozen=True)
class Computed(Column):
    """A column that a table does not have: the values of an expression, which is kept as one of row t."""

    call: Call = field(compare=False)
    kind: ColumnType = field(compare=False)

    def __str__(self) -> str:
        return str(self.call if self.row == "t" else self.call.mirrored())

    def mirrored(self) -> Computed:
        return replace(self, row="s" if self.row == "t" else "t")

    @property
    def base(self) -> tuple[str, ...]:
        """The names of the table's columns that it is computed from."""
        return tuple(dict.fromkeys(column.name for column in self.call.columns()))


@dataclass(frozen=True)
class LoweredRules:
    """Per rule, by its name, its denials of two rows and those of one, over columns of the table and computed ones; and
    these by their names.

    A denial of two rows comes as the ways to violate it, of which a pair has one at most; what such a way says may be
    of one of the rows alone.
    """

    pairs: Mapping[str, tuple[tuple[DenialConstraint, ...], ...]]
    alone: Mapping[str, tuple[DenialConstraint, ...]]
    computed: Mapping[str, Computed]

    @property
    def constraints(self) -> list[DenialConstraint]:
        """The denials of all rules."""
        pairs = (constraint for denials in self.pairs.values() for ways in denials for constraint in ways)
        return [*pairs, *(constraint for denials in self.alone.values() for constraint in denials)]


def lower_rules(rules: RuleSet, types: Mapping[str, ColumnType]) -> LoweredRules:
    """The rules over columns of these types. Raises TypeMismatchError where an expression has no meaning."""
    lowering = Lowering(types, rules.nulls)
    pairs = {rule.name: tuple(lowering.ways(c) for c in rule.body.denials if c.two_rows) for rule in rules}
    alone = {
        rule.name: tuple(way for c in rule.body.denials if not c.two_rows for way in lowering.ways(c)) for rule in rules
    }
    lowered = LoweredRules(pairs, alone, {})
    computed: dict[str, Computed] = {}
    for column in (column for constraint in lowered.constraints for column in constraint.columns()):
        if isinstance(column, Computed):
            computed.setdefault(column.name, column if column.row == "t" else column.mirrored())
    return replace(lowered, computed=computed)


def calculates(rules: RuleSet) -> bool:
    """Whether any of the rules has an expression."""
    return any(_calculates(p) for rule in rules for constraint in rule.body.denials for p in constraint.predicates)


def calculated_columns(rules: RuleSet) -> tuple[str, ...]:
    """The columns that expressions of the rules are made of, in order of first mention."""
    predicates = (p for rule in rules for constraint in rule.body.denials for p in constraint.predicates)
    named = (column.name for p in predicates if _calculates(p) for column in p.columns())
    return tuple(dict.fromkeys(named))


def vanishing_expressions(rule: Rule, types: Mapping[str, ColumnType]) -> tuple[Computed, ...]:
    """The rule's expressions that may be null though all their columns have values, each once."""
    lowering, vanishing = Lowering(types, "sql"), dict[str, Computed]()
    for predicate in (p for constraint in rule.body.denials for p in constraint.predicates):
        operands: Iterable[Operand] = predicate.operands if isinstance(predicate, Comparison) else (predicate.column,)
        for operand in operands:
            difference = difference_of(operand)
            for side in (operand,) if difference is None else (difference.left, difference.right):
                if isinstance(side, Call) and _may_vanish(side, types):
                    column = lowering.column(side)
                    assert isinstance(column, Computed), "a call is computed"
                    vanishing.setdefault(column.name, column if column.row == "t" else column.mirrored())
    return tuple(vanishing.values())


def divides(call: Operand) -> bool:
    """Whether the expression may divide by zero."""
    if not isinstance(call, Call):
        return False
    if call.function in ("/", "%"):
        divisor = call.arguments[1]
        if not isinstance(divisor, Constant) or divisor.value == 0:
            return True
    return any(map(divides, call.arguments))


def rounded_operands(rule: Rule, types: Mapping[str, ColumnType]) -> tuple[str, ...]:
    """The rule's calculations with doubles that must equal something for the rule to hold, each once.

    >>> from holdfast.encode.column_type import column_type
    >>> from holdfast.rules.rule import parse_rule
    >>> rule = parse_rule("not(t.total != t.net + t.tax)")
    >>> rounded_operands(rule, dict.fromkeys(("total", "net", "tax"), DOUBLE))
    ('t.net + t.tax',)
    >>> rounded_operands(rule, dict.fromkeys(("total", "net", "tax"), column_type("decimal(9,2)")))
    ()
    """
    operands = [
        operand
        for constraint in rule.body.denials
        for predicate in constraint.predicates
        if isinstance(predicate, Comparison) and predicate.allowed == NE
        for operand in predicate.operands
        if isinstance(operand, Call) and operand.function in _ROUNDING and expression_type(operand, types) == DOUBLE
    ]
    return tuple(dict.fromkeys(map(str, operands)))


def _may_vanish(operand: Operand, types: Mapping[str, ColumnType]) -> bool:
    if not isinstance(operand, Call):
        return False
    kind = expression_type(operand, types)
    too_long = kind == UNBOUNDED or (kind.family == "decimal" and kind.precision == DIGITS and kind.scale == 0)
    return too_long or divides(operand) or any(_may_vanish(argument, types) for argument in operand.arguments)


@dataclass(frozen=True)
class Lowering:
    """Lowers predicates on columns of known types."""

    types: Mapping[str, ColumnType]
    nulls: Nulls

    def ways(self, constraint: DenialConstraint) -> tuple[DenialConstraint, ...]:
        """The constraint over columns; several where a tolerance is one of several things, which exclude each other."""
        if not any(_calculates(predicate) for predicate in constraint.predicates):
            return (constraint,)
        parts = [self.alternatives(predicate) for predicate in constraint.predicates]
        chosen = (dict.fromkeys(p for part in ways for p in part) for ways in product(*parts))
        return tuple(DenialConstraint(tuple(predicates)) for predicates in chosen)

    def alternatives(self, predicate: Predicate) -> Alternatives:
        """What the predicate says: exactly one of these lists holds where it does, and none elsewhere."""
        if not isinstance(predicate, Comparison):
            return [[replace(predicate, column=self.column(predicate.column))]]
        difference = difference_of(predicate.left)
        if difference is not None and isinstance(predicate.right, Constant):
            return self._tolerance(difference, predicate.allowed, predicate.right)
        right = predicate.right if isinstance(predicate.right, Constant) else self.column(predicate.right)
        return [[Comparison(self.column(predicate.left), predicate.allowed, right)]]

    def column(self, operand: RowOperand) -> Column:
        """The operand as a column, computed where it is an expression."""
        if isinstance(operand, Column):
            return operand
        return self.computed(operand, expression_type(operand, self.types))

    def computed(self, call: Call, kind: ColumnType) -> Computed:
        """The column of the values of an expression, under a name that no column of the table has."""
        of_t = call if call.row == "t" else call.mirrored()
        name = str(of_t)
        while name in self.types:
            name += " "
        return Computed(call.row, name, of_t, kind)

    # Tolerances -------------------------------------------------------------------------------------------------

    def _tolerance(self, difference: Difference, allowed: int, constant: Constant) -> Alternatives:
        kinds = [expression_type(side, self.types) for side in (difference.left, difference.right)]
        for side, kind in zip((difference.left, difference.right), kinds, strict=True):
            if kind.family == "void":  # the difference is null
                return [[Comparison(self.column(side), allowed, constant)]]
        number = constant.value
        assert isinstance(number, int | Decimal), "the parser sees to it"
        families = {kind.family for kind in kinds}
        if not all(kind.numeric for kind in kinds) and not families <= {"date", "timestamp"}:
            described = [
                f"{side} ({kind})" for side, kind in zip((difference.left, difference.right), kinds, strict=True)
            ]
            raise TypeMismatchError(f"subtracts {described[1]} from {described[0]}")
        sides: _Doubles | _Exact = _Doubles(self, constant) if "float" in families else _Exact(self, constant, families)
        left, right = sides.value(difference.left), sides.value(difference.right)

        # A difference may be above the constant, or below its negative.
        def apart(relations: int) -> Alternatives:
            return sides.compared(left, relations, right, sides.number)

        def apart_below(relations: int) -> Alternatives:
            return sides.compared_below(left, relations, right)

        def turned(relations: int) -> Alternatives:
            return sides.compared(right, relations, left, sides.number)

        if not difference.absolute:
            alternatives = apart(allowed)
        elif sides.number < 0 or (sides.number == 0 and allowed == GE):
            alternatives = [[NullTest(left, False), NullTest(right, False)]]
        elif allowed in (LT, LE):
            alternatives = _both(apart(allowed), turned(allowed))
        elif sides.number == 0 and allowed in (EQ, NE):
            alternatives = apart(allowed)
        elif allowed == NE:
            alternatives = apart(GT) + apart_below(LT) + _both(apart(LT), turned(LT))
        else:
            alternatives = apart(allowed) + apart_below(swapped(allowed))
        return alternatives if self.nulls == "sql" else _with_nulls(alternatives, allowed, left, right)


def _calculates(predicate: Predicate) -> bool:
    operands = predicate.operands if isinstance(predicate, Comparison) else (predicate.column,)
    return any(isinstance(operand, Call) for operand in operands)


def _both(first: Alternatives, second: Alternatives) -> Alternatives:
    return [a + b for a in first for b in second]


def _with_nulls(alternatives: Alternatives, allowed: int, left: Column, right: Column) -> Alternatives:
    """Where nulls are values of their own: a difference is null where a side is, and only differs from the constant."""
    known: list[Predicate] = [NullTest(left, False), NullTest(right, False)]
    guarded = [[*dict.fromkeys([*part, *known])] for part in alternatives]
    if allowed != NE:
        return guarded
    return [*guarded, [NullTest(left, True)], [NullTest(left, False), NullTest(right, True)]]


def shifted_type(kind: ColumnType, constant: Operand) -> ColumnType:
    """The type of exact values that are moved by a constant: wide enough for all of them."""
    assert isinstance(constant, Constant), "a number moves it"
    assert isinstance(constant.value, int | Decimal), "a number moves it"
    before, behind = map(max, zip(digits_of(kind), number_digits(Decimal(constant.value)), strict=True))
    bounded = kind != UNBOUNDED and before + 1 + behind <= DIGITS
    return exact_type(before + 1, behind) if bounded else UNBOUNDED


@dataclass(frozen=True)
class _Exact:
    """Differences of whole numbers, decimals, dates and times, exact however many digits they have."""

    lowering: Lowering
    constant: Constant
    families: set[Family]

    @property
    def number(self) -> int | Decimal:
        assert isinstance(self.constant.value, int | Decimal), "the parser sees to it"
        return self.constant.value

    def value(self, side: RowOperand) -> Column:
        if not self.families <= {"date", "timestamp"}:
            return self.lowering.column(side)
        if self.families == {"date"}:
            return self.lowering.computed(Call(DAYS, (side,)), ColumnType("bigint", "integer", 7))
        return self.lowering.computed(Call(SECONDS_OF, (side,)), SECONDS)

    def compared(self, left: Column, relations: int, right: Column, number: Number) -> Alternatives:
        assert not isinstance(number, float), "a rule's own number is exact"
        return [[comparison(left, relations, self._moved(right, Constant(number)))]]

    def compared_below(self, left: Column, relations: int, right: Column) -> Alternatives:
        """The difference against the negative of the number: the other difference against the number itself.

        So that pairs of the one way are those of the other, turned round, and are counted once.
        """
        return self.compared(right, swapped(relations), left, self.number)

    def _moved(self, column: Column, by: Constant) -> Column:
        if by.value == 0:
            return column
        operand: Operand = column.call if isinstance(column, Computed) else Column("t", column.name)
        kind = column.kind if isinstance(column, Computed) else self.lowering.types[column.name]
        computed = self.lowering.computed(Call(SHIFT, (operand, by)), shifted_type(kind, by))
        return computed if column.row == "t" else computed.mirrored()


@dataclass(frozen=True)
class _Doubles:
    """Differences of doubles, rounded to a double before they are compared."""

    lowering: Lowering
    constant: Constant

    @property
    def number(self) -> float:
        assert isinstance(self.constant.value, int | Decimal), "the parser sees to it"
        number = nearest_double(self.constant.value)
        if math.isinf(number):
            raise TypeMismatchError(f"compares a difference with {self.constant}, which is beyond what a double holds")
        return number

    def value(self, side: RowOperand) -> Column:
        kind = expression_type(side, self.lowering.types)
        if kind == DOUBLE:
            return self.lowering.column(side)
        return self.lowering.computed(Call(AS_DOUBLE, (side,)), DOUBLE)

    def compared(self, left: Column, relations: int, right: Column, number: Number) -> Alternatives:
        def bound(function: str) -> Column:
            operand: Operand = right.call if isinstance(right, Computed) else Column("t", right.name)
            computed = self.lowering.computed(Call(function, (operand, Constant(Decimal(number)))), DOUBLE)
            return computed if right.row == "t" else computed.mirrored()

        def below(function: str) -> Predicate:
            return comparison(left, LT, bound(function))

        def beyond(function: str) -> Predicate:
            return comparison(left, GE, bound(function))

        ways: Mapping[int, Callable[[], Alternatives]] = {
            LT: lambda: [[below(AT_LEAST)]],
            GE: lambda: [[beyond(AT_LEAST)]],
            LE: lambda: [[below(ABOVE)]],
            GT: lambda: [[beyond(ABOVE)]],
            EQ: lambda: [[beyond(AT_LEAST), below(ABOVE)]],
            NE: lambda: [[below(AT_LEAST)], [beyond(ABOVE)]],
        }
        return ways[relations]()

    def compared_below(self, left: Column, relations: int, right: Column) -> Alternatives:
        """The difference against the negative of the number. NaN, the greatest number, is never below it."""
        return self.compared(left, relations, right, -self.number)
