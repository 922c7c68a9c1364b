"""Parquet, ORC and Arrow files as a table in this process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from holdfast.encode.arrow_column_type import arrow_sql_type
from holdfast.tables.data_files import DataFiles, in_row_order
from holdfast.tables.normal_types import normal_columns, normal_type
from holdfast.tables.partition_values import partition_columns
from holdfast.tables.source_failures import ambiguous_columns, different_types, no_columns, wrong_format

# Bytes per value below which a column of text is read as a dictionary: others have more distinct texts than that helps.
_DICTIONARY_BYTES = 4


class _File(Protocol):
    """A file that is open: its schema, as Spark sees it, and some of its columns."""

    schema: pa.Schema

    def read(self, columns: Sequence[str]) -> pa.Table: ...


def read_column_files(files: DataFiles, columns: Collection[str] | None) -> tuple[pa.Table, tuple[str, ...]]:
    """Returns the rows of all files and notes; of other columns than `columns` only those that cost nothing.

    A column that one file lacks is null there; of one that files have with different types SourceError is raised.
    """
    partitions = partition_columns(files)
    opened: list[tuple[_File, dict[str, pa.Scalar]]] = []
    for file in in_row_order(files.local):
        if file.stat().st_size or len(files.local) == 1:
            opened.append((_open(file, files), partitions[file]))
    schema = _merged([source.schema for source, _ in opened], files.name)
    folders = {column: value.type for _, values in opened for column, value in values.items()}
    stored = [field for field in schema if field.name not in folders]
    # Without a column a table has no rows: one is read where none is needed.
    wanted = [field for field in stored if columns is None or field.name in columns] or stored[:1]
    notes: list[str] = []
    tables: list[pa.Table] = []
    for source, values in opened:
        own = [field.name for field in wanted if field.name in source.schema.names]
        rows, cut = normal_columns(_as_spark(source.read(own), source.schema))
        notes += [note for note in cut if note not in notes]
        arrays: dict[str, pa.ChunkedArray] = {}
        for field in wanted:
            column = rows.column(field.name) if field.name in own else pa.nulls(rows.num_rows, field.type)
            decimal = pa.types.is_decimal(field.type) and column.type != field.type
            arrays[field.name] = pc.cast(column, field.type) if decimal else column
        for name, kind in folders.items():
            value = values.get(name)
            arrays[name] = pa.nulls(rows.num_rows, kind) if value is None else pa.repeat(value, rows.num_rows)
        tables.append(pa.table(arrays) if arrays else rows)
    return _together(tables), tuple(notes)


def _open(file: Path, files: DataFiles) -> _File:
    try:
        if files.format == "parquet":
            return _ParquetFile(file)
        return _OrcFile(file) if files.format == "orc" else _ArrowFile(file)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        ended = any(sign in str(error) for sign in ("magic bytes", "postscript", "Not an ORC file"))
        trouble = "it does not end as one does" if ended else str(error).splitlines()[0].rstrip(".")
        raise wrong_format(file.name, files.format, trouble) from None


class _ParquetFile:
    def __init__(self, file: Path) -> None:
        import pyarrow.parquet as pq

        metadata = pq.read_metadata(file)
        coded = _coded_columns(metadata)
        self._file = pq.ParquetFile(
            file, metadata=metadata, read_dictionary=coded, coerce_int96_timestamp_unit="us", memory_map=True
        )
        old_times = {
            metadata.schema.column(i).path
            for i in range(metadata.num_columns)
            if metadata.schema.column(i).physical_type == "INT96"
        }
        self.schema = pa.schema([_spark_field(field, old_times) for field in self._file.schema_arrow])

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self._file.read(columns=list(columns))


class _OrcFile:
    def __init__(self, file: Path) -> None:
        from pyarrow import orc

        self._file = orc.ORCFile(file)
        # Spark reads every time in ORC as one with a zone.
        self.schema = pa.schema([_spark_field(field, {field.name}) for field in self._file.schema])

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self._file.read(columns=list(columns))


class _ArrowFile:
    def __init__(self, file: Path) -> None:
        source = pa.memory_map(str(file))
        self._stream = source.read(6) != b"ARROW1"
        source.seek(0)
        self._source = source
        self._file = pa.ipc.open_stream(source) if self._stream else pa.ipc.open_file(source)
        self.schema = pa.schema([pa.field(field.name, normal_type(field.type)) for field in self._file.schema])

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self._file.read_all().select(list(columns))


def _coded_columns(metadata: object) -> list[str]:
    """Returns the columns of text in Parquet with few distinct values, by the size they take."""
    size: dict[str, list[int]] = {}
    for group in range(metadata.num_row_groups):  # type: ignore[attr-defined]
        for i in range(metadata.num_columns):  # type: ignore[attr-defined]
            chunk = metadata.row_group(group).column(i)  # type: ignore[attr-defined]
            if chunk.physical_type == "BYTE_ARRAY":
                total = size.setdefault(chunk.path_in_schema, [0, 0])
                total[0] += chunk.total_uncompressed_size if chunk.has_dictionary_page else 1 << 40
                total[1] += chunk.num_values
    return [name for name, (bytes, values) in size.items() if bytes < _DICTIONARY_BYTES * values and "." not in name]


def _spark_field(field: pa.Field, instants: set[str]) -> pa.Field:
    """Returns the field with the type that Spark gives it; times of the columns `instants` have a zone."""
    kind = field.type
    if pa.types.is_duration(kind):
        return pa.field(field.name, pa.int64())  # to Spark the file holds numbers
    if pa.types.is_timestamp(kind) and field.name in instants:
        return pa.field(field.name, pa.timestamp("us", "UTC"))
    return pa.field(field.name, normal_type(kind))


def _as_spark(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Returns the rows with numbers in the place of durations, and times in a zone where the schema has one."""
    for i, field in enumerate(rows.schema):
        wanted = schema.field(field.name).type
        if pa.types.is_duration(field.type) and wanted == pa.int64():
            rows = rows.set_column(i, field.name, pc.cast(rows.column(i), pa.int64()))
        elif pa.types.is_timestamp(field.type) and field.type.tz is None and getattr(wanted, "tz", None):
            rows = rows.set_column(i, field.name, pc.assume_timezone(rows.column(i), "UTC"))
    return rows


