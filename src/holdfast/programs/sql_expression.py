"""Predicates to Spark SQL text: exact comparisons, both null modes, constants in their column's type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from ctypes import c_float
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation

from holdfast.encode.column_type import SAME, UNBOUNDED, ColumnType, Encoding, common_encoding
from holdfast.encode.digits import digits_key
from holdfast.errors import TypeMismatchError
from holdfast.programs.form import Form
from holdfast.programs.function_sql import computed_sql
from holdfast.programs.lower import Computed, Lowering
from holdfast.programs.sql_text import text_literal
from holdfast.rules.pattern import common_pattern
from holdfast.rules.predicate import Column, Constant, Membership, NullTest, Predicate, RowOperand, TextTest
from holdfast.rules.relation import ANY, EQ, GT, LT, NE, operator_of
from holdfast.rules.rule import Nulls

DIGITS_FUNCTION = "holdfast_digits"
# What stands before and after a pattern that is for the whole text.
WHOLE_TEXT = (r"\A(?:", r")\z")
_BIGINT_LIMIT = 2**63 - 1
_TRUE, _FALSE = "true", "false"

# How a predicate names a column in SQL: `t.c3`.
Naming = Callable[[Column], str]


@dataclass(frozen=True)
class Encoder:
    """Writes predicates as SQL over columns of known types.

    Every text it returns is a condition that is true exactly when the predicate is satisfied; it may be null
    instead of false. TypeMismatchError when a predicate compares what cannot be compared.
    """

    types: Mapping[str, ColumnType]
    nulls: Nulls
    naming: Naming
    computed: Mapping[str, Computed] = field(default_factory=dict)

    def predicate(self, predicate: Predicate) -> str:
        """The predicate, on one row where it has an expression."""
        ((predicate,),) = Lowering(self.types, self.nulls).alternatives(predicate)
        if isinstance(predicate, NullTest):
            return f"{self.value(predicate.column)} IS {'' if predicate.is_null else 'NOT '}NULL"
        if isinstance(predicate, Membership):
            return self._membership(predicate)
        if isinstance(predicate, TextTest):
            return self._text_test(predicate)
        left, right = predicate.left, predicate.right
        assert isinstance(left, Column), "expressions are computed columns here"
        self._require_order(left, predicate.allowed)
        if isinstance(right, Constant):
            return self._with_constant(left, predicate.allowed, right)
        assert isinstance(right, Column), "expressions are computed columns here"
        texts = (
            encoded_sql(self.value(column), self.kind(column), form.encoding)
            for column, form in zip((left, right), self.compared(left, right), strict=True)
        )
        return comparison_sql(next(texts), predicate.allowed, next(texts), self.nulls)

    def value(self, column: RowOperand) -> str:
        """The value of a column in SQL, computed or of the table."""
        if isinstance(column, Computed):
            return computed_sql(column, self.naming, self.types)
        assert isinstance(column, Column), "expressions are computed columns here"
        return self.naming(column)

    def kind(self, column: RowOperand) -> ColumnType:
        """The type of a column, computed or of the table."""
        assert isinstance(column, Column), "expressions are computed columns here"
        return column.kind if isinstance(column, Computed) else self.types[column.name]

    def form(self, form: Form) -> str:
        """The form's value in SQL."""
        column = self.computed.get(form.column) or Column("t", form.column)
        return encoded_sql(self.value(column), self.kind(column), form.encoding)

    def compared(self, left: Column, right: Column) -> tuple[Form, Form]:
        """Both columns in the forms in which they compare exactly."""
        a, b = self.kind(left), self.kind(right)
        encoding = common_encoding(a, b)
        if encoding is None:
            other = a if a.family == "other" else b
            if other.family == "other":
                raise TypeMismatchError(f"compares {left}, but values of type {other} cannot be compared")
            raise TypeMismatchError(f"compares {left} ({a}) with {right} ({b})")
        return Form(left.name, _needed(a, encoding)), Form(right.name, _needed(b, encoding))

    def lookup_value(self, column: Column) -> str:
        """The column in a form in which `IN` looks up what `lookup_literal` gives."""
        kind, name = self.types[column.name], _plain_form(self.naming(column), self.types[column.name])
        if kind.family == "integer":
            return f"CAST({name} AS BIGINT)"
        return f"{name} + 0.0D" if kind.sql == "double" else name

    def lookup_literal(self, column: Column, constant: Constant) -> str | None:
        """The constant in the type of `lookup_value`; None where no value of the column equals it."""
        kind = self.types[column.name]
        if kind.family == "void":
            return None
        bound = bind_constant(constant, kind, column)
        if not bound.exact or bound.literal is None:
            return None
        return f"{bound.literal} + 0.0D" if kind.sql == "double" else bound.literal

    def lookup_type(self, column: Column) -> str:
        """The SQL type of `lookup_value`."""
        kind = self.types[column.name]
        return {"integer": "BIGINT", "text": "STRING", "void": "STRING"}.get(kind.family, kind.sql.upper())

    def lookup_text(self, column: Column, constant: Constant) -> str | None:
        """The constant as text that casts to `lookup_type`; None where no value of the column equals it."""
        kind = self.types[column.name]
        if kind.family == "void":
            return None
        bound = bind_constant(constant, kind, column)
        return bound.text if bound.exact else None

    def lookup_key(self, column: Column, constant: Constant) -> object:
        """A value that is equal for two constants exactly where they are one value of the column, or none of it."""
        text, kind = self.lookup_text(column, constant), self.types[column.name]
        if text is None:
            return None
        if kind.family == "float":
            number = float(text) if kind.sql == "double" else c_float(float(text)).value
            return "NaN" if number != number else number
        if kind.numeric:
            return Decimal(text)
        if kind.family in ("date", "timestamp"):
            time = dt.datetime.fromisoformat(text)
            return time.replace(tzinfo=dt.UTC) if time.tzinfo is None else time
        return text

    def _require_order(self, column: Column, allowed: int) -> None:
        kind = self.kind(column)
        if allowed not in (EQ, NE) and not kind.ordered and kind.family != "other":
            raise TypeMismatchError(
                f"uses {operator_of(allowed)} on {column}, but {kind} values have no order (only = and !=)"
            )

    def _text_test(self, test: TextTest) -> str:
        kind, name = self.kind(test.column), self.value(test.column)
        if kind.family == "void":
            return _TRUE if self.nulls == "equal" and not test.positive else _FALSE
        if kind.family != "text":
            raise TypeMismatchError(f"uses {test.operator} on {test.column} ({kind}), which is for text")
        holds = _TEXT_TESTS[test.operator](_plain_form(name, kind), test.argument)
        if test.positive:
            return holds
        return f"(NOT {holds} OR {name} IS NULL)" if self.nulls == "equal" else f"NOT {holds}"

    def _membership(self, member: Membership) -> str:
        equal = [self._with_constant(member.column, EQ, v) for v in sorted(member.values, key=str)]
        if member.inside:
            return f"({' OR '.join(equal)})"
        outside = f"NOT coalesce({' OR '.join(equal)}, false)"
        return outside if self.nulls == "equal" else f"({outside} AND {self.value(member.column)} IS NOT NULL)"

    def _with_constant(self, column: RowOperand, allowed: int, constant: Constant) -> str:
        assert isinstance(column, Column), "expressions are computed columns here"
        kind, name = self.kind(column), self.value(column)
        null_satisfies = self.nulls == "equal" and allowed == NE
        if kind.family == "void":
            return _TRUE if null_satisfies else _FALSE
        bound = bind_constant(constant, kind, column)
        if not bound.exact:
            # No value of the column equals the constant, and `literal` is the greatest one below it.
            allowed = (LT | EQ if allowed & LT else 0) | (allowed & GT)
        if bound.literal is None:
            allowed = ANY if allowed & bound.all_are else 0
        if allowed in (0, ANY):
            return _FALSE if allowed == 0 else _TRUE if null_satisfies else f"{name} IS NOT NULL"
        sql = f"{_plain_form(name, kind)} {operator_of(allowed)} {bound.literal}"
        return f"({sql} OR {name} IS NULL)" if null_satisfies else sql


