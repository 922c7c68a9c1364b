"""A row is named by its key, or by the text of it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from holdfast.errors import OptionError
from holdfast.explaining.row_positions import row_positions


def positions(values: Any, kind: pa.DataType, row: Any) -> list[int]:
    return row_positions(pa.chunked_array([pa.array(values, kind)]), ("k",), row).tolist()


@pytest.mark.parametrize(
    ("kind", "values", "row", "expected"),
    [
        (pa.int64(), [7, 8, 9], 8, [1]),
        (pa.int64(), [7, 8, 9], " 8 ", [1]),
        (pa.int64(), [7, 8, 9], 8.0, [1]),
        (pa.int64(), [7, 8, 9], "8.5", []),
        (pa.int64(), [7, 8, 9], "here", []),
        (pa.int64(), [7, 8, 9], None, []),
        (pa.int32(), [7], str(2**40), []),
        (pa.int32(), [7], 2**40, []),
        (pa.string(), ["a", "0131", "b"], "0131", [1]),
        (pa.dictionary(pa.int32(), pa.string()), ["a", "b"], "b", [1]),
        (pa.float64(), [0.5, float("nan"), None], "NaN", [1]),
        (pa.float64(), [0.5, 1e10], "1.0E10", [1]),
        (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.00")], "1.5", [0]),
        (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.00")], 2, [1]),
        (pa.decimal128(10, 2), [Decimal("1.50")], 1.5, [0]),
        (pa.bool_(), [True, False], "no", [1]),
        (pa.date32(), [dt.date(2024, 1, 31)], "2024-1-31", [0]),
        (pa.date32(), [dt.date(2024, 1, 31)], dt.date(2024, 1, 31), [0]),
        (pa.timestamp("us"), [dt.datetime(2024, 1, 31, 12)], "2024-01-31 12:00:00", [0]),
        (pa.timestamp("us", "UTC"), [dt.datetime(2024, 1, 31, 12)], "2024-01-31 13:00:00+01:00", [0]),
        (pa.binary(), [b"a", b"b"], "b", [1]),
    ],
)
def test_a_value_or_its_text_names_a_row(kind: pa.DataType, values: Any, row: Any, expected: list[int]) -> None:
    assert positions(values, kind, row) == expected


@pytest.mark.parametrize("row", ["SO-1,02139", '["SO-1", "02139"]', ["SO-1", "02139"], ("SO-1", "02139")])
def test_a_key_of_several_columns_is_a_list_or_text_with_commas(row: Any) -> None:
    orders, zips = pa.array(["SO-1", "SO-1", "SO-2"]), pa.array(["02138", "02139", "02139"])
    keys = pa.chunked_array([pa.StructArray.from_arrays([orders, zips], names=["order", "zip"])])
    assert row_positions(keys, ("order", "zip"), row).tolist() == [1]


@pytest.mark.parametrize("row", ["SO-1", "[broken", ["SO-1"], 7])
def test_a_key_with_too_few_values_is_refused(row: Any) -> None:
    keys = pa.chunked_array([pa.StructArray.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["x", "y z"])])
    with pytest.raises(OptionError, match=r'the key has 2 columns \(x, "y z"\)'):
        row_positions(keys, ("x", "y z"), row)