def _merged(schemas: Sequence[pa.Schema], name: str) -> pa.Schema:
    """Returns the columns of all schemas, in the order in which they come."""
    merged: dict[str, pa.Field] = {}
    for schema in schemas:
        folded: set[str] = set()
        for field in schema:
            if field.name.lower() in folded:
                raise ambiguous_columns(name, field.name.lower())
            folded.add(field.name.lower())
            known = merged.setdefault(field.name.lower(), field)
            merged[field.name.lower()] = pa.field(known.name, _common_type(known.type, field.type, name))
    if not merged:
        raise no_columns(name)
    return pa.schema(list(merged.values()))


def _common_type(a: pa.DataType, b: pa.DataType, name: str) -> pa.DataType:
    if pa.types.is_dictionary(a) and pa.types.is_string(b):
        return a
    if pa.types.is_string(a) and pa.types.is_dictionary(b):
        return b
    if pa.types.is_decimal(a) and pa.types.is_decimal(b) and a.scale == b.scale:
        return a if a.precision >= b.precision else b
    if arrow_sql_type(a) == arrow_sql_type(b):
        return a
    types = " and ".join(f'"{arrow_sql_type(kind).upper()}"' for kind in (a, b))
    raise different_types(name, f"Failed to merge incompatible data types {types}")


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """Returns the rows of all tables; text is in a dictionary where it is in one in all tables."""
    if len(tables) == 1:
        return tables[0].unify_dictionaries()
    plain = []
    for table in tables:
        for i, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type) and not all(
                pa.types.is_dictionary(other.schema.field(i).type) for other in tables
            ):
                table = table.set_column(i, field.name, pc.cast(table.column(i), field.type.value_type))
        plain.append(table)
    return pa.concat_tables(plain).unify_dictionaries()
