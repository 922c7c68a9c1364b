"""Rows of several tables as they arrive at a task: each in a struct of its own table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.engines.tables.struct_rows import OF_TABLE, row_name


def arrived_rows(rows: pa.Table, table: int, columns: Sequence[str]) -> pa.Table:
    """Returns the rows of the table with this number, whose columns come as `c0`, ..., under their own names; beside
    them, as the last column, their key `k` where rows come with one."""
    own = rows.filter(pc.equal(rows.column(OF_TABLE), table)).column(row_name(table)).combine_chunks()
    values = dict(zip((own.type.field(i).name for i in range(own.type.num_fields)), own.flatten(), strict=True))
    names = [*(f"c{i}" for i in range(len(columns))), *(["k"] if "k" in values else [])]
    return pa.Table.from_arrays([values[name] for name in names], names=[*columns, *names[len(columns) :]])