def comparison_sql(left: str, allowed: int, right: str, nulls: Nulls) -> str:
    """A condition that is true exactly when the two values are in an allowed relation, nulls as the mode says.

    >>> comparison_sql("t.a", LT | EQ, "s.a", "equal")
    '(t.a <= s.a OR (t.a IS NULL AND s.a IS NULL))'
    """
    operator = operator_of(allowed)
    if nulls == "sql" or allowed in (LT, GT):
        return f"{left} {operator} {right}"
    if allowed == EQ:
        return f"{left} <=> {right}"
    if allowed == NE:
        return f"NOT ({left} <=> {right})"
    return f"({left} {operator} {right} OR ({left} IS NULL AND {right} IS NULL))"


def _needed(kind: ColumnType, encoding: Encoding) -> Encoding:
    """The encoding, or none where values of the type are written so already."""
    as_it_is = kind == UNBOUNDED if encoding.way == "digits" else encoding == Encoding("cast", kind.sql)
    return SAME if as_it_is else encoding


def encoded_sql(name: str, kind: ColumnType, encoding: Encoding) -> str:
    """The column's SQL in an encoding, exact."""
    if kind.family == "void":  # whatever type it is stored as, it is compared with any other column
        return f"CAST(NULL AS {encoding.target if encoding.way == 'cast' else 'STRING'})"
    match encoding.way:
        case "cast":
            return f"CAST({name} AS {encoding.target})"
        case "digits":
            # As text, which reads back as the same double or decimal; a null double would reach Python as NaN.
            if kind.family == "float":
                return f"{DIGITS_FUNCTION}(CAST(CAST({name} AS DOUBLE) AS STRING), true)"
            return f"{DIGITS_FUNCTION}(CAST({name} AS STRING), false)"
        case "halves":
            return _halves(name, kind)
        case _:
            return _plain_form(name, kind)


