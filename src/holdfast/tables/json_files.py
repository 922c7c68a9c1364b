"""JSON files as a table in this process, with the types that Spark infers from all values."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from holdfast.tables.arrow_arrays import arrow_array
from holdfast.tables.csv_plan import csv_charset
from holdfast.tables.csv_sample import open_file
from holdfast.tables.data_files import DataFiles, in_row_order
from holdfast.tables.partition_values import partition_columns
from holdfast.tables.read_options import Origin, ReadOptions
from holdfast.tables.source_failures import (
    ambiguous_columns,
    damaged_file,
    malformed_json,
    no_columns,
    unreadable_file,
)

_ARROW_FROM = 1 << 18  # bytes from which Arrow's reader is tried first
_LONG_NUMBER = re.compile(rb"[:\[,]\s*-?[0-9]{19,}\s*[,}\]]")
_INT64 = range(-(2**63), 2**63)
_DIGITS = 38


class _Number(str):
    """A number with a point or an exponent, as it is written."""


def read_json_files(files: DataFiles, options: ReadOptions, origin: Origin) -> pa.Table:
    """Returns the rows of all files; columns are in the order of their names, as Spark has them.

    A column of one type has that type, whole numbers and others together are doubles, and everything else is text, as
    it is written. Cost: for large files of plain lines Arrow's reader; otherwise some microseconds per row.
    """
    ordered = in_row_order(files.local)
    partitions = partition_columns(files)
    texts = {file: _text(file, options) for file in ordered}
    tables = _read_by_arrow(texts.values()) if not options.multiline else None
    if tables is None:
        tables = _read_by_python(texts, options, files.name, origin)
    parts = []
    for file, table in zip(ordered, tables, strict=True):
        for name, value in partitions[file].items():
            table = table.drop_columns([name]) if name in table.column_names else table
            table = table.append_column(name, pa.repeat(value, table.num_rows))
        parts.append(table)
    rows = pa.concat_tables(parts)
    if not rows.num_columns:
        raise no_columns(files.name)
    return rows


def _text(file: Path, options: ReadOptions) -> bytes:
    try:
        with open_file(file) as stream:
            data = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise damaged_file(file) or unreadable_file(file.name, error) from None
    if csv_charset(options.encoding) is not None and options.encoding is not None:
        data = data.decode(options.encoding, errors="replace").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def _read_by_arrow(texts: Iterable[bytes]) -> list[pa.Table] | None:
    """Returns a table per text by Arrow's reader; None where it may understand them otherwise than Spark."""
    tables = []
    for text in texts:
        if len(text) < _ARROW_FROM or _LONG_NUMBER.search(text):
            return None
        try:
            table = pa.json.read_json(pa.BufferReader(text))
            if any(_holds_times(field.type) for field in table.schema):
                # Arrow takes text such as '2024-01-05' for times.
                schema = pa.schema([pa.field(field.name, _without_times(field.type)) for field in table.schema])
                parse = pa.json.ParseOptions(explicit_schema=schema)
                table = pa.json.read_json(pa.BufferReader(text), parse_options=parse)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        fields = [pa.field(name, _sorted_type(table.schema.field(name).type)) for name in sorted(table.column_names)]
        if len({field.name.lower() for field in fields}) < len(fields) or any(f.type is None for f in fields):
            return None
        tables.append(table.select([field.name for field in fields]).cast(pa.schema(fields)))
    return tables if len({table.schema for table in tables}) == 1 else None


def _holds_times(kind: pa.DataType) -> bool:
    return bool(_without_times(kind) != kind)


def _without_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _without_times(field.type)) for field in kind.fields])
    return pa.list_(_without_times(kind.value_type)) if pa.types.is_list(kind) else kind


def _sorted_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        fields = [pa.field(field.name, _sorted_type(field.type)) for field in kind.fields]
        return pa.struct(sorted(fields, key=lambda field: field.name))
    return pa.list_(_sorted_type(kind.value_type)) if pa.types.is_list(kind) else kind


def _read_by_python(texts: dict[Path, bytes], options: ReadOptions, name: str, origin: Origin) -> list[pa.Table]:
    try:
        rows = {file: list(_rows(text, options, json.JSONDecoder())) for file, text in texts.items()}
        kind = None
        for values in rows.values():
            for value in values:
                kind = _merged(kind, _inferred(value))
        if _has_mixed(kind):
            # What becomes text is shown as it is written: 1.50 is not 1.5.
            decoder = json.JSONDecoder(parse_float=_Number)
            rows = {file: list(_rows(text, options, decoder)) for file, text in texts.items()}
    except (ValueError, _NotRows):
        raise malformed_json(name, origin) from None
    schema = _arrow_schema(kind, name)
    tables = []
    for values in rows.values():
        columns = [arrow_array([_fitted(row.get(f.name), f.type) for row in values], f.type) for f in schema]
        tables.append(pa.table(columns, schema=schema))
    return tables


