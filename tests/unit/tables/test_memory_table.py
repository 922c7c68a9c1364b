"""Tables of other libraries become Arrow tables; what is no table in memory is left to others."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from holdfast.errors import SourceError
from holdfast.tables.memory_table import local_table_of

PLAIN = pa.table({"a": [1, 2], "b": ["x", None]})


def test_arrow_tables_and_batches_are_taken_as_they_are() -> None:
    for data in (PLAIN, PLAIN.to_batches()[0], PLAIN.to_reader()):
        table = local_table_of(data)
        assert table is not None
        assert table.rows.equals(PLAIN)
        assert (table.name, table.notes, table.place) == ("DataFrame", (), None)


def test_pandas_frames_lose_their_index_and_nan_is_no_value() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, float("nan")], "b": ["x", None]}, index=[7, 8])
    table = local_table_of(frame)
    assert table is not None
    assert table.rows.to_pydict() == {"a": [1.5, None], "b": ["x", None]}
    with pytest.raises(SourceError, match="not of one type"):
        local_table_of(pandas.DataFrame({"a": [1, "x"]}))


def test_polars_frames_are_taken_eager_and_lazy() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "b": ["x", None], "c": polars.Series(["u", "v"], dtype=polars.Categorical)})
    for data in (frame, frame.lazy()):
        table = local_table_of(data)
        assert table is not None
        assert table.sql_types == {"a": "bigint", "b": "string", "c": "string"}
        assert table.rows.column("b").to_pylist() == ["x", None]


def test_duckdb_relations_are_taken() -> None:
    duckdb = pytest.importorskip("duckdb")
    table = local_table_of(duckdb.sql("SELECT 1::TINYINT AS a, 'x' AS b, 1.50::DECIMAL(5,2) AS c"))
    assert table is not None
    assert table.sql_types == {"a": "tinyint", "b": "string", "c": "decimal(5,2)"}


def test_what_is_no_table_is_left_to_others() -> None:
    for data in (None, "t.csv", [1, 2], {"a": [1]}, 5):
        assert local_table_of(data) is None


def test_times_finer_than_a_microsecond_are_cut_and_a_note_says_so() -> None:
    at = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns"))
    table = local_table_of(pa.table({"at": at, "day": pa.array([datetime(2024, 1, 5)], pa.timestamp("ns", "UTC"))}))
    assert table is not None
    assert table.rows.schema.types == [pa.timestamp("us"), pa.timestamp("us", "UTC")]
    assert table.notes == ("column 'at' holds times finer than a microsecond; they are cut to microseconds",)


def test_columns_of_one_name_are_refused() -> None:
    with pytest.raises(SourceError, match="upper and lower case"):
        local_table_of(pa.table([pa.array([1]), pa.array([2])], names=["a", "A"]))


@pytest.mark.parametrize("value", ["\ud800", Decimal("Infinity")], ids=ascii)
def test_values_that_arrow_cannot_hold_are_refused(value: object) -> None:
    with pytest.raises(SourceError, match="not of one type"):
        local_table_of(pytest.importorskip("pandas").DataFrame({"a": [value]}))
