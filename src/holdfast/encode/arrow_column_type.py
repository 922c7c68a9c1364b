"""Column types of Arrow columns."""

from __future__ import annotations

import pyarrow as pa

from holdfast.encode.column_type import VOID, ColumnType, column_type


def arrow_column_type(kind: pa.DataType) -> ColumnType:
    """Returns the column type for an Arrow type, with Spark's name.

    >>> str(arrow_column_type(pa.timestamp("us"))), arrow_column_type(pa.int16()).family
    ('timestamp_ntz', 'integer')
    """
    if pa.types.is_dictionary(kind):
        return arrow_column_type(kind.value_type)
    if pa.types.is_null(kind):
        return VOID
    if pa.types.is_boolean(kind):
        return column_type("boolean")
    if pa.types.is_integer(kind):
        return column_type("bigint")
    if pa.types.is_floating(kind):
        return column_type("float" if kind.bit_width == 32 else "double")
    if pa.types.is_decimal(kind):
        return column_type(f"decimal({min(kind.precision, 38)},{min(max(kind.scale, 0), 38)})")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column_type("string")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return column_type("binary")
    if pa.types.is_date(kind):
        return column_type("date")
    if pa.types.is_timestamp(kind):
        return column_type("timestamp_ntz" if kind.tz is None else "timestamp")
    if pa.types.is_duration(kind):
        return column_type("interval day to second")
    return ColumnType(str(kind), "other")
