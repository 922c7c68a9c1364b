"""Codes that stay: their order and equality are those of the values, whatever comes later."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.encode.live_codes import Coder, LabelCoder, coder_for
from holdfast.errors import TypeMismatchError
from holdfast.rules.relation import EQ, GT, LT
from strategies import DOMAINS

KINDS = sorted(set(DOMAINS) - {"binary"})


def coder_of(*kinds: str, ordered: bool = True) -> Coder:
    return coder_for(map(column_type, kinds), ordered=ordered, settled=True)


@given(st.data())
def test_codes_compare_as_values_do(data: st.DataObject) -> None:
    numbers = ["bigint", "double", "decimal(20,2)", "decimal(38,20)"]
    kinds = data.draw(st.sampled_from([[k] for k in KINDS] + [numbers, ["date", "timestamp_ntz"]]))
    values = [data.draw(st.sampled_from([*DOMAINS[k]])) for k in kinds for _ in range(3)]
    coder = coder_of(*kinds)
    for value in values:
        coder.code(value)
    codes = [coder.code(value) for value in values]
    for a, x in zip(values, codes, strict=True):
        for b, y in zip(values, codes, strict=True):
            assert (EQ if x == y else LT if x < y else GT) == reference.relation(a, b)


@given(st.data(), st.sampled_from(sorted(DOMAINS)))
def test_many_codes_are_those_of_each(data: st.DataObject, kind: str) -> None:
    some = st.sampled_from(DOMAINS[kind])
    values = [data.draw(some), *data.draw(st.lists(some | st.none(), max_size=8))]
    coder = coder_of(kind, ordered=kind != "binary")
    many = coder.codes(pa.array(values))
    assert len(many) == len(values)
    for value, code in zip(values, many.tolist(), strict=True):
        assert value is None or code == coder.code(value)


def test_labels_move_apart_when_a_gap_is_used_up() -> None:
    coder = LabelCoder(ordered=True, numbers=True)
    low, high = coder.code(Decimal(0)), coder.code(Decimal(1))
    values, value = [Decimal(0), Decimal(1)], Decimal(1)
    while (moved := coder.moved()) is None:
        value /= 2
        values.append(value)
        coder.code(value)
    old, new = moved
    assert {low, high} <= set(old.tolist())
    codes = {v: coder.code(v) for v in values}
    assert dict(zip(old.tolist(), new.tolist(), strict=True))[low] == codes[Decimal(0)]
    assert sorted(values) == sorted(values, key=codes.__getitem__)
    assert coder.moved() is None


def test_values_can_be_forgotten() -> None:
    coder = LabelCoder(ordered=True, numbers=False)
    a, b = coder.code("a"), coder.code("b")
    coder.keep(np.array([b]))
    assert (coder.find("a"), coder.find("b"), len(coder)) == (None, b, 1)
    assert a < b
    assert coder.code("aa") < b


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("bigint", "1"), ("bigint", 1.5), ("bigint", 2**63), ("bigint", True), ("double", "x"), ("double", 2**53 + 1),
        ("string", 1), ("boolean", 1), ("date", dt.datetime(2024, 1, 1)), ("timestamp_ntz", "2024-01-01"),
        ("decimal(20,2)", "1.0"), ("binary", 1),
    ],
)  # fmt: skip
def test_values_of_another_kind_are_refused(kind: str, wrong: Any) -> None:
    with pytest.raises(TypeMismatchError):
        coder_of(kind).code(wrong)


def test_text_and_bytes_do_not_mix() -> None:
    coder = coder_of("string", ordered=False)
    coder.code("a")
    with pytest.raises(TypeMismatchError):
        coder.code(b"a")


def test_dictionaries_are_read_with_their_nulls() -> None:
    coder = coder_of("string")
    values = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1]), pa.array([None, "b", "a"]))
    codes = coder.codes(values)
    assert codes[0] < codes[3]


def test_numbers_that_are_equal_are_taken() -> None:
    assert coder_of("bigint").code(3.0) == coder_of("bigint").code(Decimal(3)) == 3
    assert coder_of("double").code(3) == coder_of("double").code(3.0)
    assert coder_of("double").code(-0.0) == coder_of("double").code(0.0)
    assert coder_of("double").code(math.nan) > coder_of("double").code(math.inf)
