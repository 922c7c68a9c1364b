"""A table that a state holds whole: its rows, in files by key, under the changes of files, streams and Delta tables."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from holdfast.engines.states.changes import FileMark, changes_of, content_id, file_mark
from holdfast.engines.states.state_engine import Changes, Rows, SourceTable
from holdfast.engines.states.state_table import Outcome, StateTable
from holdfast.errors import RunError, UnsettledFileError
from holdfast.programs.plan import Plan, make_typed_plan
from holdfast.rules.rule import RuleSet
from holdfast.states.batch_ids import file_id, followed_id
from holdfast.states.compaction import Merge, places_for
from holdfast.states.manifest import ROWS, StoredTable, WholeBody
from holdfast.states.messages import MESSAGE
from holdfast.states.row_changes import PresentRowsTask, RowChangesTask
from holdfast.states.segment import Segment
from holdfast.states.table_schema import field, key_field, safe_fields, schema_as_seen
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
        return make_typed_plan(self.rules, schema_as_seen(self.manifest.schema, self.manifest.table), self.manifest.key)

    # Batches of a source that is followed -----------------------------------------------------------------------

    def follow_file(self, data: str, mark: FileMark, *, limit: int | None) -> Outcome:
        """The changes of a file in a folder that is followed: same name and same content are the same batch.

        UnsettledFileError, and nothing is applied, where it is no longer as `mark` says.
        """

        def require_unchanged() -> None:
            try:
                same = file_mark(data) == mark
            except FileNotFoundError:
                same = False
            if not same:
                raise UnsettledFileError(
                    f"{os.path.basename(data)} has changed while it was read. Nothing was applied."
                )

        with self._written() as state:
            content = content_id(data)
            by_content, by_name = state._file_ids(data, content)
            ids = (by_name, by_content, state._followed_id(data))
            return state._apply(state._read(data, {}), content, ids, limit, before_commit=require_unchanged)

    def file_standing(self, data: str) -> Literal["new", "taken", "changed"]:
        """Whether follow_file() has taken the file in, or one of its name with another content."""
        _, by_name = self._file_ids(data, content_id(data))
        if was_applied(self.store, self.manifest, by_name):
            return "taken"
        return "changed" if was_applied(self.store, self.manifest, self._followed_id(data)) else "new"

    def apply_frame(self, frame: Rows, *, stream: str, number: int, limit: int | None) -> Outcome:
        """The changes of a frame, which is the batch with this number of a stream; numbers of a stream only grow."""
        table = self.engine.table_of(frame, f"batch {stream}/{number}")
        return self.apply_table(table, stream=stream, number=number, limit=limit)

    def apply_table(self, table: SourceTable, *, stream: str, number: int, limit: int | None) -> Outcome:
        """The same, of a table whose name the user knows."""
        batch = f"{stream}/{number}"
        with self._written() as state:
            if number <= state.manifest.streams.get(stream, -1):
                return state._unchanged(batch)
            return state._apply(state._changes_of(table), batch, (), limit, streams={stream: number})

    def _changes_of(self, table: SourceTable) -> Changes:
        """The changes that the table's rows are."""
        return changes_of(self.engine, table, self.manifest.schema, self.manifest.key)

    def stream_name(self, source: str) -> str:
        """By what the batches of a source that is followed are known, of which the source has this name."""
        return source

    def _file_ids(self, data: str, content: str) -> tuple[str, str]:
        return f"content-{content}", file_id(data, content)

    def _followed_id(self, data: str) -> str:
        """By what a file of a folder that is followed is known, whatever it holds."""
        return followed_id(data)

    # Rows -----------------------------------------------------------------------------------------------------

    @property
    def table(self) -> SourceTable:
        """The table as it is now, under its own column names."""
        return self.table_of(self.manifest.body.row_table, self.manifest.rows)

    @property
    def frame(self) -> Rows:
        """The rows of the table as it is now."""
        return self.engine.frame_of(self.table)

    @property
    def row_bytes(self) -> int:
        """How many bytes the files of the rows have."""
        files = [file for segment in self.manifest.body.row_table.segments for file in segment.files]
        return self.store.bytes_of(files)

    def table_of(self, table: StoredTable, rows: int) -> SourceTable:
        """The rows of the table, about so many, under its own column names."""
        now, places = self.manifest, places_for(rows)
        width = len(now.schema["fields"])
        task = PresentRowsTask(self.store, table.segments, places, width, self._key_columns, now.key)
        return self.engine.stored_table(task, places, now.schema, now.table)

    def _net_rows(self, changes: Changes, version: int, kept: Sequence[int], splits: int) -> Rows:
        """The rows that go and come, by these columns, and messages, as of RowChangesTask."""
        plan, schema = self.plan, self.manifest.schema
        task = RowChangesTask(
            store=self.store,
            segments=self.manifest.body.row_table.segments,
            version=version,
            key=tuple(plan.schema.position(name) for name in plan.key),
            key_names=plan.key,
            width=len(schema["fields"]),
            kept=tuple(kept),
            known=changes.known,
        )
        own = safe_fields(schema)
        fields = [field("sign", "integer"), field(MESSAGE, "string"), key_field(schema, plan.key)]
        placed = self.engine.placed(self.engine.keyed(changes.rows, plan), splits, by=["k"])
        return self.engine.run(placed, task, [*fields, *(own[i] for i in kept)])

    def _merge(self, table: str, segments: tuple[Segment, ...], everything: bool) -> Merge:
        if table != ROWS:
            raise RunError(f"nothing says how files of the table {table!r} of a state are merged.")
        return Merge(table, segments, everything, self._key_columns, self.manifest.key)

    @property
    def _key_columns(self) -> tuple[str, ...]:
        return tuple(f"c{self.plan.schema.position(name)}" for name in self.manifest.key)
