"""digits_key sorts numbers of any type by their exact values."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.encode.digits import digits_key
from holdfast.reference import relation
from holdfast.rules.relation import EQ, LT

NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-12, 12),
    st.floats(),
    st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, 0.1, 2.0**53]),
    st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-(10**18), max_value=10**18),
    st.sampled_from(["0.1", "0.10", "-0.00", "100", "1e2", "1E-38", "9" * 38]).map(Decimal),
)


@given(NUMBERS, NUMBERS)
@example(2**53 + 1, float(2**53))
@example(0.1, Decimal("0.1"))
@example(-0.0, 0)
@example(math.nan, math.inf)
@example(-10, -9)
@example(Decimal("-0.10"), Decimal("-0.1"))
@example(-1, Decimal("-1.5"))
@settings(max_examples=1000)
def test_bytes_are_in_the_relation_of_the_exact_values(a: int | float | Decimal, b: int | float | Decimal) -> None:
    x, y = digits_key(a), digits_key(b)
    assert x is not None
    assert y is not None
    wanted = relation(a, b)
    assert (EQ if x == y else LT if x < y else 4) == wanted


@given(st.lists(NUMBERS, max_size=12))
def test_sorting_by_bytes_sorts_by_value(values: list[int | float | Decimal]) -> None:
    ordered = sorted(values, key=lambda v: digits_key(v) or b"")
    assert all(relation(a, b) <= EQ for a, b in pairwise(ordered))


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1.0), (1, Decimal("1.00")), (100, Decimal("1e2")), (0, -0.0), (0.5, Decimal("0.5"))]
)
def test_equal_values_of_any_type_have_one_key(a: int | float | Decimal, b: int | float | Decimal) -> None:
    assert digits_key(a) == digits_key(b)


def test_null_stays_null() -> None:
    assert digits_key(None) is None