def _plain_form(name: str, kind: ColumnType) -> str:
    # Text compares by its UTF-8 bytes, also in a column with a collation of its own.
    return f"collate({name}, 'UTF8_BINARY')" if kind.collated else name


def _halves(name: str, kind: ColumnType) -> str:
    """A struct that sorts as the exact number: its nearest double, then what an integer has beyond that."""
    near = f"CAST({name} AS DOUBLE)"
    if kind.family == "float":
        near, rest = f"{near} + 0.0D", "0L"
    else:
        # The double nearest to the largest bigints is 2^63, which is no bigint.
        whole = f"CAST({name} AS BIGINT)"
        rest = (
            f"IF({near} >= 9.223372036854775807E18D, ({whole} - {_BIGINT_LIMIT}L) - 1L, "
            f"{whole} - CAST({near} AS BIGINT))"
        )
    return f"IF({name} IS NULL, NULL, named_struct('d', {near}, 'r', {rest}))"


# Text tests, by operator: SQL for whether a text passes, null where it is null.
_TEXT_TESTS: Mapping[str, Callable[[str, str], str]] = {
    "matches": lambda name, pattern: f"({name} RLIKE {text_literal(common_pattern(pattern).join(WHOLE_TEXT))})"
}


# Constants -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """A constant in a column's type.

    When no value of the type equals it (`exact` is false), `literal` is the greatest value below it, or None
    when there is none or when all values are below; then `all_are` tells the relation all values have to it. `text`
    casts to the value of the type that equals the constant, where there is one.
    """

    literal: str | None
    exact: bool = True
    all_are: int = 0
    text: str | None = field(default=None, compare=False)


def bind_constant(constant: Constant, kind: ColumnType, column: Column) -> Bound:
    """The constant in the column's type; TypeMismatchError when it has no meaning there."""
    value: object = constant.value
    if constant.raw:
        value = _raw_value(str(value), kind)
    if kind.numeric and isinstance(value, int | Decimal | float) and not isinstance(value, bool):
        if kind == UNBOUNDED:
            return Bound(f"X'{(digits_key(value) or b'').hex().upper()}'", text=str(value))
        return _bound_float(value, kind) if kind.family == "float" else _bound_number(value, kind)
    if kind.family == "text" and isinstance(value, str):
        return Bound(text_literal(value), text=value)
    if kind.family == "boolean" and isinstance(value, bool):
        return Bound(_TRUE if value else _FALSE, text=_TRUE if value else _FALSE)
    if kind.family in ("date", "timestamp"):
        bound = _bound_time(value, kind)
        if bound is not None:
            return bound
    if kind.family == "other":
        raise TypeMismatchError(f"compares {column}, but values of type {kind} cannot be compared")
    names = {"number": "a number", "date": "a date", "boolean": "true or false", "timestamp": "a time"}
    raise TypeMismatchError(f"compares {column} ({kind}) with {constant} ({names.get(constant.kind, 'text')})")


