"""Data sources for Delta tables, which the workers of Spark read with the package deltalake: rows, commits, changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceRegistration,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

# At most so many tasks read the files or commits: each of them opens the log of the table.
_TASKS = 64


class DeltaRows(DataSource):
    """The rows of a table at one version. Options: path, version."""

    @classmethod
    def name(cls) -> str:
        return "holdfast_delta_rows"

    def reader(self, schema: StructType) -> DataSourceReader:
        return _RowsReader(self.options["path"], int(self.options["version"]), schema)


class DeltaChanges(DataSource):
    """The changes of the commits `first` to `last` in the change feed of a table. Options: path, first, last."""

    @classmethod
    def name(cls) -> str:
        return "holdfast_delta_changes"

    def reader(self, schema: StructType) -> DataSourceReader:
        return _ChangesReader(self.options["path"], int(self.options["first"]), int(self.options["last"]), schema)


class DeltaCommits(DataSource):
    """A stream of the versions that a table gets after version `after`. Options: path, after."""

    @classmethod
    def name(cls) -> str:
        return "holdfast_delta_commits"

    def schema(self) -> str:
        return "version bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _CommitsReader(self.options["path"], int(self.options["after"]))


def register_delta(registration: DataSourceRegistration) -> None:
    for source in (DeltaRows, DeltaChanges, DeltaCommits):
        registration.register(source)


class _RowsReader(DataSourceReader):
    def __init__(self, path: str, version: int, schema: StructType) -> None:
        self.path, self.version, self.schema = path, version, schema

    def partitions(self) -> Sequence[InputPartition]:
        files = sorted(fragment.path for fragment in self._dataset().get_fragments())
        tasks = max(1, min(len(files), _TASKS))
        return [InputPartition(tuple(files[i::tasks])) for i in range(tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        dataset, wanted = self._dataset(), set(partition.value)
        for fragment in dataset.get_fragments():
            if fragment.path in wanted:
                yield from fitting(fragment.to_batches(schema=dataset.schema), self.schema)

    def _dataset(self) -> Any:
        return _opened(self.path, self.version).to_pyarrow_dataset()


class _ChangesReader(DataSourceReader):
    def __init__(self, path: str, first: int, last: int, schema: StructType) -> None:
        self.path, self.first, self.last, self.schema = path, first, last, schema

    def partitions(self) -> Sequence[InputPartition]:
        each = -(-(self.last - self.first + 1) // _TASKS)
        starts = range(self.first, self.last + 1, each)
        return [InputPartition((start, min(start + each - 1, self.last))) for start in starts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        first, last = partition.value
        # Opened at version `last`, so that later commits do not change the result.
        feed = _opened(self.path, self.last).load_cdf(starting_version=first, ending_version=last)
        yield from fitting(pa.RecordBatchReader.from_stream(feed), self.schema)


class _CommitsReader(DataSourceStreamReader):
    def __init__(self, path: str, after: int) -> None:
        self.path, self.after = path, after

    def initialOffset(self) -> dict[str, int]:
        return {"version": self.after}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # all versions of Spark accept this form
        return {"version": _opened(self.path, None).version()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition((start["version"] + 1, end["version"] + 1))]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        return ((version,) for version in range(*partition.value))


def fitting(batches: Any, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yields the batches with the columns and types that Spark has for the schema: no views, no unsigned numbers."""
    try:
        wanted = to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before Spark 4.1, where times are in UTC anyway
        wanted = to_arrow_schema(schema)
    for batch in batches:
        if batch.num_rows:
            table = pa.Table.from_batches([batch]).select(wanted.names).cast(wanted)
            yield from table.combine_chunks().to_batches()


def _opened(path: str, version: int | None) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(path, version=version)
