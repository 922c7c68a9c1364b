"""Reads files as a table in this process; types, values, notes and errors are those of the reader on Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from holdfast.encode.arrow_column_type import arrow_sql_type
from holdfast.errors import HoldfastError, OptionError
from holdfast.tables.checked_columns import checked_column
from holdfast.tables.checked_conversion import can_convert, checked_conversion
from holdfast.tables.column_files import read_column_files
from holdfast.tables.csv_file import read_csv_files
from holdfast.tables.csv_plan import column_types
from holdfast.tables.csv_types import CsvType
from holdfast.tables.data_files import DataFiles, find_local_files, has_scheme, is_delta, is_iceberg, missing_data
from holdfast.tables.excel_file import read_excel_files
from holdfast.tables.iceberg_table import open_iceberg
from holdfast.tables.json_files import read_json_files
from holdfast.tables.local_table import LocalTable
from holdfast.tables.memory_table import local_table_of
from holdfast.tables.read_options import Origin, ReadOptions
from holdfast.tables.source_failures import (
    MOST_SHOWN,
    impossible_types,
    refuse_csv_options,
    refuse_empty_file,
    unfit_value,
)

__all__ = ["bytes_on_disk", "local_table_of", "read_local"]

_NO_OPTIONS = ReadOptions()


def read_local(
    data: str | os.PathLike[str], options: ReadOptions = _NO_OPTIONS, *, columns: Collection[str] | None = None
) -> LocalTable:
    """Returns the table of a file, a folder or a pattern, with all rows in the order of their numbers.

    Only `columns` need be read: of formats that store columns apart, the others are left out. Raises SourceError for
    the first value or row that is wrong, and SourceNotFoundError where there is nothing.
    """
    name = os.fspath(data)
    if options.input_format is None and is_iceberg(name):
        return _read_iceberg(name, options, columns)
    if name.startswith(("spark:", "jdbc:")) or (options.input_format is None and is_delta(name)):
        raise _only_spark(name)
    files = _find(name, options)
    if files is None:
        raise _only_spark(name) if has_scheme(name) and not name.startswith("file:") else missing_data(name)
    if files.format == "csv":
        return read_csv_files(files, options)
    refuse_csv_options(options, files.name, files.format)
    refuse_empty_file(files)
    origin = Origin(files.format, local=files.local)
    notes: tuple[str, ...] = ()
    if files.format == "json":
        rows = read_json_files(files, options, origin)
    elif files.format == "excel":
        rows, notes = read_excel_files(files)
    else:
        rows, notes = read_column_files(files, _needed(columns, options))
    return _with_types(rows, files.name, options, origin, files.notes + notes)


def bytes_on_disk(data: str | os.PathLike[str], options: ReadOptions = _NO_OPTIONS) -> int | None:
    """Returns how many bytes the local files of `data` have; None where `data` is not local files, or is wrong."""
    name = os.fspath(data)
    if name.startswith(("spark:", "jdbc:")) or (options.input_format is None and is_delta(name)):
        return None
    try:
        files = _find(name, options)
        return None if files is None else sum(file.stat().st_size for file in files.local)
    except (HoldfastError, OSError):
        return None


def _read_iceberg(name: str, options: ReadOptions, columns: Collection[str] | None) -> LocalTable:
    table = open_iceberg(name)
    refuse_csv_options(options, table.name, "an Iceberg table")
    rows, notes = table.rows(_needed(columns, options))
    origin = Origin("iceberg", feed={table.feed: table.version})
    note = f"{table.name} is read as of version {table.version} of the Iceberg table"
    return _with_types(rows, table.name, options, origin, (note, *notes))


def _find(name: str, options: ReadOptions) -> DataFiles | None:
    # file:/x, file:///x and /x are one path, unless a file is really called so.
    plain = re.sub("^file:/*", "/", name) if name.startswith("file:/") and not os.path.lexists(name) else name
    return find_local_files(plain, options.input_format)


def _only_spark(name: str) -> OptionError:
    return OptionError(f"{name} can be read by Spark only.", hint="read it with --engine spark.")


def _needed(columns: Collection[str] | None, options: ReadOptions) -> Collection[str] | None:
    # A name in --types that no column has is an error, also where few columns are read: all must be known then.
    return None if options.types else columns


def _with_types(rows: pa.Table, name: str, options: ReadOptions, origin: Origin, notes: tuple[str, ...]) -> LocalTable:
    """Returns the table with checked casts for the columns in `types`; other columns stay as they are."""
    given = column_types(options.types, rows.column_names, name)
    if not given:
        return LocalTable(rows, name, notes, origin)
    names = tuple(rows.column_names)
    types: tuple[CsvType | None, ...] = tuple(given.get(column) for column in names)
    sources = [arrow_sql_type(field.type) for field in rows.schema]
    origin = replace(origin, columns=names, types=types)
    for i, type in enumerate(types):
        if type is not None and not can_convert(rows.schema.field(i).type, type):
            trouble = f'cannot cast "{_shown_type(rows.schema.field(i).type)}" to "{type.sql.upper()}"'
            raise impossible_types(name, given, trouble, names, sources)
    first: tuple[int, int, str] | None = None
    columns: list[pa.ChunkedArray] = []
    for i, type in enumerate(types):
        column = rows.column(i)
        if type is None:
            columns.append(column)
            continue
        if sources[i] == "string" and type.kind != "text":
            text = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            typed, unfit = checked_column(text, type)
        else:
            typed, unfit = checked_conversion(column, type)
        columns.append(typed)
        if unfit is not None and (first is None or unfit.row < first[0]):
            first = (unfit.row, i, unfit.value)
    if first is not None:
        raise unfit_value(name, origin, first[1], first[2][:MOST_SHOWN])
    return LocalTable(_table(names, columns), name, notes, origin)


def _shown_type(kind: pa.DataType) -> str:
    """Returns the type as Spark's messages write it."""
    if pa.types.is_struct(kind):
        return "STRUCT<" + ", ".join(f"{field.name}: {_shown_type(field.type)}" for field in kind.fields) + ">"
    if pa.types.is_map(kind):
        return f"MAP<{_shown_type(kind.key_type)}, {_shown_type(kind.item_type)}>"
    return f"ARRAY<{_shown_type(kind.value_type)}>" if pa.types.is_list(kind) else arrow_sql_type(kind).upper()


def _table(names: tuple[str, ...], columns: list[pa.ChunkedArray]) -> pa.Table:
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields))
