"""Column types of Arrow columns."""

from __future__ import annotations

import re

import pyarrow as pa

from holdfast.encode.column_type import ColumnType, column_type

# Spark's names of types without parameters, and how such Arrow types are told.
_NAMES = {
    "void": (pa.types.is_null,),
    "boolean": (pa.types.is_boolean,),
    "bigint": (pa.types.is_integer,),
    "string": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "binary": (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
    "date": (pa.types.is_date,),
    "interval day to second": (pa.types.is_duration,),
}
_ARROW_TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "interval day to second": pa.duration("us"),
    "void": pa.null(),
}


def arrow_type_of(sql: str) -> pa.DataType:
    """Returns the Arrow type of values of a type that is not nested, by Spark's name of it. KeyError for others.

    >>> arrow_type_of("decimal(10,2)"), arrow_type_of("int")
    (Decimal128Type(decimal128(10, 2)), DataType(int32))
    """
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", sql):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return _ARROW_TYPES[sql]


def arrow_column_type(kind: pa.DataType) -> ColumnType:
    """Returns the column type for an Arrow type, with Spark's name.

    >>> str(arrow_column_type(pa.timestamp("us"))), arrow_column_type(pa.int16()).family
    ('timestamp_ntz', 'integer')
    """
    if pa.types.is_dictionary(kind):
        return arrow_column_type(kind.value_type)
    if pa.types.is_floating(kind):
        return column_type("float" if kind.bit_width == 32 else "double")
    if pa.types.is_decimal(kind):
        return column_type(f"decimal({min(kind.precision, 38)},{min(max(kind.scale, 0), 38)})")
    if pa.types.is_timestamp(kind):
        return column_type("timestamp_ntz" if kind.tz is None else "timestamp")
    name = next((name for name, tests in _NAMES.items() if any(test(kind) for test in tests)), None)
    return ColumnType(str(kind), "other") if name is None else column_type(name)


def arrow_sql_type(kind: pa.DataType) -> str:
    """Returns Spark's name of an Arrow type, with the width of whole numbers and with what is inside of nested types.

    >>> arrow_sql_type(pa.int16()), arrow_sql_type(pa.list_(pa.struct([("a", pa.int32())])))
    ('smallint', 'array<struct<a:int>>')
    """
    if pa.types.is_dictionary(kind):
        return arrow_sql_type(kind.value_type)
    if pa.types.is_signed_integer(kind):
        return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[kind.bit_width]
    if pa.types.is_struct(kind):
        fields = ",".join(f"{field.name}:{arrow_sql_type(field.type)}" for field in kind.fields)
        return f"struct<{fields}>"
    if pa.types.is_map(kind):
        return f"map<{arrow_sql_type(kind.key_type)},{arrow_sql_type(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"array<{arrow_sql_type(kind.value_type)}>"
    if pa.types.is_time(kind):
        return "time(6)"
    return arrow_column_type(kind).sql
