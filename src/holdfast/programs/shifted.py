"""Bounds of tolerances: the value of one row, moved so that the other row's value compares with it.

`t.x - s.x <= 5` is `t.x <= s.x + 5` for exact numbers. The difference of doubles is rounded before it is compared, so
that there the bound is the first double whose difference is above 5, or at least 5. These functions stand in lowered
rules only; nobody writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.rules.functions import EXACT, days_of, nearest_double, seconds_of, value_of

SHIFT, ABOVE, AT_LEAST, AS_DOUBLE, DAYS, SECONDS = "shift", "above", "at_least", "as_double", "days", "seconds"

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
_MASK = np.int64(0x7FFFFFFFFFFFFFFF)
# So many doubles around the sum of both are looked at before the search goes everywhere.
_NEAR = 4


def first_double(values: Floats, constant: float, *, above: bool) -> Floats:
    """For each value y, the least double x (NaN being the greatest) with x - y, as a double, at least the constant, or
    `above` it. The constant is finite.

    x - y grows with x, so that exactly the doubles from there on are such; infinity always is. Cost: a few passes, and
    64 for values whose answer is far from their sum with the constant.

    >>> first_double(np.array([1.0, 0.1]), 0.5, above=False).tolist()
    [1.5, 0.6]
    """
    least, most = (int(_codes(np.array([end]))[0]) for end in (-np.inf, np.inf))
    with np.errstate(all="ignore"):
        guess = _codes(np.nan_to_num(values + constant, nan=0.0, posinf=np.inf, neginf=-np.inf))
        low, high = np.maximum(guess, least + _NEAR) - _NEAR, np.minimum(guess, most - _NEAR) + _NEAR
        # The answer is above `low` and at most `high`.
        is_low, is_high = _reaches(low, values, constant, above), _reaches(high, values, constant, above)
        low, high = np.where(is_low, least - 1, low), np.where(is_high, high, most)
        while True:
            open_ones = np.flatnonzero(high - 1 > low) if len(low) else np.empty(0, np.int64)
            if len(open_ones) == 0:
                return _doubles(high)
            # Halves that cannot overflow.
            middle = (low[open_ones] >> 1) + (high[open_ones] >> 1) + (low[open_ones] & high[open_ones] & 1)
            there = _reaches(middle, values[open_ones], constant, above)
            high[open_ones[there]] = middle[there]
            low[open_ones[~there]] = middle[~there]


def _reaches(codes: Codes, values: Floats, constant: float, above: bool) -> NDArray[np.bool_]:
    apart = _doubles(codes) - values
    # Not `>=`: of NaN, which is the greatest, nothing holds.
    return ~(apart <= constant) if above else ~(apart < constant)


def _codes(values: Floats) -> Codes:
    bits = np.ascontiguousarray(values, np.float64).view(np.int64)
    return np.where(bits < 0, bits ^ _MASK, bits)


def _doubles(codes: Codes) -> Floats:
    return np.where(codes < 0, codes ^ _MASK, codes).view(np.float64)


def _bound(above: bool) -> Callable[[float, Decimal | int], float]:
    def meaning(value: float, constant: Decimal | int) -> float:
        return float(first_double(np.array([value]), nearest_double(constant), above=above)[0])

    return meaning


def _shift(value: int | Decimal, constant: int | Decimal) -> int | Decimal:
    if isinstance(value, int) and isinstance(constant, int):
        return value + constant
    return EXACT.add(Decimal(value), Decimal(constant))


BOUNDS: Mapping[str, Callable[..., Any]] = {
    SHIFT: _shift,
    ABOVE: _bound(True),
    AT_LEAST: _bound(False),
    AS_DOUBLE: nearest_double,
    DAYS: days_of,
    SECONDS: seconds_of,
}


def call_value(function: str, arguments: list[Any]) -> Any:
    """The value of a function of a lowered rule; None for null."""
    if function in BOUNDS:
        return None if arguments[0] is None else BOUNDS[function](*arguments)
    return value_of(function, arguments)
