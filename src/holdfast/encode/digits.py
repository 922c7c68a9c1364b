"""Numbers of any type as bytes with the order of their exact values."""

from __future__ import annotations

import math
from decimal import Decimal

_NAN, _PLUS_INFINITY, _POSITIVE, _ZERO, _NEGATIVE, _MINUS_INFINITY = (
    b"\xf0",
    b"\xe0",
    0x90,
    b"\x80",
    0x70,
    b"\x10",
)
_INVERT = bytes(255 - i for i in range(256))


def digits_key(value: int | float | Decimal | None) -> bytes | None:
    """Returns bytes with the order of the exact values; NaN is greatest, -0.0 is 0, null stays null.

    Sign, decimal exponent, digits. A float is its exact binary value, not the shortest text that reads as it.

    >>> digits_key(0.1) == digits_key(Decimal("0.1")), digits_key(0.5) == digits_key(Decimal("0.50"))
    (False, True)
    >>> digits_key(2**53 + 1) > digits_key(float(2**53))
    True
    """
    if value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return _NAN if math.isnan(value) else _PLUS_INFINITY if value > 0 else _MINUS_INFINITY
    sign, digits, exponent = Decimal(value).as_tuple()
    assert isinstance(exponent, int), "the value is finite"
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return _ZERO
    magnitude = len(text) + exponent + 0x8000
    body = magnitude.to_bytes(2, "big") + text.rstrip("0").encode("ascii") + b"\x00"
    if sign:
        return bytes([_NEGATIVE]) + body.translate(_INVERT)
    return bytes([_POSITIVE]) + body
