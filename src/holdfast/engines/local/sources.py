"""Files and folders as tables in this process."""

from __future__ import annotations

from holdfast.engines.states.state_engine import OpenedSource
from holdfast.states.table_schema import schema_json, sql_types
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_local import read_local
from holdfast.tables.read_options import ReadOptions


def open_source(data: str, options: ReadOptions) -> OpenedSource:
    """What a file or folder is."""
    table = read_local(data, options)
    kind = table.origin.kind if table.origin is not None else "table"
    return OpenedSource(table.name, kind, sql_types(schema_json(table.rows.schema)), table)


def read_table(data: str, options: ReadOptions) -> LocalTable:
    """The table in a file or folder."""
    return read_local(data, options)
