"""`where` conditions without Spark: the part of SQL that speaks of one row in comparisons, arithmetic and lists."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lark import Lark, Token, Transformer
from lark.exceptions import LarkError
from numpy.typing import NDArray

from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.encode.codes import comparable_codes
from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import one_array
from holdfast.errors import ConditionError
from holdfast.rules.kept_parser import kept_parser
from holdfast.rules.relation import EQ, GT, LT, mask_of
from holdfast.rules.rule import Rule

_GRAMMAR = r"""
?start: any
?any: all (_OR all)*                       -> any_of
?all: no (_AND no)*                        -> all_of
?no: _NOT no                               -> negated
   | test
?test: sum
     | sum COMPARE sum                     -> compared
     | sum _IS _NULL                       -> is_null
     | sum _IS _NOT _NULL                  -> is_not_null
     | sum _IN "(" sum ("," sum)* ")"      -> among
     | sum _NOT _IN "(" sum ("," sum)* ")" -> not_among
     | sum _BETWEEN sum _AND sum           -> between
     | sum _NOT _BETWEEN sum _AND sum      -> not_between
     | sum _LIKE STRING                    -> like
     | sum _NOT _LIKE STRING               -> not_like
?sum: product
    | sum "+" product                      -> plus
    | sum "-" product                      -> minus
?product: signed
    | product "*" signed                   -> times
    | product "/" signed                   -> over
    | product "%" signed                   -> modulo
?signed: "-" signed                        -> negative
    | atom
?atom: NUMBER                              -> number
    | STRING                               -> text
    | _DATE STRING                         -> date
    | _TIMESTAMP STRING                    -> timestamp
    | _TRUE                                -> true
    | _FALSE                               -> false
    | _NULL                                -> null
    | (NAME | QUOTED)                      -> column
    | "(" any ")"