def _raw_value(text: str, kind: ColumnType) -> int | Decimal | float | str | bool:
    plain = text.strip()
    if kind.numeric:
        try:
            number = Decimal(plain)
        except InvalidOperation:
            return text
        return number if number.is_finite() else float(number)
    if kind.family == "boolean" and plain.casefold() in ("true", "false"):
        return plain.casefold() == "true"
    return text


def _bound_float(value: int | Decimal | float, kind: ColumnType) -> Bound:
    # 0.1 against a double is that double, and against a float that float.
    return Bound(f"CAST('{value}' AS {kind.sql.upper()})", text=str(value))


def _bound_number(value: int | Decimal | float, kind: ColumnType) -> Bound:
    """Integers and decimals: compared by value, also with constants their type cannot hold."""
    if isinstance(value, float):  # only inf and NaN arrive here as floats; NaN is above all numbers
        return Bound(None, exact=False, all_are=GT if value < 0 else LT)
    number = Decimal(value)
    if kind.family == "integer":
        scale, limit, sql = 0, Decimal(_BIGINT_LIMIT), "BIGINT"
    else:
        scale, sql = kind.scale, kind.sql.upper()
        limit = Decimal(10**kind.precision - 1).scaleb(-scale, Context(prec=80))
    if number > limit:
        return Bound(None, exact=False, all_are=LT)
    if number < -limit - (kind.family == "integer"):
        return Bound(None, exact=False, all_are=GT)
    wide = Context(prec=max(80, len(number.as_tuple().digits) + 80))
    below = number.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_FLOOR, context=wide)
    return Bound(f"CAST('{below:f}' AS {sql})", exact=below == number, text=f"{below:f}")


def _bound_time(value: object, kind: ColumnType) -> Bound | None:
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        if kind.family == "date" and value.time() == dt.time() and value.tzinfo is None:
            value = value.date()
    if isinstance(value, dt.datetime):
        zoned = value.tzinfo is not None or kind.sql == "timestamp"
        text = value.isoformat(sep=" ")
        # A date is its midnight, so no date equals another time.
        midnight = value.time() == dt.time()
        equal = text if kind.family == "timestamp" else text[:10] if midnight else None
        return Bound(f"CAST('{text}' AS {'TIMESTAMP' if zoned else 'TIMESTAMP_NTZ'})", text=equal)
    if isinstance(value, dt.date):
        text = value.isoformat()
        literal = f"DATE '{text}'"
        return Bound(literal if kind.family == "date" else f"CAST({literal} AS {kind.sql.upper()})", text=text)
    return None
