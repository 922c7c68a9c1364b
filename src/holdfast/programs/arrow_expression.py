"""Values of expressions over Arrow columns: numbers as arrays where they fit 64 bits, all else value by value.

The twin of `function_sql`. A function without a quick way here is computed by its meaning, once for each distinct value
where it speaks of one column.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.arrow_column_type import arrow_type_of
from holdfast.encode.column_type import UNBOUNDED, ColumnType
from holdfast.encode.digits import digits_key
from holdfast.encode.one_array import decoded, one_array
from holdfast.errors import ChangeError
from holdfast.programs.expression_type import expression_type
from holdfast.programs.lower import Computed
from holdfast.programs.shifted import ABOVE, AS_DOUBLE, AT_LEAST, DAYS, SECONDS, SHIFT, call_value, first_double
from holdfast.rules.functions import nearest_double
from holdfast.rules.predicate import NEGATIVE, Call, Column, Constant, Operand

Bools = NDArray[np.bool_]
_MOST = 2**63 - 1
# Up to so many rows are quicker value by value than as arrays.
_FEW = 32
# Whole numbers up to here, and powers of ten with so many zeros, are doubles.
_EXACT_DOUBLE, _EXACT_POWER = 2**53, 22
_MICROSECONDS = 6
_WIDE = Context(prec=120)


def computed_column(
    column: Computed, values: Callable[[str], pa.ChunkedArray | pa.Array], types: Mapping[str, ColumnType], size: int
) -> pa.Array:
    """The values of a computed column; `values` gives those of the table's columns, which have these types."""
    if column.kind.family == "void":
        return pa.nulls(size)
    arrays = {name: decoded(one_array(values(name))) for name in column.base}
    try:
        return _Quick(arrays, types, size).number(column.call).to_arrow(column.kind)
    except _NotQuick:
        return _by_value(column, arrays, types, size)


def computed_values_of(
    column: Computed, values: Mapping[str, Sequence[Any] | pa.Array], types: Mapping[str, ColumnType], size: int
) -> Sequence[Any] | pa.Array:
    """The values of a computed column of rows that have come as Python values or as arrays; exact numbers as they are.

    The twin of `computed_column` for few rows. Raises ChangeError where values are not of the types.
    """
    try:
        if size > _FEW and column.kind != UNBOUNDED:
            arrays = {name: _typed_array(values[name], types[name]) for name in column.base}
            return computed_column(column, arrays.__getitem__, types, size)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # value by value, and told which where it is no such value
    lists = {name: _listed(values[name], types[name], name) for name in column.base}
    return computed_values(column.call, lists, types, size)


def _typed_array(values: Sequence[Any] | pa.Array, kind: ColumnType) -> pa.Array:
    if kind.family == "void":
        return pa.nulls(len(values))
    wanted = arrow_type_of(kind.sql)
    return decoded(values).cast(wanted) if isinstance(values, pa.Array) else pa.array(values, wanted)


def _listed(values: Sequence[Any] | pa.Array, kind: ColumnType, name: str) -> list[Any]:
    listed = values.to_pylist() if isinstance(values, pa.Array) else list(values)
    return [None if value is None else _as_typed(value, kind, name) for value in listed]


def _as_typed(value: Any, kind: ColumnType, name: str) -> Any:
    """The value as one of the type, for calculating."""
    plain = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(plain, int | float | Decimal) and not isinstance(plain, bool)
    fits = is_number == kind.numeric and isinstance(plain, str) == (kind.family == "text")
    fits &= isinstance(plain, dt.date) == (kind.family in ("date", "timestamp"))
    if not fits or (kind.family in ("integer", "decimal") and isinstance(plain, float) and not math.isfinite(plain)):
        raise ChangeError(
            f"a row has {value!r} in column {name!r}, which holds {kind}.",
            hint=f"nothing was changed. Name the type that {name!r} should have with schema={{{name!r}: …}}.",
        )
    if kind.family == "float":
        return nearest_double(plain)
    if kind.family == "integer" and plain == int(plain):
        return int(plain)
    return Decimal(plain) if kind.family == "decimal" else plain


# Value by value ---------------------------------------------------------------------------------------------------


def computed_values(call: Call, rows: Mapping[str, list[Any]], types: Mapping[str, ColumnType], size: int) -> list[Any]:
    """The values of the expression, row by row; None for null."""
    return [_value(call, {name: column[i] for name, column in rows.items()}, types) for i in range(size)]