COMPARE: "==" | "=" | "!=" | "<>" | "<=" | ">=" | "<" | ">"
NUMBER: /(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?/
STRING: /'([^'\\]|'')*'/ | /"([^"\\]|"")*"/
QUOTED: /`([^`]|``)+`/
_DATE.2: /date(?=\s*['"])/i
_TIMESTAMP.2: /timestamp(?=\s*['"])/i
_OR.2: /or\b/i
_AND.2: /and\b/i
_NOT.2: /not\b/i
_IS.2: /is\b/i
_NULL.2: /null\b/i
_IN.2: /in\b/i
_BETWEEN.2: /between\b/i
_LIKE.2: /like\b/i
_TRUE.2: /true\b/i
_FALSE.2: /false\b/i
NAME: /(?!(?:and|or|not|is|in|between|like|null|true|false)\b)[^\W\d]\w*/i
%ignore /[ \t\f\r\n]+/
"""

Value = Callable[[pa.Table], Any]


@dataclass(frozen=True)
class Condition:
    """The rows for which the text is true; null is not."""

    text: str
    columns: tuple[str, ...] = field(compare=False)
    value: Value = field(compare=False)

    def holds(self, table: pa.Table) -> NDArray[np.bool_]:
        """Which rows of the table satisfy the condition."""
        try:
            held = _array(self.value(table), table)
        except RecursionError:
            raise ConditionError(f"the condition {self.text!r} is nested too deeply.") from None
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
            raise ConditionError(
                f"the condition {self.text!r} has no meaning on these rows, or only on Spark: {problem}."
            ) from None
        if pa.types.is_null(held.type):
            return np.zeros(table.num_rows, np.bool_)
        if not pa.types.is_boolean(held.type):
            raise ConditionError(f"the condition {self.text!r} is {held.type}, and neither true nor false.")
        return np.asarray(pc.fill_null(held, False).to_numpy(zero_copy_only=False), np.bool_)


@lru_cache(maxsize=256)
def parsed_condition(text: str) -> Condition:
    """The condition. Raises ConditionError where it uses more of SQL than can be computed without Spark."""
    if re.search("[\ud800-\udfff]", text):
        raise ConditionError(f"the condition {text!r} is no text: it has half of a surrogate pair.")
    conditions = _Conditions()
    try:
        value = conditions.transform(_parser().parse(text))
    except (LarkError, RecursionError):  # the latter where parentheses are nested too deeply
        raise ConditionError(
            f"the condition {text!r} cannot be computed without Spark.",
            hint="a monitor knows comparisons, and, or, not, in, between, like, is null and arithmetic; "
            "`holdfast watch` knows all of SQL.",
        ) from None
    return Condition(text, tuple(dict.fromkeys(conditions.columns)), value)


def rule_condition(rule: Rule) -> Condition | None:
    """The condition of the rule, where it has one. Raises ConditionError, naming the rule, as parsed_condition does."""
    if rule.where is None:
        return None
    try:
        return parsed_condition(rule.where)
    except ConditionError as problem:
        raise ConditionError(f"rule {rule.name!r}: {problem.message}", hint=problem.hint) from None


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return kept_parser(_GRAMMAR)


def _array(value: Any, table: pa.Table) -> pa.Array:
    """The value as an array with a place per row of the table."""
    if isinstance(value, pa.ChunkedArray | pa.Array):
        return one_array(value)
    return pa.repeat(_scalar(value), table.num_rows)


def _scalar(value: Any) -> pa.Scalar:
    return value if isinstance(value, pa.Scalar) else pa.scalar(value)


def _column_type(value: Any) -> ColumnType:
    return arrow_column_type(value.type if isinstance(value, pa.ChunkedArray | pa.Array) else _scalar(value).type)


def _related(a: Any, allowed: int, b: Any, table: pa.Table) -> pa.Array:
    """Whether the values are in an allowed relation, as Spark compares them: a number beside doubles is a double,
    a date beside times its midnight, a text in the condition beside dates and times what it reads as."""
    a, b = _beside(a, b), _beside(b, a)
    families = {_column_type(a).family, _column_type(b).family}
    if "void" in families:
        return pa.nulls(table.num_rows, pa.bool_())
    if len(families) > 1 and not families <= {"integer", "decimal", "float"}:
        raise ConditionError(f"it compares {_column_type(a)} with {_column_type(b)}")
    # A constant is one place, however many rows there are.
    sides = [v if isinstance(v, pa.ChunkedArray) else pa.chunked_array([_place(v)]) for v in (a, b)]
    x, y = comparable_codes(sides)
    held = np.zeros(table.num_rows, np.bool_)
    for relation, holds in ((LT, x.codes < y.codes), (EQ, x.codes == y.codes), (GT, x.codes > y.codes)):
        if allowed & relation:
            held |= holds
    return pa.array(held, mask=np.broadcast_to(~(x.valid & y.valid), table.num_rows))


def _place(value: Any) -> pa.Array:
    return value if isinstance(value, pa.Array) else pa.repeat(_scalar(value), 1)


def _beside(value: Any, other: Any) -> Any:
    """The value in the type in which Spark compares it with the other."""
    own, others = _column_type(value), _column_type(other)
    if (others.family == "float" and own.numeric) or (own.family == "float" and others.numeric):
        return float(value) if isinstance(value, Decimal | int) else _cast(value, pa.float64())
    if isinstance(value, str) and others.family == "date":
        return dt.date.fromisoformat(value.strip())
    if isinstance(value, str) and others.family == "timestamp":
        value, own = dt.datetime.fromisoformat(value.strip()), others
    if (own.family in ("date", "timestamp") and others.family == "timestamp") or (
        own.family == "timestamp" and others.family == "date"
    ):
        return _cast(_as_utc(value), pa.timestamp("us"))
    return value


def _as_utc(value: Any) -> Any:
    return value.astimezone(dt.UTC).replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value


def _cast(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, pa.ChunkedArray | pa.Array):
        return value.cast(kind, safe=False)  # the double nearest to a large integer, as Spark takes it
    return _scalar(value).cast(kind)


def _unquoted(token: Token) -> str:
    mark = token[0]
    return str(token[1:-1].replace(mark * 2, mark))


def _calculated(function: Callable[[Any, Any], Any], *, decimals: bool = True) -> Callable[[list[Value]], Value]:
    """A calculation with two numbers; with nothing but nulls it is null. Without `decimals` those are for Spark, whose
    results have so many digits as its rules say."""

    def of_parts(parts: list[Value]) -> Value:
        def value(table: pa.Table) -> Any:
            a, b = (part(table) for part in parts)
            kinds = _column_type(a), _column_type(b)
            if any(kind.family == "void" for kind in kinds):
                return pa.scalar(None)
            if not all(kind.numeric for kind in kinds):
                raise ConditionError(f"it calculates with {kinds[0]} and {kinds[1]}")
            if any(kind.family == "float" for kind in kinds):
                a, b = (_beside(a, 0.0), _beside(b, 0.0))
            elif not decimals and any(kind.family == "decimal" for kind in kinds):
                raise ConditionError("it divides decimals")
            return function(a, b)

        return value

    return of_parts


def _divided(a: Any, b: Any) -> Any:
    x, y = (_cast(value, pa.float64()) for value in (a, b))
    return pc.divide(x, pc.if_else(pc.equal(y, 0.0), pa.scalar(None, pa.float64()), y))


def _remainder(a: Any, b: Any) -> Any:
    left, right = (one_array(v) if isinstance(v, pa.ChunkedArray | pa.Array) else _place(v) for v in (a, b))
    known = [array.is_valid().to_numpy(zero_copy_only=False) for array in (left, right)]
    x, y = (pc.fill_null(array, 1).to_numpy(zero_copy_only=False) for array in (left, right))
    with np.errstate(invalid="ignore"):  # what is left of an infinite number is NaN
        rest = np.fmod(x, np.where(y == 0, 1, y))
    return pa.array(rest, mask=np.broadcast_to(~(known[0] & known[1] & (y != 0)), rest.shape))


class _Conditions(Transformer[Token, Any]):
    """Builds the function that computes the condition from a table, and notes the columns."""

    def __init__(self) -> None:
        super().__init__()
        self.columns: list[str] = []

    def column(self, children: list[Any]) -> Value:
        name = _unquoted(children[0]) if children[0].type == "QUOTED" else str(children[0])
        self.columns.append(name)
        return lambda table: table.column(name)

    def number(self, children: list[Any]) -> Value:
        text = str(children[0])
        if "e" in text.lower():
            if math.isinf(float(text)):
                raise ValueError("it is beyond all doubles")
            return _always(float(text))
        small = text.isdigit() and int(text) < 2**63
        return _always(int(text) if small else Decimal(text))

    def text(self, children: list[Any]) -> Value:
        return _always(_unquoted(children[0]))

    def date(self, children: list[Any]) -> Value:
        return _always(dt.date.fromisoformat(_unquoted(children[0])))

    def timestamp(self, children: list[Any]) -> Value:
        return _always(dt.datetime.fromisoformat(_unquoted(children[0])))

    def true(self, _: list[Any]) -> Value:
        return _always(True)

    def false(self, _: list[Any]) -> Value:
        return _always(False)

    def null(self, _: list[Any]) -> Value:
        return _always(pa.scalar(None))

    def any_of(self, parts: list[Value]) -> Value:
        return lambda table: reduce(pc.or_kleene, (_truth(part(table), table) for part in parts))

    def all_of(self, parts: list[Value]) -> Value:
        return lambda table: reduce(pc.and_kleene, (_truth(part(table), table) for part in parts))

    def negated(self, parts: list[Value]) -> Value:
        return lambda table: pc.invert(_truth(parts[0](table), table))

    def compared(self, parts: list[Any]) -> Value:
        a, operator, b = parts
        allowed = mask_of(str(operator))
        return lambda table: _related(a(table), allowed, b(table), table)

    def is_null(self, parts: list[Value]) -> Value:
        return lambda table: pc.is_null(_array(parts[0](table), table))

    def is_not_null(self, parts: list[Value]) -> Value:
        return lambda table: pc.is_valid(_array(parts[0](table), table))

    def among(self, parts: list[Value]) -> Value:
        first, *listed = parts
        return lambda table: reduce(pc.or_kleene, (_related(first(table), EQ, item(table), table) for item in listed))

    def not_among(self, parts: list[Value]) -> Value:
        return _inverted(self.among(parts))

    def between(self, parts: list[Value]) -> Value:
        value, low, high = parts
        return lambda table: pc.and_kleene(
            _related(value(table), GT | EQ, low(table), table), _related(value(table), LT | EQ, high(table), table)
        )

    def not_between(self, parts: list[Value]) -> Value:
        return _inverted(self.between(parts))

    def like(self, parts: list[Any]) -> Value:
        value, pattern = parts[0], _unquoted(parts[1])

        def matched(table: pa.Table) -> pa.Array:
            texts = _array(value(table), table)
            return texts.cast(pa.bool_()) if pa.types.is_null(texts.type) else pc.match_like(texts, pattern)

        return matched

    def not_like(self, parts: list[Any]) -> Value:
        return _inverted(self.like(parts))

    def plus(self, parts: list[Value]) -> Value:
        return _calculated(pc.add_checked)(parts)

    def minus(self, parts: list[Value]) -> Value:
        return _calculated(pc.subtract_checked)(parts)

    def times(self, parts: list[Value]) -> Value:
        return _calculated(pc.multiply_checked)(parts)

    def over(self, parts: list[Value]) -> Value:
        return _calculated(_divided, decimals=False)(parts)

    def modulo(self, parts: list[Value]) -> Value:
        return _calculated(_remainder, decimals=False)(parts)

    def negative(self, parts: list[Value]) -> Value:
        def negated(table: pa.Table) -> Any:
            value = parts[0](table)
            if isinstance(value, Decimal):
                return value.copy_negate()  # a minus would round it to 28 digits
            if _column_type(value).family == "void":
                return pa.scalar(None)
            return -value if isinstance(value, int | float) else pc.negate_checked(value)

        return negated


def _always(value: Any) -> Value:
    return lambda table: value


def _inverted(condition: Value) -> Value:
    return lambda table: pc.invert(condition(table))


def _truth(value: Any, table: pa.Table) -> pa.Array:
    array = _array(value, table)
    return array.cast(pa.bool_()) if pa.types.is_null(array.type) else array
