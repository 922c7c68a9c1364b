"""Arrow columns as one array, and without dictionaries."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa

_Column = TypeVar("_Column", pa.ChunkedArray, pa.Array)


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Returns all chunks of the column as one array; dictionaries of chunks become one."""
    if isinstance(column, pa.Array):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def decoded(column: _Column) -> _Column:
    """Returns the column with values in place of places in a dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
