"""Rows of several tables as rows of one: the name of its table, and the columns of all under their joint names.

A row has the columns of its own table, and nulls in all others. It is named by its table and its key there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.encode.column_type import ColumnType, column_type
from holdfast.errors import ChangeError, closest_hint
from holdfast.live_rows.coded_batch import Coding, RowBatch, row_batch
from holdfast.live_rows.row_keys import RowKeys, key_parts, listed_keys
from holdfast.live_rows.row_store import RowStore
from holdfast.programs.compile import TABLE
from holdfast.programs.condition import parsed_condition
from holdfast.rules.joint_rules import TableCondition
from holdfast.rules.predicate import joint_name
from holdfast.states.row_changes import CHANGE_TYPE

_GOING = ("delete", "update_preimage")


@dataclass(frozen=True)
class JointTables:
    """The tables, with the columns of their keys, and the conditions that are looked at where a table is by itself."""

    keys: Mapping[str, tuple[str, ...]]
    conditions: tuple[TableCondition, ...] = ()

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The columns that name a row among all: its table, and the keys of all tables, of which it has its own."""
        return (TABLE, *(joint_name(name, column) for name, own in self.keys.items() for column in own))

    @cached_property
    def places(self) -> dict[str, range]:
        """Where the columns of each table's key are among those of all."""
        places, first = {}, 1
        for name, own in self.keys.items():
            places[name] = range(first, first + len(own))
            first += len(own)
        return places

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns that no table has of its own."""
        return {TABLE: column_type("string"), **{own.column: column_type("boolean") for own in self.conditions}}

    @staticmethod
    def tables_in(batch: RowBatch) -> frozenset[str]:
        """The tables that the rows are of."""
        names = batch.columns[TABLE]
        return frozenset(names.unique().to_pylist() if isinstance(names, pa.Array) else names)

    def of_one(self, given: Any, table: str | None, what: str) -> Mapping[str, Any]:
        """What is given of each table, where it is given of one by name, or of several as a mapping."""
        if table is not None:
            return self._known({table: given})
        if isinstance(given, Mapping) and set(given) <= set(self.keys):
            return given
        first = next(iter(self.keys))
        raise ChangeError(
            f"the monitor is of {', '.join(self.keys)}, and nothing says of which these {what} are.",
            hint=f"nothing was changed. Give them by table, {{{first!r}: {what}}}, or name one with table={first!r}.",
        )

    def _known(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in given:
            if name not in self.keys:
                raise ChangeError(
                    f"the monitor has no table {name!r}.", hint=closest_hint(name, self.keys, what="Tables")
                )
        return given

    def named_keys(self, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The keys that are given of each table, with its name."""
        return [(name, key) for name, keys in given.items() for key in listed_keys(keys, len(self.keys[name]))]

    # Rows -------------------------------------------------------------------------------------------------------

    def batch(self, given: Mapping[str, Any], needed: Sequence[str], *, changes: bool) -> RowBatch:
        """The rows that are given of each table as rows of all, with the columns in `needed`.

        With `changes`, the rows have their kinds of change; tables without those have rows that come, and one whose
        rows all go may have no other columns than its key. ChangeError where a row has no key, or a column is missing.
        """
        batches = {name: batch for name, rows in given.items() if (batch := row_batch(rows)).size}
        parts = [self._own(name, batch, needed, changes) for name, batch in batches.items()]
        sizes = [batch.size for batch in batches.values()]
        columns = {name: _stacked([own.get(name) for own in parts], sizes) for name in needed}
        if changes:
            columns[CHANGE_TYPE] = _stacked([own.get(CHANGE_TYPE) for own in parts], sizes)
        return RowBatch(sum(sizes), {**columns, TABLE: _tables(list(batches), sizes)})

    def _own(self, name: str, batch: RowBatch, needed: Sequence[str], changes: bool) -> dict[str, Any]:
        """The columns of one table's rows, by their names among those of all."""
        columns: dict[str, Any] = {}
        kinds = batch.listed(CHANGE_TYPE) if changes and CHANGE_TYPE in batch.columns else []
        only_keys = bool(kinds) and all(kind in _GOING for kind in kinds)
        key, prefix = self.keys[name], joint_name(name, "")
        for joint in needed:
            if joint.startswith(prefix):
                column = joint.removeprefix(prefix)
                if column in batch.columns:
                    columns[joint] = batch.columns[column]
                elif column in key or not only_keys:
                    raise _lacking(name, column, batch)
        for column in key:
            _require_values(name, column, batch.columns[column])
        for condition in self.conditions:
            if condition.table == name and condition.column in needed:
                parsed = parsed_condition(condition.condition)
                missing = [column for column in parsed.columns if column not in batch.columns]
                if not missing:
                    columns[condition.column] = parsed.holds(_of_rows(batch, parsed.columns)).tolist()
                elif not only_keys:
                    raise _lacking(name, missing[0], batch)
        if kinds:
            columns[CHANGE_TYPE] = kinds
        return columns