def _value(operand: Operand, row: Mapping[str, Any], types: Mapping[str, ColumnType]) -> Any:
    if isinstance(operand, Column):
        return row[operand.name]
    if isinstance(operand, Constant):
        return operand.value
    arguments = [_value(argument, row, types) for argument in operand.arguments]
    if operand.function == "coalesce":
        return _first_known(operand, arguments, types)
    return call_value(operand.function, arguments)


def _first_known(call: Call, arguments: list[Any], types: Mapping[str, ColumnType]) -> Any:
    """The first value that is there; beside doubles a number of the rule is one."""
    value = next((argument for argument in arguments if argument is not None), None)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return nearest_double(value) if expression_type(call, types).family == "float" else value
    return value


def as_arrow(values: list[Any], kind: ColumnType) -> pa.Array:
    """The values of an expression of this type as Arrow keeps them."""
    if kind == UNBOUNDED:
        return pa.array([digits_key(value) for value in values], pa.binary())
    target = arrow_type_of(kind.sql)
    if pa.types.is_decimal(target):
        unit = Decimal(1).scaleb(-kind.scale)
        values = [None if v is None else Decimal(v).quantize(unit, context=_WIDE) for v in values]
    elif pa.types.is_integer(target):
        values = [None if v is None else int(v) for v in values]
    return pa.array(values, target)


def _by_value(column: Computed, arrays: Mapping[str, pa.Array], types: Mapping[str, ColumnType], size: int) -> pa.Array:
    if len(arrays) > 1:
        rows = {name: array.to_pylist() for name, array in arrays.items()}
        return as_arrow(computed_values(column.call, rows, types, size), column.kind)
    ((name, array),) = arrays.items()
    once = array.dictionary_encode()
    # Nulls have no place among the distinct values; what the expression makes of them comes last.
    distinct = [*once.dictionary.to_pylist(), None]
    values = as_arrow(computed_values(column.call, {name: distinct}, types, len(distinct)), column.kind)
    return values.take(pc.fill_null(once.indices.cast(pa.int64()), len(distinct) - 1))


# Arrays -----------------------------------------------------------------------------------------------------------


class _NotQuick(Exception):
    """There is no quick way to compute this."""


@dataclass(frozen=True)
class _Numbers:
    """Numbers as arrays: doubles, or with a `scale` whole multiples of a power of ten, none beyond `most`."""

    values: NDArray[Any]
    valid: Bools
    scale: int | None
    most: int = 0

    def to_arrow(self, kind: ColumnType) -> pa.Array:
        mask = ~np.broadcast_to(self.valid, self.values.shape)
        if self.scale is None:
            return pa.array(self.values, pa.float64(), mask=mask)
        if kind == UNBOUNDED:
            raise _NotQuick
        scaled = self.at_scale(kind.scale)
        if kind.family == "integer":
            return pa.array(scaled.values, pa.int64(), mask=mask)
        words = np.empty((len(mask), 2), np.int64)
        words[:, 0], words[:, 1] = scaled.values, scaled.values >> 63
        there = pa.array(~mask).buffers()[1]
        target = arrow_type_of(kind.sql)
        return pa.Array.from_buffers(target, len(mask), [there, pa.py_buffer(words.tobytes())])

    def at_scale(self, scale: int) -> _Numbers:
        assert self.scale is not None, "doubles have no scale"
        if scale < self.scale:  # digits would be lost
            raise _NotQuick
        power = 10 ** (scale - self.scale)
        if power == 1:
            return self
        return replace(
            self, values=self.values * np.int64(_fitting(power)), scale=scale, most=_fitting(self.most * power)
        )

    def as_doubles(self) -> _Numbers:
        if self.scale is None:
            return self
        if self.scale == 0:
            return _Numbers(self.values.astype(np.float64), self.valid, None)
        if self.most > _EXACT_DOUBLE or self.scale > _EXACT_POWER:
            raise _NotQuick
        return _Numbers(self.values.astype(np.float64) / 10.0**self.scale, self.valid, None)


def _fitting(number: int) -> int:
    if number > _MOST:
        raise _NotQuick
    return number


