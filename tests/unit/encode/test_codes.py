"""Codes compare as the values do, for every type that Spark sends."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.encode.codes import compacted, dense_ids, shared_codes
from holdfast.reference import relation
from holdfast.rules.relation import EQ, LT

VALUES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text(max_size=3)),
    (pa.binary(), st.binary(max_size=3)),
    (pa.date32(), st.dates()),
    (pa.date64(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(dt.UTC))),
    (pa.duration("us"), st.timedeltas(dt.timedelta(-1000), dt.timedelta(1000))),
    (pa.decimal128(10, 2), st.integers(-(10**10) + 1, 10**10 - 1).map(lambda i: Decimal(i).scaleb(-2))),
    (pa.decimal128(38, 5), st.integers(-(10**27), 10**27).map(lambda i: Decimal(i).scaleb(-5))),
    (pa.decimal256(60, 5), st.integers(-(10**27), 10**27).map(lambda i: Decimal(i).scaleb(-5))),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda v: str(v) if isinstance(v, pa.DataType) else "")
@given(data=st.data())
def test_codes_compare_as_values_do_across_columns(kind: pa.DataType, values: Any, data: st.DataObject) -> None:
    columns = [data.draw(st.lists(values | st.none(), max_size=6)) for _ in range(2)]
    chunked = [pa.chunked_array([column[:2], column[2:]], type=kind) for column in columns]
    coded = shared_codes(chunked)
    flat = [
        (v, c, ok)
        for column, code in zip(columns, coded, strict=True)
        for v, c, ok in zip(column, code.codes, code.valid, strict=True)
    ]
    for a, a_code, a_valid in flat:
        assert a_valid == (a is not None)
        for b, b_code, b_valid in flat:
            if a_valid and b_valid:
                wanted = relation(a, b)
                assert (a_code == b_code) == (wanted == EQ)
                assert (a_code < b_code) == (wanted == LT)


def test_structs_compare_field_by_field() -> None:
    column = pa.chunked_array([[{"d": 1.0, "r": 1}, {"d": 1.0, "r": 0}, None, {"d": 0.5, "r": 9}]])
    (coded,) = shared_codes([column])
    assert list(np.argsort(coded.codes[[0, 1, 3]])) == [2, 1, 0]
    assert list(coded.valid) == [True, True, False, True]


def test_a_column_of_nulls_and_an_empty_column_have_codes() -> None:
    assert not shared_codes([pa.chunked_array([pa.nulls(3)])])[0].valid.any()
    assert len(shared_codes([pa.chunked_array([], type=pa.string())])[0]) == 0


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), st.integers(-2, 2)), max_size=8))
def test_dense_ids_are_equal_exactly_where_all_parts_are(rows: list[tuple[int, int]]) -> None:
    parts = [np.array([row[i] for row in rows], np.int64) for i in range(2)]
    ids = dense_ids(parts, len(rows))
    assert all((ids[i] == ids[j]) == (rows[i] == rows[j]) for i in range(len(rows)) for j in range(len(rows)))
    assert (compacted(parts[0]) >= 0).all()


MIXED = """
import datetime as dt, pyarrow as pa
from holdfast.encode.codes import comparable_codes
day = pa.chunked_array([pa.array([dt.date(2024, 1, 1)])])
noon = pa.chunked_array([pa.array([dt.datetime(2024, 1, 1, 12)])])
for a, b in ((day, noon), (noon, day)):
    x, y = comparable_codes([a, b])
    print(int(x.codes[0] < y.codes[0]), end=" ")
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_date_is_before_its_noon_whatever_the_order_of_sets(seed: int) -> None:
    env = {**os.environ, "PYTHONHASHSEED": str(seed)}
    ended = subprocess.run([sys.executable, "-c", MIXED], env=env, capture_output=True, text=True, check=False)
    assert ended.stdout == "1 0 ", ended.stderr
