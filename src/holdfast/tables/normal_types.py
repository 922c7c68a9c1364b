"""Arrow types as Spark has them: one form of text, signed whole numbers, microseconds."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0)}


def normal_type(kind: pa.DataType) -> pa.DataType:
    """Returns the type that Spark has for values of an Arrow type; nested types stay as they are.

    Text in dictionaries stays in dictionaries.

    >>> normal_type(pa.uint16()), normal_type(pa.large_string()), normal_type(pa.timestamp("ms", "Asia/Tokyo"))
    (DataType(int32), DataType(string), TimestampType(timestamp[us, tz=UTC]))
    """
    if kind in _WIDER:
        return _WIDER[kind]
    if pa.types.is_dictionary(kind):
        values = normal_type(kind.value_type)
        return pa.dictionary(pa.int32(), values) if values == pa.string() else values
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_decimal(kind):
        whole = kind.precision - min(kind.scale, 0)
        return pa.decimal128(min(max(whole, kind.scale), 38), max(kind.scale, 0))
    return kind


def normal_columns(table: pa.Table) -> tuple[pa.Table, tuple[str, ...]]:
    """Returns the table with normal types, and a note for each column whose times were cut to microseconds."""
    notes: list[str] = []
    columns: list[pa.ChunkedArray] = []
    for field, column in zip(table.schema, table.columns, strict=True):
        normal = normal_type(field.type)
        if normal != field.type:
            try:
                column = _cast(column, normal)
            except pa.ArrowInvalid:
                if not (pa.types.is_timestamp(normal) or pa.types.is_duration(normal)):
                    raise
                column = pc.cast(column, normal, safe=False)
                notes.append(
                    f"column '{field.name}' holds times finer than a microsecond; they are cut to microseconds"
                )
        columns.append(column)
    fields = [pa.field(name, column.type) for name, column in zip(table.column_names, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields)), tuple(notes)


def _cast(column: pa.ChunkedArray, to: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type) and pa.types.is_dictionary(to):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary.cast(to.value_type))
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, to)
    return pc.cast(column, to)
