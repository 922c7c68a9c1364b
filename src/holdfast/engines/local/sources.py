"""Files, folders and tables in memory as tables of states in this process."""

from __future__ import annotations

import os
import zlib
from typing import Any

from holdfast.engines.states.state_engine import OpenedSource
from holdfast.states.table_schema import schema_json, sql_types
from holdfast.tables.csv_plan import csv_charset, csv_delimiter, plan_csv, python_encoding
from holdfast.tables.csv_sample import sample_files
from holdfast.tables.data_files import find_local_files
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_local import local_table_of, read_local
from holdfast.tables.read_options import ReadOptions
from holdfast.tables.source_failures import unreadable_file


def given_table(data: Any, options: ReadOptions) -> LocalTable:
    """The table of a file or folder, or of one of pandas, Polars, Arrow or DuckDB."""
    in_memory = None if isinstance(data, str | os.PathLike) else local_table_of(data)
    return read_local(data, options) if in_memory is None else in_memory


def open_source(data: str, options: ReadOptions) -> OpenedSource:
    """What a file or folder is. Of CSV files only a sample is read: what its values are is for the reader to say."""
    files = find_local_files(data, options.input_format)
    if files is None or files.format != "csv":
        table = read_local(data, options)
        kind = table.origin.kind if table.origin is not None else "table"
        return OpenedSource(table.name, kind, sql_types(schema_json(table.rows.schema)), table)
    delimiter, encoding = csv_delimiter(files, options), python_encoding(options)
    try:
        sample = sample_files(files.local, delimiter=delimiter, encoding=encoding, limits=options.sample)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable_file(files.name, error) from None
    plan = plan_csv(sample, files, options, charset=csv_charset(options.encoding), case_sensitive=False)
    return OpenedSource(files.name, "csv", dict.fromkeys(plan.names, "string"))


def read_table(data: str, options: ReadOptions) -> LocalTable:
    """The table in a file or folder."""
    return read_local(data, options)