@dataclass(frozen=True)
class _Quick:
    arrays: Mapping[str, pa.Array]
    types: Mapping[str, ColumnType]
    size: int

    def number(self, operand: Operand) -> _Numbers:
        if isinstance(operand, Column):
            return self._column(operand.name)
        if isinstance(operand, Constant):
            return self._constant(operand)
        way = _WAYS.get(operand.function)
        if way is None:
            raise _NotQuick
        with np.errstate(all="ignore"):
            return way(self, operand)

    def _column(self, name: str) -> _Numbers:
        array, kind = self.arrays[name], self.types[name]
        valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        if kind.family == "float":
            values = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False).astype(np.float64)
            return _Numbers(values, valid, None)
        if kind.family == "integer":
            return _counted(pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False), valid, 0)
        if kind.family == "decimal" and kind.precision <= 18:
            array = pc.fill_null(array.cast(pa.decimal128(18, kind.scale)), Decimal(0))
            words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset :: 2][: len(array)]
            return _counted(words, valid, kind.scale)
        raise _NotQuick

    def _constant(self, constant: Constant) -> _Numbers:
        value = constant.value
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise _NotQuick
        # Its type has no zeros at the end: 2.50 is 2.5.
        short = Decimal(value).normalize(_WIDE)
        scale = max(-int(short.as_tuple().exponent), 0)
        whole = int(short.scaleb(scale, _WIDE))
        if abs(whole) > _MOST or Decimal(whole) != Decimal(value).scaleb(scale, _WIDE):
            raise _NotQuick
        return _Numbers(np.full(self.size, whole, np.int64), np.ones(self.size, np.bool_), scale, abs(whole))

    def beside(self, operand: Operand, other: _Numbers) -> _Numbers:
        """A number of the rule beside doubles is the nearest one."""
        if other.scale is None and isinstance(operand, Constant) and isinstance(operand.value, int | Decimal):
            double = nearest_double(operand.value)
            return _Numbers(np.full(self.size, double), np.ones(self.size, np.bool_), None)
        return self.number(operand)

    def both(self, call: Call) -> tuple[_Numbers, _Numbers]:
        """Both arguments; a constant takes its type from the other one."""
        left, right = call.arguments
        if isinstance(left, Constant):
            b = self.number(right)
            return self.beside(left, b), b
        a = self.number(left)
        return a, self.beside(right, a)

    def two(self, call: Call) -> tuple[_Numbers, _Numbers]:
        """Both arguments, as doubles where one is, and otherwise of one scale."""
        a, b = self.both(call)
        if a.scale is None or b.scale is None:
            return a.as_doubles(), b.as_doubles()
        scale = max(a.scale, b.scale)
        return a.at_scale(scale), b.at_scale(scale)

    def moments(self, operand: Operand) -> _Numbers:
        """Dates as days, times as microseconds."""
        if not isinstance(operand, Column):
            raise _NotQuick
        array, kind = self.arrays[operand.name], self.types[operand.name]
        valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        if kind.family == "date":
            days = pc.fill_null(array.cast(pa.date32()).view(pa.int32()), 0).to_numpy(zero_copy_only=False)
            return _counted(days.astype(np.int64), valid, 0)
        finer = array.cast(pa.timestamp("us", array.type.tz), safe=False).view(pa.int64())
        return _counted(pc.fill_null(finer, 0).to_numpy(zero_copy_only=False), valid, _MICROSECONDS)

    def seconds(self, operand: Operand) -> _Numbers:
        numbers = self.moments(operand)
        if numbers.scale == _MICROSECONDS:
            return numbers
        day = 86_400
        return replace(numbers, values=numbers.values * day, most=numbers.most * day).at_scale(_MICROSECONDS)

    def is_time(self, operand: Operand) -> bool:
        return isinstance(operand, Column) and self.types[operand.name].family in ("date", "timestamp")


def _counted(values: NDArray[Any], valid: Bools, scale: int) -> _Numbers:
    ends = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    return _Numbers(values, valid, scale, _fitting(max(abs(end) for end in ends)))


def _sum(sign: int) -> Callable[[_Quick, Call], _Numbers]:
    def way(quick: _Quick, call: Call) -> _Numbers:
        if sign < 0 and any(map(quick.is_time, call.arguments)):
            a, b = map(quick.moments, call.arguments)
            if a.scale != b.scale:
                a, b = map(quick.seconds, call.arguments)
        else:
            a, b = quick.two(call)
        return _Numbers(a.values + sign * b.values, a.valid & b.valid, a.scale, _fitting(a.most + b.most))

    return way


def _product(quick: _Quick, call: Call) -> _Numbers:
    a, b = quick.both(call)
    if a.scale is None or b.scale is None:
        a, b = a.as_doubles(), b.as_doubles()
        return _Numbers(a.values * b.values, a.valid & b.valid, None)
    return _Numbers(a.values * b.values, a.valid & b.valid, a.scale + b.scale, _fitting(a.most * b.most))


def _quotient(quick: _Quick, call: Call) -> _Numbers:
    a, b = (quick.beside(argument, _SOME_DOUBLE).as_doubles() for argument in call.arguments)
    return _Numbers(a.values / b.values, a.valid & b.valid & (b.values != 0), None)


_SOME_DOUBLE = _Numbers(np.zeros(0), np.zeros(0, np.bool_), None)