class _NotRows(Exception):
    """A value is neither an object nor an array of objects."""


def _rows(text: bytes, options: ReadOptions, decoder: json.JSONDecoder) -> Iterator[dict[str, Any]]:
    decoded = text.decode(errors="replace")
    # A text stream cuts lines at line feeds and returns only, as Spark does.
    pieces: Iterable[str] = [decoded] if options.multiline else io.StringIO(decoded, newline=None)
    for piece in pieces:
        stripped = piece.strip(" \t\r\n")
        if not stripped:
            continue
        value, _ = decoder.raw_decode(stripped)
        for row in value if isinstance(value, list) else [value]:
            if not isinstance(row, dict):
                raise _NotRows
            yield row


# An inferred type is None (nothing but null), a name, a decimal's digits, a list of one type, or a dict of fields.
_Inferred = Any


def _inferred(value: Any) -> _Inferred:
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        if value in _INT64:
            return "bigint"
        digits = len(str(abs(value)))
        return digits if digits <= _DIGITS else "double"
    if isinstance(value, float):
        return "double"
    if isinstance(value, dict):
        return {name: _inferred(inside) for name, inside in value.items()}
    if isinstance(value, list):
        inside: _Inferred = None
        for item in value:
            inside = _merged(inside, _inferred(item))
        return [inside]
    return "string"


def _merged(a: _Inferred, b: _Inferred) -> _Inferred:
    if a is None or a == b:
        return b
    if b is None:
        return a
    if isinstance(a, dict) and isinstance(b, dict):
        return {**a, **{name: _merged(a.get(name), kind) for name, kind in b.items()}}
    if isinstance(a, list) and isinstance(b, list):
        return [_merged(a[0], b[0])]
    numbers = {"bigint", "double"}
    if {type(a), type(b)} == {int}:
        return max(a, b)
    if isinstance(a, int) or isinstance(b, int):
        digits, other = (a, b) if isinstance(a, int) else (b, a)
        return max(digits, 20) if other == "bigint" else "double" if other == "double" else "mixed"
    return "double" if {a if isinstance(a, str) else "", b if isinstance(b, str) else ""} == numbers else "mixed"


def _has_mixed(kind: _Inferred) -> bool:
    if isinstance(kind, dict):
        return any(_has_mixed(inside) for inside in kind.values())
    return kind == "mixed" or (isinstance(kind, list) and _has_mixed(kind[0]))


def _arrow_schema(kind: _Inferred, name: str) -> pa.Schema:
    fields = []
    folded: set[str] = set()
    for column in sorted(kind or {}):
        if column.lower() in folded:
            raise ambiguous_columns(name, column.lower())
        folded.add(column.lower())
        if (type := _arrow_type(kind[column])) is not None:
            fields.append(pa.field(column, type))
    return pa.schema(fields)


def _arrow_type(kind: _Inferred) -> pa.DataType | None:
    """Returns the Arrow type; None for objects without a field, which Spark leaves out."""
    if isinstance(kind, dict):
        inside = [(name, _arrow_type(kind[name])) for name in sorted(kind)]
        fields = [pa.field(name, type) for name, type in inside if type is not None]
        return pa.struct(fields) if fields else None
    if isinstance(kind, list):
        item = _arrow_type(kind[0])
        return None if item is None else pa.list_(item)
    if isinstance(kind, int):
        return pa.decimal128(kind, 0)
    return {"boolean": pa.bool_(), "bigint": pa.int64(), "double": pa.float64()}.get(kind, pa.string())


def _fitted(value: Any, kind: pa.DataType) -> Any:
    """Returns the value as one of the type."""
    if value is None:
        return None
    if pa.types.is_string(kind):
        return value if type(value) is str else _as_written(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_struct(kind):
        return {field.name: _fitted(value.get(field.name), field.type) for field in kind.fields}
    if pa.types.is_list(kind):
        return [_fitted(item, kind.value_type) for item in value]
    return value


def _as_written(value: Any) -> str:
    """Returns JSON as Spark writes it where it becomes text."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_as_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_as_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
