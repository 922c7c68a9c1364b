"""Predicates: single conditions on one row or on two rows."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Literal, Self, TypeAlias

from holdfast.rules.relation import EQ, NE, complement, operator_of, swapped
from holdfast.rules.text_operators import OPERATORS

Row: TypeAlias = Literal["t", "s"]
ConstantValue: TypeAlias = int | Decimal | str | bool | dt.date | dt.datetime

_BARE_NAME = re.compile(r"[^\W\d]\w*\Z")
_OTHER: dict[Row, Row] = {"t": "s", "s": "t"}

# Words of the rule language; a column with such a name is quoted.
RESERVED = frozenset({"not", "if", "then", "and", "or", "unique", "is", "in", "null", "true", "false"})


def quoted_name(name: str) -> str:
    """Returns the column name as rule text: bare where that can be read back, in double quotes otherwise.

    >>> quoted_name("zip"), quoted_name("zip code"), quoted_name('a"b')
    ('zip', '"zip code"', '"a""b"')
    """
    if _BARE_NAME.match(name) and name.casefold() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, order=True)
class Column:
    """A column of the left row `t` or of the right row `s`."""

    row: Row
    name: str

    def __str__(self) -> str:
        return f"{self.row}.{quoted_name(self.name)}"

    def mirrored(self) -> Column:
        return Column(_OTHER[self.row], self.name)

    def columns(self) -> Iterator[Column]:
        yield self


@dataclass(frozen=True, order=True)
class QualifiedColumn(Column):
    """A column of a row that is named by its table, as in `orders.customer_id`.

    In a rule over two tables the row of the table that is named first is `t`. `name` is the column's name among those
    of both tables; in its own table it is called `own`.
    """

    table: str
    own: str

    def __str__(self) -> str:
        return f"{self.table}.{quoted_name(self.own)}"

    def mirrored(self) -> QualifiedColumn:
        return replace(self, row=_OTHER[self.row])


def joint_name(table: str, column: str) -> str:
    """Returns the name of a table's column among those of several tables; a table's name has no dot."""
    return f"{table}.{column}"


def table_column(row: Row, table: str, column: str) -> QualifiedColumn:
    """Returns the column of the table, for the row that stands for it.

    >>> table_column("t", "orders", "zip code").name
    'orders.zip code'
    """
    return QualifiedColumn(row, joint_name(table, column), table, column)


@dataclass(frozen=True)
class Constant:
    """A value in a rule. Its type is that of the column it is compared with, known once there is a table.

    `raw` marks a value of a tableau: text from a rule file that may stand for any type.
    """

    value: ConstantValue
    raw: bool = False

    @property
    def kind(self) -> str:
        """One of number, text, boolean, date, timestamp, raw; constants of one kind can be compared."""
        if self.raw:
            return "raw"
        if isinstance(self.value, bool):
            return "boolean"
        if isinstance(self.value, int | Decimal):
            return "number"
        if isinstance(self.value, dt.datetime):
            return "timestamp"
        return "date" if isinstance(self.value, dt.date) else "text"

    def __eq__(self, other: object) -> bool:
        # True == 1 in Python, but not in a rule.
        return isinstance(other, Constant) and (self.kind, self.value) == (other.kind, other.value)

    def __hash__(self) -> int:
        return hash((self.kind, self.value))

    def __str__(self) -> str:
        value = self.value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, Decimal):
            return _number_text(value)
        if isinstance(value, dt.datetime):
            return f"timestamp '{value.isoformat(sep=' ')}'"
        if isinstance(value, dt.date):
            return f"date '{value.isoformat()}'"
        if self.raw and re.fullmatch(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?", value):
            return value
        return "'" + value.replace("'", "''") + "'"


def plain_number(value: Decimal) -> str:
    """Returns all digits of the number, without zeros at the end.

    >>> plain_number(Decimal("0.10")), plain_number(Decimal("1E+3"))
    ('0.1', '1000')
    """
    return f"{_without_zeros(value):f}"


def _without_zeros(value: Decimal) -> Decimal:
    # Wide enough for any number: Python's own context would round it to 28 digits.
    return value.normalize(Context(prec=max(len(value.as_tuple().digits), 1), Emin=MIN_EMIN, Emax=MAX_EMAX))


def _number_text(value: Decimal) -> str:
    # Short and exact: plain digits where they are few, otherwise with an exponent.
    normal = _without_zeros(value)
    _, digits, exponent = normal.as_tuple()
    assert isinstance(exponent, int), "a rule's number is finite"
    return f"{normal:f}" if exponent >= -20 and len(digits) + exponent <= 20 else str(normal)


@dataclass(frozen=True)
class Call:
    """A function of columns of one row and of constants, such as `t.net + t.tax` or `lower(t.city)`.

    A sign is the name of its function; `negative` is the one before a value. Only a difference (`difference_of`) may
    speak of two rows.
    """

    function: str
    arguments: tuple[Operand, ...]

    def __str__(self) -> str:
        texts = [_argument_text(argument, self._inside(place)) for place, argument in enumerate(self.arguments)]
        if self.function == NEGATIVE:
            return f"-{texts[0]}"
        return f" {self.function} ".join(texts) if self.function in SIGNS else f"{self.function}({', '.join(texts)})"

    def _inside(self, place: int) -> int:
        """How strongly an argument at this place must bind to stand without parentheses."""
        if self.function == NEGATIVE:
            return _ATOM
        return SIGNS[self.function] + place if self.function in SIGNS else 0

    def columns(self) -> Iterator[Column]:
        for argument in self.arguments:
            if not isinstance(argument, Constant):
                yield from argument.columns()

    @property
    def row(self) -> Row:
        """The row that it speaks of; of a difference of two rows the left one."""
        return "t" if any(column.row == "t" for column in self.columns()) else "s"

    @property
    def two_rows(self) -> bool:
        return len({column.row for column in self.columns()}) == 2

    @property
    def name(self) -> str:
        """The text without rows, for sentences."""
        return str(self.replaced(_bare))

    def mirrored(self) -> Call:
        return self.replaced(Column.mirrored)

    def replaced(self, new: Callable[[Column], Column]) -> Call:
        """The same call of other columns."""

        def argument(old: Operand) -> Operand:
            if isinstance(old, Constant):
                return old
            return new(old) if isinstance(old, Column) else old.replaced(new)

        return Call(self.function, tuple(map(argument, self.arguments)))


class _Bare(Column):
    def __str__(self) -> str:
        return quoted_name(self.name)


def _bare(column: Column) -> Column:
    return column if isinstance(column, QualifiedColumn) else _Bare(column.row, column.name)


NEGATIVE = "negative"
# The signs between two values, and how strongly they bind.
SIGNS = {"+": 1, "-": 1, "*": 3, "/": 3, "%": 3}
_UNARY, _ATOM = 5, 6


def _argument_text(operand: Operand, inside: int) -> str:
    if isinstance(operand, Column):
        return str(operand)
    if isinstance(operand, Constant):
        binds = _UNARY if str(operand).startswith("-") else _ATOM
    elif operand.function == NEGATIVE:
        binds = _UNARY
    else:
        binds = SIGNS.get(operand.function, _ATOM)
    return f"({operand})" if binds < inside else str(operand)


# What has a value in every row; and that, or a value of the rule.
RowOperand: TypeAlias = Column | Call
Operand: TypeAlias = Column | Call | Constant


@dataclass(frozen=True)
class Difference:
    """`left - right`, of the rows t and s, or its absolute value."""

    left: RowOperand
    right: RowOperand
    absolute: bool


def difference_of(operand: Operand) -> Difference | None:
    """Returns the operand as a difference between the two rows; None where it is none.

    >>> difference_of(Call("abs", (Call("-", (Column("t", "x"), Column("s", "x"))),))).absolute
    True
    """
    absolute = isinstance(operand, Call) and operand.function == "abs"
    inner = operand.arguments[0] if isinstance(operand, Call) and absolute else operand
    if not isinstance(inner, Call) or inner.function != "-" or not inner.two_rows:
        return None
    left, right = inner.arguments
    if isinstance(left, Constant) or isinstance(right, Constant):
        return None
    if any(isinstance(side, Call) and side.two_rows for side in (left, right)):
        return None
    return Difference(left, right, absolute)


@dataclass(frozen=True)
class Comparison:
    """`left op right`, where `allowed` is the set of relations that satisfy it.

    A constant is on the right; between two rows `t` is on the left. A difference of two rows is compared with a
    constant.
    """

    left: RowOperand
    allowed: int
    right: Operand

    def __str__(self) -> str:
        return f"{self.left} {operator_of(self.allowed)} {self.right}"

    @property
    def operands(self) -> tuple[RowOperand, Operand]:
        return (self.left, self.right)

    def columns(self) -> Iterator[Column]:
        yield from self.left.columns()
        if not isinstance(self.right, Constant):
            yield from self.right.columns()

    def mirrored(self) -> Comparison:
        right = self.right if isinstance(self.right, Constant) else self.right.mirrored()
        return comparison(self.left.mirrored(), self.allowed, right)

    def negated(self) -> Comparison:
        return Comparison(self.left, complement(self.allowed), self.right)

    @property
    def same_column(self) -> bool:
        """Whether this compares one column over two rows, as `t.A op s.A`."""
        return (
            isinstance(self.left, Column)
            and isinstance(self.right, Column)
            and self.left.name == self.right.name
            and self.left.row != self.right.row
        )


@dataclass(frozen=True)
class _OfOneColumn:
    """What predicates on a single column, or on an expression, have in common."""

    column: RowOperand

    def columns(self) -> Iterator[Column]:
        yield from self.column.columns()

    def mirrored(self) -> Self:
        return replace(self, column=self.column.mirrored())


@dataclass(frozen=True)
class NullTest(_OfOneColumn):
    """`column is null`, or `is not null`."""

    is_null: bool

    def __str__(self) -> str:
        return f"{self.column} is {'' if self.is_null else 'not '}null"

    def negated(self) -> NullTest:
        return NullTest(self.column, not self.is_null)


@dataclass(frozen=True)
class Membership(_OfOneColumn):
    """`column in (values)`, or `not in`: equal to one of the values, or different from all of them."""

    values: frozenset[Constant]
    inside: bool

    def __str__(self) -> str:
        listed = ", ".join(sorted(map(str, self.values)))
        return f"{self.column} {'in' if self.inside else 'not in'} ({listed})"

    def negated(self) -> Membership:
        return Membership(self.column, self.values, not self.inside)


@dataclass(frozen=True)
class TextTest(_OfOneColumn):
    """`column matches 'text'`, or `not matches`; of a null neither is true, unless nulls are values of their own."""

    operator: str
    argument: str
    positive: bool

    def __str__(self) -> str:
        return f"{self.column} {'' if self.positive else 'not '}{self.operator} {Constant(self.argument)}"

    def negated(self) -> TextTest:
        return TextTest(self.column, self.operator, self.argument, not self.positive)

    def holds(self, value: str) -> bool:
        """Whether a value that is not null satisfies the test."""
        return OPERATORS[self.operator].holds(value, self.argument) == self.positive


Predicate: TypeAlias = Comparison | NullTest | Membership | TextTest


def with_columns(predicate: Predicate, new: Callable[[Column], Column]) -> Predicate:
    """Returns the same predicate of other columns."""

    def operand(old: RowOperand) -> RowOperand:
        return new(old) if isinstance(old, Column) else old.replaced(new)

    if not isinstance(predicate, Comparison):
        return replace(predicate, column=operand(predicate.column))
    right = predicate.right if isinstance(predicate.right, Constant) else operand(predicate.right)
    return Comparison(operand(predicate.left), predicate.allowed, right)


def comparison(left: Operand, allowed: int, right: Operand) -> Comparison:
    """Returns the comparison with a constant on the right and `t` before `s`; within one row as it was written.

    >>> str(comparison(Column("s", "A"), NE, Column("t", "B")))
    't.B != s.A'
    """
    if isinstance(left, Constant):
        assert not isinstance(right, Constant), "the parser refuses two constants"
        left, allowed, right = right, swapped(allowed), left
    if isinstance(right, Constant):
        return _from_t(left, allowed, right)
    if (left.row, right.row) == ("s", "t"):
        return Comparison(right, swapped(allowed), left)
    return Comparison(left, allowed, right)


def _from_t(left: RowOperand, allowed: int, right: Constant) -> Comparison:
    """The comparison with a constant; of two rows, t stands first in the difference."""
    difference = difference_of(left)
    if difference is None or difference.left.row == "t":
        return Comparison(left, allowed, right)
    turned = Call("-", (difference.right, difference.left))
    if difference.absolute:
        return Comparison(Call("abs", (turned,)), allowed, right)
    return Comparison(turned, swapped(allowed), negative_of(right))


def negative_of(number: Constant) -> Constant:
    """Returns the number with the other sign, exactly."""
    value = number.value
    assert isinstance(value, int | Decimal), "only numbers have a sign"
    return Constant(value.copy_negate() if isinstance(value, Decimal) and value else -value)


def equals(left: Operand, right: Operand) -> Comparison:
    return comparison(left, EQ, right)


def differs(left: Operand, right: Operand) -> Comparison:
    return comparison(left, NE, right)
