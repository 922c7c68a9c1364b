"""The rows of several tables in this process: each with its names and order, and those of two together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.codes import shared_codes
from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import decoded, one_array
from holdfast.encode.spark_text import spark_text
from holdfast.engines.check_result import plain_key
from holdfast.engines.local.check import plain_value, schema_of
from holdfast.engines.tables.parts import TableRows
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.compile import TABLE
from holdfast.rules.predicate import joint_name
from holdfast.rules.rule import Nulls
from holdfast.states.segment import key_of
from holdfast.tables.local_table import LocalTable

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CheckedTable:
    """One of the tables of a check: its rows, and how they are named and ordered."""

    name: str
    table: LocalTable
    key: tuple[str, ...]
    hidden: frozenset[str]

    @property
    def named(self) -> TableRows:
        rows = self.table.rows
        return TableRows(self.name, rows.num_rows, tuple(rows.column_names), self.key, self.hidden)

    @cached_property
    def keys(self) -> pa.ChunkedArray:
        rows = self.table.rows
        if not self.key:
            return pa.chunked_array([pa.array(np.arange(rows.num_rows))])
        return key_of(pa.table({name: decoded(rows.column(name)) for name in self.key}), self.key, self.key)

    @cached_property
    def order(self) -> Ints:
        return shared_codes([self.keys])[0].codes

    def key_at(self, position: int) -> Any:
        """The key of a row as Python values."""
        return plain_key(plain_value(self.keys[position]))

    @cached_property
    def key_texts(self) -> pa.Array:
        """The keys as text."""
        return key_texts(one_array(self.keys))

    def joint_columns(self, types: Mapping[str, ColumnType], nulls: Nulls) -> TableColumns:
        """The columns under their joint names, those of `types` as these types, by which the rules were compiled."""
        own, rows = schema_of(self.table).types, self.table.rows
        renamed = rows.rename_columns([joint_name(self.name, column) for column in rows.column_names])
        joint = {joint_name(self.name, column): kind for column, kind in own.items()}
        return TableColumns(renamed, {**joint, **types}, nulls)


def key_texts(keys: pa.Array) -> pa.Array:
    """Keys as text; of several columns, their values with commas between."""
    if not pa.types.is_struct(keys.type):
        return spark_text(keys)
    return pc.binary_join_element_wise(*(spark_text(part) for part in keys.flatten()), ", ")


@dataclass(frozen=True)
class JoinedRows:
    """The rows of two tables, one after the other; a column of one is null in the rows of the other."""

    tables: tuple[CheckedTable, CheckedTable]
    table: LocalTable

    @property
    def first(self) -> int:
        """How many rows the first table has."""
        return int(self.tables[0].table.rows.num_rows)

    def place(self, row: int) -> tuple[int, int]:
        """Which of the tables a row is of, and its position there."""
        return (0, row) if row < self.first else (1, row - self.first)

    def named(self, row: int) -> tuple[int, Any]:
        """Which of the tables a row is of, and its key."""
        at, position = self.place(row)
        return at, self.tables[at].key_at(position)

    @property
    def order(self) -> Ints:
        """The order of the rows: by table, then by key."""
        left, right = (table.order for table in self.tables)
        return np.concatenate([left, right + (1 + left.max(initial=0) - right.min(initial=0))])

    @property
    def hidden(self) -> list[str]:
        """The columns whose values nobody is shown."""
        hidden = self.tables[0].named.hidden_joint | self.tables[1].named.hidden_joint
        return sorted(hidden & set(self.table.rows.column_names))


def joined_rows(tables: tuple[CheckedTable, CheckedTable], columns: Iterable[str]) -> JoinedRows:
    """The rows of both tables with those of their columns that are wanted, under their joint names."""
    wanted = set(columns)
    sizes = [table.table.rows.num_rows for table in tables]
    joined: dict[str, pa.ChunkedArray] = {}
    for at, own in enumerate(tables):
        for column in own.table.rows.column_names:
            if joint_name(own.name, column) not in wanted:
                continue
            values = decoded(own.table.rows.column(column))
            nothing = pa.nulls(sizes[1 - at], values.type)
            chunks = [*values.chunks, nothing] if at == 0 else [nothing, *values.chunks]
            joined[joint_name(own.name, column)] = pa.chunked_array(chunks, values.type)
    joined[TABLE] = _table_column([own.name for own in tables], sizes)
    return JoinedRows(tables, LocalTable(pa.table(joined), " and ".join(own.name for own in tables)))


def _table_column(names: Sequence[str], sizes: Sequence[int]) -> pa.ChunkedArray:
    places = pa.array(np.repeat(np.arange(2, dtype=np.int32), sizes))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))])
