"""What one task does with all rows of several tables: Arrow batches in, suggestions or an explanation out.

A row is in the struct of its table, under the safe names `c0`, ... of its columns; `k` is its key, or its number.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from holdfast.engines.local.tables.arrived_rows import arrived_rows
from holdfast.engines.local.tables.check import LocalOpenedTables
from holdfast.engines.local.tables.result import LocalTablesResult
from holdfast.engines.tables.plan import plan_tables
from holdfast.engines.tables.source import TableSource
from holdfast.engines.tables.struct_rows import ANSWER
from holdfast.errors import HoldfastError
from holdfast.rules.predicate import joint_name
from holdfast.rules.rule import RuleSet

Wanted = Literal["suggestions", "explanation", "tried"]


@dataclass(frozen=True)
class ArrivedTable:
    """One of the tables: its name, its columns in order, the columns that name its rows, and those nobody is shown."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    hidden: frozenset[str]


@dataclass(frozen=True)
class TablesExplainTask:
    """Says of the tables, as a check with this `limit` of pairs finds them, what is wanted: in lines of suggestions, or
    pickled in the one column `told` the explanation of `row`, in `table`, or of how many rows suggestions speak.

    Where that is refused, the one value is the error.
    """

    tables: tuple[ArrivedTable, ...]
    rules: RuleSet
    limit: int | None
    wanted: Wanted
    row: Any = None
    table: str = ""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        rows = pa.Table.from_batches(received)
        if self.wanted == "suggestions":
            yield from self._result(rows).suggestions.to_arrow().to_batches()
            return
        try:
            result = self._result(rows)
            explains = self.wanted == "explanation"
            answer: Any = result.explain(self.row, table=self.table) if explains else result.tried_rows()
        except HoldfastError as problem:
            answer = problem
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(answer)], pa.binary())], names=[ANSWER])

    def _result(self, rows: pa.Table) -> LocalTablesResult:
        tables = {own.name: _rows_of(rows, i, own) for i, own in enumerate(self.tables)}
        sources = {own.name: TableSource(tables[own.name], own.key) for own in self.tables}
        opened = LocalOpenedTables(sources)
        hidden = [joint_name(own.name, column) for own in self.tables for column in sorted(own.hidden)]
        plan = plan_tables(opened, self.rules)
        started = time.monotonic()
        return opened.run_check(
            plan, limit=self.limit, fail_on="error", all_columns=False, redact=hidden, started=started
        )


def _rows_of(rows: pa.Table, place: int, table: ArrivedTable) -> pa.Table:
    """The rows of one of the tables under their own names; those that are named by their numbers in that order."""
    arrived = arrived_rows(rows, place, table.columns)
    own = arrived.select(range(len(table.columns)))
    if table.key:
        return own
    numbers = arrived.column(len(table.columns)).to_numpy()
    return own.take(pa.array(np.argsort(numbers, kind="stable")))
