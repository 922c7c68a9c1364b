"""A table that a state holds whole: its rows, in files by key, under the changes of files, streams and Delta tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from holdfast.engines.spark.checking.rows import keyed, schema_as_seen
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.changes import Changes, changes_of, content_id
from holdfast.engines.spark.states.state_files import by_hash
from holdfast.engines.spark.states.state_table import Outcome, StateTable
from holdfast.programs.plan import Plan, make_typed_plan
from holdfast.rules.rule import RuleSet
from holdfast.states.batch_ids import file_id
from holdfast.states.compaction import Merge, places_for
from holdfast.states.manifest import ROWS, StoredTable, WholeBody
from holdfast.states.messages import MESSAGE
from holdfast.states.row_changes import PresentRowsTask, RowChangesTask
from holdfast.states.segment import Segment
from holdfast.states.versions import was_applied

AnyWholeBody = TypeVar("AnyWholeBody", bound=WholeBody)


@dataclass(frozen=True)
class WholeTable(StateTable[Outcome, AnyWholeBody]):
    """A state on disk, opened, that has the rows of its table, and can follow a source.

    `FragmentedTable` is a state of a table whose sites have the rows.
    """

    @property
    @abstractmethod
    def rules(self) -> RuleSet:
        """The rules that a person gave."""

    @cached_property
    def plan(self) -> Plan:
        return make_typed_plan(self.rules, schema_as_seen(self.schema, self.manifest.table), self.manifest.key)

    # Batches of a source that is followed -----------------------------------------------------------------------

    def follow_file(self, data: str, *, limit: int | None) -> Outcome:
        """The changes of a file in a folder that is followed: same name and same content are the same batch."""
        with self._written() as state:
            content = content_id(data)
            by_content, by_name = state._file_ids(data, content)
            return state._apply(state._read(data, {}), content, (by_name, by_content), limit)

    def has_file(self, data: str) -> bool:
        """Whether follow_file() has taken the file in."""
        return was_applied(self.store, self.manifest, file_id(data, content_id(data)))

    def apply_frame(self, frame: DataFrame, *, stream: str, number: int, limit: int | None) -> Outcome:
        """The changes of a frame, which is the batch with this number of a stream; numbers of a stream only grow."""
        return self.apply_table(Table(frame, f"batch {stream}/{number}"), stream=stream, number=number, limit=limit)

    def apply_table(self, table: Table, *, stream: str, number: int, limit: int | None) -> Outcome:
        """The same, of a table whose name the user knows."""
        batch = f"{stream}/{number}"
        with self._written() as state:
            if number <= state.manifest.streams.get(stream, -1):
                return state._unchanged(batch)
            changes = changes_of(table, state.schema, state.manifest.key)
            return state._apply(changes, batch, (), limit, streams={stream: number})

    def _file_ids(self, data: str, content: str) -> tuple[str, str]:
        return f"content-{content}", file_id(data, content)

    # Rows -----------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> DataFrame:
        """The table as it is now, under its own column names."""
        return self.rows_of(self.manifest.body.row_table, self.manifest.rows)

    def rows_of(self, table: StoredTable, rows: int) -> DataFrame:
        """The rows of the table, about so many, under its own column names."""
        fields = self.schema.fields
        places = places_for(rows)
        safe = StructType([StructField(f"c{i}", field.dataType) for i, field in enumerate(fields)])
        task = PresentRowsTask(self.store, table.segments, places, len(fields), self._key_columns, self.manifest.key)
        numbers = self.spark.range(0, places, 1, places)
        return numbers.mapInArrow(task, safe).toDF(*(field.name for field in fields))

    def _net_rows(self, changes: Changes, version: int, kept: Sequence[int], splits: int) -> DataFrame:
        """The rows that go and come, by these columns, and messages, as of RowChangesTask."""
        plan = self.plan
        rows = RowChangesTask(
            store=self.store,
            segments=self.manifest.body.row_table.segments,
            version=version,
            key=tuple(plan.schema.position(name) for name in plan.key),
            key_names=plan.key,
            width=len(self.schema.fields),
            kept=tuple(kept),
            known=changes.known,
        )
        placed = by_hash(keyed(changes.frame, plan).withColumn("h", F.expr("xxhash64(k)")), splits)
        return placed.mapInArrow(rows, self._net_schema(placed, kept))

    def _net_schema(self, placed: DataFrame, kept: Iterable[int]) -> StructType:
        fields = [
            StructField("sign", IntegerType()),
            StructField(MESSAGE, StringType()),
            StructField("k", placed.schema["k"].dataType),
        ]
        return StructType([*fields, *(StructField(f"c{i}", self.schema.fields[i].dataType) for i in kept)])

    def _merge(self, table: str, segments: tuple[Segment, ...], everything: bool) -> Merge:
        assert table == ROWS, "a job says how its other tables are merged"
        return Merge(table, segments, everything, self._key_columns, self.manifest.key)

    @property
    def _key_columns(self) -> tuple[str, ...]:
        return tuple(f"c{self.plan.schema.position(name)}" for name in self.manifest.key)
