"""Tables that are in memory already, of whichever library, as Arrow; none of these libraries is imported."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from holdfast.errors import SourceError
from holdfast.tables.local_table import LocalTable
from holdfast.tables.normal_types import normal_columns
from holdfast.tables.source_failures import ambiguous_columns

_NAME = "DataFrame"


def local_table_of(data: Any) -> LocalTable | None:
    """Returns a table in memory: Arrow, pandas, Polars, DuckDB, or what gives Arrow by `__arrow_c_stream__`.

    None for anything else, such as a DataFrame of Spark. In pandas, NaN means that there is no value.
    """
    table = _as_arrow(data)
    if table is None:
        return None
    folded: set[str] = set()
    for column in table.column_names:
        if column.lower() in folded:
            raise ambiguous_columns(_NAME, column)
        folded.add(column.lower())
    try:
        rows, notes = normal_columns(table)
    except pa.ArrowInvalid as error:
        raise SourceError(f"{_NAME} holds values that no type of Spark can hold: {error}.") from None
    return LocalTable(rows, _NAME, notes)


def _as_arrow(data: Any) -> pa.Table | None:
    library = type(data).__module__.partition(".")[0]
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if library == "pyspark":
        return None
    if library == "pandas" and hasattr(data, "columns"):
        return _from_pandas(data)
    if library == "polars" and hasattr(data, "collect_schema") and hasattr(data, "collect"):
        data = data.collect()
    if library == "polars" and hasattr(data, "to_arrow") and hasattr(data, "columns"):
        return data.to_arrow()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data) if not isinstance(data, pa.RecordBatchReader) else data.read_all()
    for method in ("to_arrow_table", "fetch_arrow_table"):
        if library in ("duckdb", "_duckdb") and hasattr(data, method):
            return getattr(data, method)()
    return None


def _from_pandas(data: Any) -> pa.Table:
    try:
        table = pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError) as error:
        arrow = isinstance(error, pa.ArrowException)
        trouble = " ".join(str(part) for part in error.args) if arrow else str(error)
        raise SourceError(
            f"{_NAME} has a column whose values are not of one type: {trouble}.",
            hint="give the column one type, such as with astype(str).",
        ) from None
    return table.replace_schema_metadata(None)