class JointKeys(RowKeys):
    """The keys of the rows of several tables: each the name of its table, and what names it there."""

    def __init__(self, tables: JointTables, store: RowStore, coding: Coding) -> None:
        super().__init__(tables.key, store, coding)
        self._tables = tables

    def of_batch(self, batch: RowBatch) -> list[Any]:
        own = {
            name: [batch.listed(self.key[place]) for place in places] for name, places in self._tables.places.items()
        }
        return [
            (name, own[name][0][at] if len(own[name]) == 1 else tuple(column[at] for column in own[name]))
            for at, name in enumerate(batch.listed(TABLE))
        ]

    def given(self, keys: Any) -> list[Any]:
        return self._tables.named_keys(keys)

    def _parts(self, key: Any) -> Iterable[tuple[int, Any]]:
        name, own = key
        places = self._tables.places[name]
        return [(0, name), *zip(places, key_parts(own, len(places)), strict=True)]


def _require_values(table: str, column: str, values: Sequence[Any] | pa.Array) -> None:
    """Raises ChangeError where a row has no value in this column of its key."""
    missing = values.null_count if isinstance(values, pa.Array) else None in values
    if missing:
        at = (values.to_pylist() if isinstance(values, pa.Array) else list(values)).index(None)
        raise ChangeError(
            f"row {at} of the change of {table} has no value in the key column {column!r}.",
            hint="nothing was changed. Every row needs a key.",
        )


def _lacking(table: str, column: str, batch: RowBatch) -> ChangeError:
    return ChangeError(
        f"the change of {table} has no column {column!r}, which the rules or the key need.",
        hint=closest_hint(column, batch.columns),
    )


def _of_rows(batch: RowBatch, columns: Sequence[str]) -> pa.Table:
    """The columns, or a column of nulls where none is wanted, so that the rows are as many."""
    return batch.to_arrow(columns) if columns else pa.table({"": pa.nulls(batch.size)})


def _tables(names: Sequence[str], sizes: Sequence[int]) -> Sequence[str] | pa.Array:
    if sum(sizes) == 1:
        return list(names)
    places = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    return pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))


def _stacked(parts: Sequence[Sequence[Any] | pa.Array | None], sizes: Sequence[int]) -> Sequence[Any] | pa.Array:
    """The parts of a column one after the other; a part that is not there is nulls. At most one is an Arrow array."""
    kind = next((part.type for part in parts if isinstance(part, pa.Array)), None)
    if kind is not None:
        pieces = zip(parts, sizes, strict=True)
        return pa.concat_arrays([pa.nulls(size, kind) if part is None else part for part, size in pieces])
    values: list[Any] = []
    for part, size in zip(parts, sizes, strict=True):
        values += [None] * size if part is None else part
    return values
