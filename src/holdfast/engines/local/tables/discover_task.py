"""What one task does with all rows of several tables: Arrow batches in, what a discovery over them says out."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from holdfast.engines.local.discover_tables import TablesOptions, run_tables_discover
from holdfast.engines.local.tables.arrived_rows import arrived_rows
from holdfast.engines.tables.struct_rows import ANSWER
from holdfast.tables.read_options import ReadOptions


@dataclass(frozen=True)
class TablesDiscoverTask:
    """The outcome of a discovery over the tables, by their names and columns, pickled, in the one column `told`.

    Rows are those of `arrived_rows`.
    """

    tables: tuple[tuple[str, tuple[str, ...]], ...]
    options: TablesOptions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        rows = pa.Table.from_batches(received)
        tables = {name: arrived_rows(rows, i, columns) for i, (name, columns) in enumerate(self.tables)}
        outcome = run_tables_discover(tables, ReadOptions(), self.options).outcome
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)], pa.binary())], names=[ANSWER])