def _remainder(quick: _Quick, call: Call) -> _Numbers:
    a, b = quick.two(call)
    known = b.values != 0
    divisor = np.where(known, b.values, 1)
    return _Numbers(np.fmod(a.values, divisor), a.valid & b.valid & known, a.scale, a.most)


def _negative(quick: _Quick, call: Call) -> _Numbers:
    a = quick.number(call.arguments[0])
    return replace(a, values=-a.values)


def _absolute(quick: _Quick, call: Call) -> _Numbers:
    a = quick.number(call.arguments[0])
    return replace(a, values=np.abs(a.values))


def _rounded(quick: _Quick, call: Call) -> _Numbers:
    a = quick.number(call.arguments[0])
    digits = call.arguments[1].value if len(call.arguments) > 1 else 0  # type: ignore[union-attr]
    assert isinstance(digits, int), "the parser sees to it"
    if a.scale is None:
        raise _NotQuick
    if a.scale <= digits:
        return a
    unit = 10 ** (a.scale - digits)
    half = np.sign(a.values) * ((np.abs(a.values) + np.int64(_fitting(unit) // 2)) // unit)
    return _Numbers(half, a.valid, digits, _fitting(a.most + unit) // unit + 1)


def _whole(double: Callable[..., Any], up: bool) -> Callable[[_Quick, Call], _Numbers]:
    def way(quick: _Quick, call: Call) -> _Numbers:
        a = quick.number(call.arguments[0])
        if a.scale is None:
            return replace(a, values=double(a.values))
        unit = np.int64(_fitting(10**a.scale))
        values = -(-a.values // unit) if up else a.values // unit
        return _Numbers(values, a.valid, 0, a.most // int(unit) + 1)

    return way


def _days(quick: _Quick, call: Call) -> _Numbers:
    return quick.moments(call.arguments[0])


def _seconds(quick: _Quick, call: Call) -> _Numbers:
    return quick.seconds(call.arguments[0])


def _doubled(quick: _Quick, call: Call) -> _Numbers:
    return quick.number(call.arguments[0]).as_doubles()


def _first_beyond(above: bool) -> Callable[[_Quick, Call], _Numbers]:
    def way(quick: _Quick, call: Call) -> _Numbers:
        a = quick.number(call.arguments[0])
        (_, constant) = call.arguments
        assert isinstance(constant, Constant), "a bound has a number"
        assert isinstance(constant.value, int | Decimal), "a bound has a number"
        return replace(a, values=first_double(a.values, nearest_double(constant.value), above=above))

    return way


def _part_of_time(part: Callable[[pa.Array], pa.Array]) -> Callable[[_Quick, Call], _Numbers]:
    def way(quick: _Quick, call: Call) -> _Numbers:
        (operand,) = call.arguments
        if not isinstance(operand, Column):
            raise _NotQuick
        array = quick.arrays[operand.name]
        if pa.types.is_timestamp(array.type):  # as it is in UTC
            array = array.cast(pa.timestamp("us", array.type.tz), safe=False).view(pa.int64()).cast(pa.timestamp("us"))
        valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        return _counted(pc.fill_null(part(array), 0).to_numpy(zero_copy_only=False).astype(np.int64), valid, 0)

    return way


def _coalesced(quick: _Quick, call: Call) -> _Numbers:
    columns = [quick.number(argument) for argument in call.arguments if not isinstance(argument, Constant)]
    doubles = any(column.scale is None for column in columns)
    parts = [quick.beside(argument, columns[0]) for argument in call.arguments]
    if doubles:
        parts = [part.as_doubles() for part in parts]
    else:
        scale = max(part.scale or 0 for part in parts)
        parts = [part.at_scale(scale) for part in parts]
    return functools.reduce(
        lambda a, b: _Numbers(np.where(a.valid, a.values, b.values), a.valid | b.valid, a.scale, max(a.most, b.most)),
        parts,
    )


_WAYS: Mapping[str, Callable[[_Quick, Call], _Numbers]] = {
    "+": _sum(1),
    "-": _sum(-1),
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    NEGATIVE: _negative,
    "abs": _absolute,
    "round": _rounded,
    "floor": _whole(np.floor, False),
    "ceil": _whole(np.ceil, True),
    "coalesce": _coalesced,
    "year": _part_of_time(pc.year),
    "month": _part_of_time(pc.month),
    "day": _part_of_time(pc.day),
    "hour": _part_of_time(pc.hour),
    SHIFT: _sum(1),
    ABOVE: _first_beyond(True),
    AT_LEAST: _first_beyond(False),
    AS_DOUBLE: _doubled,
    DAYS: _days,
    SECONDS: _seconds,
}
