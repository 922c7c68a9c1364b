"""Functions in the expressions of rules: how they are written, and what they mean.

A function is an entry of FUNCTIONS: the parser reads its name and the number of its arguments, and its meaning is what
every engine must agree with. `programs.expression_type` says to which types it applies, `programs.function_sql` how it
is written in SQL.

Values are as rows hold them: int, Decimal, float, str, bool, date and datetime. Whole numbers and decimals compute
exactly; a result that needs more than 38 digits is null. With a double among them numbers are doubles. A meaning is
asked only where no argument is null, but for `coalesce`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias

from holdfast.rules.predicate import NEGATIVE

DIGITS = 38
# More than a product of two numbers of so many digits, and any difference of exponents, needs.
EXACT = Context(prec=1_000, Emax=999_999, Emin=-999_999)
_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()

Number: TypeAlias = int | Decimal | float


@dataclass(frozen=True)
class Function:
    """`meaning` of arguments that are not null; how many they may be, and which of them (by place) are whole numbers
    that the rule itself names, each with the least it may be."""

    meaning: Callable[..., Any]
    least: int = 1
    most: int | None = 1
    constants: Mapping[int, int] | None = None
    takes_nulls: bool = False


def value_of(function: str, arguments: list[Any]) -> Any:
    """The value of the function; None for null."""
    known = FUNCTIONS[function]
    if not known.takes_nulls and any(argument is None for argument in arguments):
        return None
    return known.meaning(*arguments)


def nearest_double(value: Number) -> float:
    """The double nearest to the number.

    >>> nearest_double(2**53 + 1) == 2.0**53
    True
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def within_digits(value: int | Decimal) -> int | Decimal | None:
    """The exact number; None where it needs more than 38 digits, those before and those behind the point together.

    >>> within_digits(10**38 - 1) == 10**38 - 1, within_digits(10**38), within_digits(Decimal("1E-39"))
    (True, None, None)
    """
    if isinstance(value, int):
        return value if abs(value) < 10**DIGITS else None
    if not value:
        return Decimal(0)
    _, digits, exponent = value.normalize(EXACT).as_tuple()
    assert isinstance(exponent, int), "exact numbers are finite"
    behind = max(-exponent, 0)
    before = max(len(digits) + exponent, 0)
    return value if before + behind <= DIGITS else None


def _calculated(
    exact: Callable[[Decimal, Decimal], Decimal], doubles: Callable[[float, float], float | None]
) -> Callable[[Number, Number], Number | None]:
    def meaning(a: Number, b: Number) -> Number | None:
        if isinstance(a, float) or isinstance(b, float):
            return doubles(nearest_double(a), nearest_double(b))
        return within_digits(exact(Decimal(a), Decimal(b)))

    return meaning


def _minus(a: Any, b: Any) -> Any:
    if isinstance(a, dt.date):
        return _time_between(a, b)
    return _MINUS(a, b)


_MINUS = _calculated(EXACT.subtract, lambda a, b: a - b)


def _time_between(a: dt.date, b: dt.date) -> int | Decimal:
    """Whole days between dates; seconds where one of them is a time, a date being its midnight."""
    if not isinstance(a, dt.datetime) and not isinstance(b, dt.datetime):
        return a.toordinal() - b.toordinal()
    return EXACT.subtract(seconds_of(a), seconds_of(b))


def days_of(value: dt.date) -> int:
    """Days since 1970."""
    return value.toordinal() - _EPOCH_DAY


def seconds_of(value: dt.date) -> Decimal:
    """Seconds since 1970, to the microsecond; a time without a zone is read as one in UTC."""
    if not isinstance(value, dt.datetime):
        return Decimal(days_of(value) * 86_400)
    epoch = dt.datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else dt.UTC)
    return Decimal((value - epoch) // _MICROSECOND).scaleb(-6, EXACT)


def _over(a: Number, b: Number) -> float | None:
    x, y = nearest_double(a), nearest_double(b)
    return None if y == 0 else x / y


def _remainder(a: Number, b: Number) -> Number | None:
    if b == 0:
        return None
    return _REMAINDER(a, b)


def _double_remainder(a: float, b: float) -> float | None:
    if b == 0:  # a number that is no zero, but whose nearest double is
        return None
    return math.nan if math.isinf(a) or math.isnan(a) or math.isnan(b) else math.fmod(a, b)


# The remainder has the sign of what is divided.
_REMAINDER = _calculated(EXACT.remainder, _double_remainder)


def _rounded(value: Number, digits: int = 0) -> Number | None:
    """Half away from zero. Of a double, the digits are those of the shortest text that reads as it."""
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return value
        return float(_to_digits(Decimal(repr(value)), digits, ROUND_HALF_UP))
    return within_digits(_to_digits(value, digits, ROUND_HALF_UP))


def _to_digits(value: Decimal, digits: int, rounding: str) -> Decimal:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "the number is finite"
    return value if -exponent <= digits else value.quantize(Decimal(1).scaleb(-digits), rounding, EXACT)


def _whole(double: Callable[[float], int], rounding: str) -> Callable[[Number], Number | None]:
    def meaning(value: Number) -> Number | None:
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return float(double(value)) if math.isfinite(value) else value
        return within_digits(_to_digits(value, 0, rounding))

    return meaning


def _substr(text: str, start: int, length: int | None = None) -> str:
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _in_utc(value: dt.date) -> dt.date:
    zoned = isinstance(value, dt.datetime) and value.tzinfo is not None
    return value.astimezone(dt.UTC) if zoned and isinstance(value, dt.datetime) else value


def _hour(value: dt.datetime) -> int:
    time = _in_utc(value)
    assert isinstance(time, dt.datetime), "dates have no hours, which is found out before"
    return time.hour


FUNCTIONS: Mapping[str, Function] = {
    "+": Function(_calculated(EXACT.add, lambda a, b: a + b), 2, 2),
    "-": Function(_minus, 2, 2),
    "*": Function(_calculated(EXACT.multiply, lambda a, b: a * b), 2, 2),
    "/": Function(_over, 2, 2),
    "%": Function(_remainder, 2, 2),
    NEGATIVE: Function(lambda a: -a if isinstance(a, int | float) else a.copy_negate()),
    "abs": Function(lambda a: abs(a) if isinstance(a, int | float) else a.copy_abs()),
    "round": Function(_rounded, 1, 2, {1: 0}),
    "floor": Function(_whole(math.floor, ROUND_FLOOR)),
    "ceil": Function(_whole(math.ceil, ROUND_CEILING)),
    "lower": Function(str.lower),
    "upper": Function(str.upper),
    "trim": Function(lambda text: text.strip(" ")),
    "length": Function(len),
    "substr": Function(_substr, 2, 3, {1: 1, 2: 0}),
    "coalesce": Function(_coalesce, 2, None, takes_nulls=True),
    "year": Function(lambda value: _in_utc(value).year),
    "month": Function(lambda value: _in_utc(value).month),
    "day": Function(lambda value: _in_utc(value).day),
    "hour": Function(_hour),
}
# Those that people write as name(…).
NAMED = tuple(name for name in FUNCTIONS if name.isalpha() and name != NEGATIVE)
