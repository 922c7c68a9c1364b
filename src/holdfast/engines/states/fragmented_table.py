"""A table that is split over sites, kept in a state on disk: what each site knows, and the violations of all.

A batch is one job of three steps. Changes go to tasks by key, where every site looks up its own rows and ids
travel along the plan; rows then go to tasks by the group they are in, where every site looks up its own index and
groups that several sites share are settled; rows in violation go to tasks by key again. Sites are logical: a task does
the steps of several, but what one of them tells another goes through the task's door. Tasks write new files; the
version that names them makes them count, all at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from holdfast.engines.result_table import ResultTable
from holdfast.engines.states.changes import changes_of
from holdfast.engines.states.state_engine import Changes, Rows, StateEngine
from holdfast.engines.states.state_table import NextVersion, StateTable
from holdfast.fragments.first_rows import FirstSiteRowsTask
from holdfast.fragments.id_packing import IdPacking
from holdfast.fragments.index_changes import IndexChangesTask
from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.fragments.plan_file import Fixed, read_fixed
from holdfast.fragments.rule_violations import PresentViolationsTask, RuleViolationsTask
from holdfast.fragments.site_changes import SiteChangesTask
from holdfast.fragments.site_tables import VIOLATIONS, HeldAtoms, held_atoms_of, table_key
from holdfast.states.batch_ids import hashed, named_id
from holdfast.states.change_log import batch_log, logged_version, unchanged
from holdfast.states.compaction import Merge, places_for
from holdfast.states.manifest import FragmentsBody, Manifest
from holdfast.states.messages import MESSAGE, Message, Shipped, Unit, total_shipped
from holdfast.states.segment import Segment
from holdfast.states.store import open_store
from holdfast.states.table_schema import FieldJson, field, key_field
from holdfast.violations.evaluate import UNLIMITED


@dataclass(frozen=True)
class FragmentedTable(StateTable[FragmentsOutcome, FragmentsBody]):
    """A state of fragments, opened. Every method reads the version that is the newest when it is called.

    With `record`, a folder, everything that crosses between sites is also written there.
    """

    record: str | None = None

    body = FragmentsBody

    def opened(self) -> Self:
        state = super().opened()
        state.fixed  # noqa: B018 (refuses at the door)
        return state

    @cached_property
    def fixed(self) -> Fixed:
        return read_fixed(self.store)

    @cached_property
    def held_atoms(self) -> HeldAtoms:
        return held_atoms_of(self.fixed.plan)

    @cached_property
    def packing(self) -> IdPacking:
        now, fixed = self.manifest, self.fixed
        nulls = fixed.plan.sites.rules.nulls
        return IdPacking(now.schema, now.key, self.held_atoms, nulls, fixed.secret, as_cast=fixed.as_cast)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.fixed.plan.sites.rules)

    # Batches --------------------------------------------------------------------------------------------------

    def apply_frame(self, frame: Rows, *, batch: str, limit: int | None) -> FragmentsOutcome:
        """The changes of a frame, which is the batch of this name: taken in once."""
        with self._written() as state:
            table = state.engine.table_of(frame, f"batch {batch}")
            changes = changes_of(state.engine, table, state.manifest.schema, state.manifest.key)
            return state._apply(changes, batch, (named_id(batch),), limit)

    def _file_ids(self, data: str, content: str) -> tuple[str, ...]:
        return (f"content-{hashed(content)}",)

    def _unchanged(self, batch: str) -> FragmentsOutcome:
        return FragmentsOutcome(unchanged(batch, self.manifest), Shipped())

    def _next_version(
        self, batch: str, messages: Sequence[Message], version: int, limit: int | None
    ) -> NextVersion[FragmentsOutcome]:
        log = batch_log(self.store, messages, self.names, version, limit)
        manifest = logged_version(self.manifest, log, messages, dict.fromkeys(self.names, Unit.ROWS))

        def outcome(version: Manifest[FragmentsBody], seconds: float) -> FragmentsOutcome:
            return FragmentsOutcome(log.outcome(batch, version, seconds=seconds), total_shipped(messages))

        return NextVersion(manifest, outcome)

    def _run_tasks(self, changes: Changes, version: int, limit: int | None) -> list[Message]:
        now, tables, plan, engine = self.manifest, self.manifest.body.tables, self.fixed.plan, self.engine
        splits = engine.splits(changes.table)
        with engine.translate_change_errors(changes.table, now.schema):
            conditions = [group.where or "true" for group in plan.sites.row_groups]
            packed = engine.packed_changes(changes, self.packing, conditions)
            task = SiteChangesTask(
                store=self.store,
                tables=tables,
                plan=plan,
                held_atoms=self.held_atoms,
                version=version,
                key_parts=len(now.key),
                whole=len(changes.known) == len(now.schema["fields"]),
                record=self.record,
            )
            index = IndexChangesTask(self.store, tables, plan, self.fixed.meetings, version, record=self.record)
            most = UNLIMITED if limit is None else limit
            last = RuleViolationsTask(self.store, tables[VIOLATIONS], self.names, version, most)
            key = key_field(now.schema, now.key)
            return run_steps(engine, packed, (splits, splits), key, task, index, last)

    def _merge(self, table: str, segments: tuple[Segment, ...], everything: bool) -> Merge:
        key = (table_key(table),)
        return Merge(table, segments, everything, key, key)

    # Reading --------------------------------------------------------------------------------------------------

    @property
    def violations(self) -> ResultTable:
        """(rule, key) of all rows that are in violation now."""
        now = self.manifest
        table = now.body.tables[VIOLATIONS]
        places = places_for(sum(segment.rows for segment in table.segments))
        key = {**key_field(now.schema, now.key), "name": "key"}
        task = PresentViolationsTask(self.store, table, places, self.names)
        rows = self.engine.numbers({"id": range(places)}, places)
        return self.engine.result_of(self.engine.run(rows, task, [field("rule", "string"), key]))

    @property
    def violation_bytes(self) -> int:
        """How many bytes the files of the rows in violation have."""
        files = [file for segment in self.manifest.body.tables[VIOLATIONS].segments for file in segment.files]
        return self.store.bytes_of(files)

    def status(self, *, seconds: float = 0.0, shipped: Shipped | None = None) -> FragmentsStatus:
        """What the state's version says of itself; nothing is computed."""
        now = self.manifest
        return FragmentsStatus(
            self.fixed.plan.sites, now.version, now.rows, now.applied, now.totals, shipped=shipped, seconds=seconds
        )


def fragmented(engine: StateEngine, place: str | os.PathLike[str], *, record: str | None = None) -> FragmentedTable:
    """The state of fragments at the place; StateError where there is none."""
    return FragmentedTable(engine, open_store(place), record).opened()


def run_steps(
    engine: StateEngine,
    packed: Rows,
    splits: tuple[int, int],
    key: FieldJson,
    first: FirstSiteRowsTask | SiteChangesTask,
    index: IndexChangesTask,
    last: RuleViolationsTask,
) -> list[Message]:
    """Returns the messages of all three steps of a job on packed rows with this key. Runs it.

    `splits` are how many ranges of hashes the first step is divided into, and the other two.
    """
    numbers = [field(name, "integer") for name in ("part", "grp", "sign")]
    ids = [field("h", "long"), field("gid", "binary"), field("sid", "binary")]
    ended = [key, field(MESSAGE, "string")]
    counts = [field("rule", "integer"), field("n", "integer")]
    fields = [*numbers, *ids, *ended], [*counts, *ended]
    violations = engine.run_both(packed, splits, (first, index), fields)
    return engine.messages(engine.placed(violations, splits[1], by=["k", "rule"]), last)
