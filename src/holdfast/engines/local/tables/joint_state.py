"""Several tables as one table of a state, in this process. `engines/spark/states/joint_tables` is its twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.encode.one_array import decoded, one_array
from holdfast.encode.spark_text import spark_text
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.compile import TABLE
from holdfast.programs.form import Where
from holdfast.states.joint_layout import JointLayout
from holdfast.states.row_changes import AFTER, INSERT, LACKING
from holdfast.states.segment import as_typed
from holdfast.states.table_schema import arrow_schema, schema_as_seen
from holdfast.tables.local_table import LocalTable

# Where a change stands in its batch, and what it is.
_MARKS = ("ct", "o0", "o1", "o2")


def joined_table(tables: Mapping[str, LocalTable], layout: JointLayout) -> LocalTable:
    """The rows of all tables as one table."""
    parts = []
    for name, table in tables.items():
        types = {column.name: column.type for column in arrow_schema(layout.schemas[name])}
        own = as_typed(table.rows, types)
        parts.append(joint_rows(name, own.rename_columns([f"c{i}" for i in range(own.num_columns)]), layout))
    names = [column["name"] for column in layout.schema["fields"]]
    return LocalTable(pa.concat_tables(parts).rename_columns(names), ", ".join(tables))


def joint_rows(name: str, rows: pa.Table, layout: JointLayout, marks: Sequence[str] = ()) -> pa.Table:
    """Rows of one of the tables, by the places of its columns, as rows of all, and these other columns."""
    places = dict(zip(layout.places(name), range(rows.num_columns), strict=False))
    conditions, size = layout.condition_places(name), rows.num_rows
    named = rows.select([f"c{i}" for i in places.values()]).rename_columns(layout.own_names(name))
    own = TableColumns(named, schema_as_seen(layout.schemas[name], name).types, "sql")
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for i, column in enumerate(arrow_schema(layout.schema)):
        if i == 0:
            columns["c0"] = pa.repeat(name, size)
        elif i == 1:
            columns["c1"] = _key(rows, layout, name).cast(column.type)
        elif i in places:
            columns[f"c{i}"] = decoded(rows.column(f"c{places[i]}"))
        elif i in conditions:
            columns[f"c{i}"] = pa.array(flag_values(Where(conditions[i]), own))
        else:
            columns[f"c{i}"] = pa.nulls(size, column.type)
    return pa.table({**columns, **{mark: rows.column(mark) for mark in marks}})


def _key(rows: pa.Table, layout: JointLayout, name: str) -> pa.Array | pa.ChunkedArray:
    """The keys; as text, the values of several columns with commas between, which then have a backslash before."""
    parts = [decoded(rows.column(f"c{place}")) for place in layout.key_places(name)]
    if not layout.key_is_text:
        return parts[0]
    texts = [spark_text(one_array(part)) for part in parts]
    if len(texts) == 1:
        return texts[0]
    escaped = [pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), ",", "\\,") for text in texts]
    return pc.binary_join_element_wise(*escaped, ",")


def joined_changes(changes: Mapping[str, tuple[pa.Table, tuple[int, ...]]], layout: JointLayout) -> pa.Table:
    """The changes of all tables as changes of one; those of rows that come without all of their columns are marked."""
    parts = []
    for name, (rows, known) in changes.items():
        own = joint_rows(name, rows, layout, _MARKS)
        if len(known) < len(layout.schemas[name]["fields"]):
            kinds = own.column("ct").to_numpy()
            marked = np.where(np.isin(kinds, (INSERT, AFTER)), LACKING, kinds).astype(np.int32)
            own = own.set_column(own.column_names.index("ct"), "ct", pa.array(marked))
        parts.append(own)
    return pa.concat_tables(parts)


def tables_in(table: LocalTable, layout: JointLayout) -> dict[str, LocalTable]:
    """Each of the tables in the table of all."""
    of_table = table.rows.column(TABLE)
    tables = {}
    for name in layout.names:
        own = table.rows.filter(pc.equal(of_table, name)).select(layout.places(name))
        tables[name] = LocalTable(own.rename_columns(layout.own_names(name)), name)
    return tables
