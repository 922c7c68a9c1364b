"""A table that is split over sites, kept in a state on disk: what each site knows, and the violations of all.

A batch is one Spark job of three steps. Changes go to tasks by key, where every site looks up its own rows and ids
travel along the plan; rows then go to tasks by the group they are in, where every site looks up its own index and
groups that several sites share are settled; rows in violation go to tasks by key again. Sites are logical: a task does
the steps of several, but what one of them tells another goes through the task's door. Tasks write new files; the
version that names them makes them count, all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructField, StructType

from holdfast.engines.spark.checking.rows import with_truths
from holdfast.engines.spark.fragments.fragment_rows import IdPacking
from holdfast.engines.spark.fragments.fragment_sources import group_sql
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.spark.states.state_files import by_hash, task_messages
from holdfast.engines.states.changes import changes_of
from holdfast.engines.states.state_engine import Changes
from holdfast.engines.states.state_table import NextVersion, StateTable
from holdfast.fragments.index_changes import IndexChangesTask
from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.fragments.plan_file import Fixed, read_fixed
from holdfast.fragments.rule_violations import PresentViolationsTask, RuleViolationsTask
from holdfast.fragments.site_changes import NOWHERE, TWICE, SiteChangesTask
from holdfast.fragments.site_tables import VIOLATIONS, HeldAtoms, held_atoms_of, table_key
from holdfast.states.batch_ids import hashed, named_id
from holdfast.states.change_log import batch_log, logged_version, unchanged
from holdfast.states.compaction import Merge, places_for
from holdfast.states.manifest import FragmentsBody, Manifest
from holdfast.states.messages import MESSAGE, Message, Shipped, Unit, total_shipped
from holdfast.states.segment import Segment
from holdfast.states.store import open_store
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
    def schema(self) -> StructType:
        return StructType.fromJson(dict(self.manifest.schema))

    @property
    def spark(self) -> SparkSession:
        assert isinstance(self.engine, SparkEngine), "fragments are kept on Spark"
        return self.engine.spark

    @cached_property
    def held_atoms(self) -> HeldAtoms:
        return held_atoms_of(self.fixed.plan)

    @cached_property
    def packing(self) -> IdPacking:
        rules = self.fixed.plan.sites.rules
        return IdPacking(self.schema, self.manifest.key, self.held_atoms, rules.nulls, self.fixed.secret)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.fixed.plan.sites.rules)

    # Batches --------------------------------------------------------------------------------------------------

    def apply_frame(self, frame: DataFrame, *, batch: str, limit: int | None) -> FragmentsOutcome:
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
        now, tables, plan = self.manifest, self.manifest.body.tables, self.fixed.plan
        splits = self.engine.splits(changes.table)
        with self.engine.translate_change_errors(changes.table, now.schema):
            frame = self._packed_changes(changes)
            task = SiteChangesTask(
                store=self.store,
                tables=tables,
                plan=plan,
                held_atoms=self.held_atoms,
                version=version,
                key_parts=len(now.key),
                whole=len(changes.known) == len(self.schema.fields),
                record=self.record,
            )
            rows = by_hash(frame, splits).mapInArrow(task, placed_schema(frame.schema["k"].dataType))
            index = IndexChangesTask(self.store, tables, plan, self.fixed.meetings, version, record=self.record)
            most = UNLIMITED if limit is None else limit
            last = RuleViolationsTask(self.store, tables[VIOLATIONS], self.names, version, most)
            return run_steps(rows, index, last, splits)

    def _packed_changes(self, changes: Changes) -> DataFrame:
        """The changes as (k, h, ct, o0, o1, o2, grp, ids, bits)."""
        sites = self.fixed.plan.sites
        conditions = [group.where for group in sites.row_groups if group.where is not None]
        scopes = [atom.where for atom in self.held_atoms.atoms if atom.where is not None]
        wanted = list(dict.fromkeys([*conditions, *scopes]))
        frame, truths = with_truths(changes.rows, self.schema.names, wanted)
        ids, bits = self.packing.packed_sql(range(len(self.held_atoms.atoms)), truths)
        group = group_sql(sites, truths, NOWHERE, TWICE)
        made = (f"{group} AS grp", f"{ids} AS ids", f"{bits} AS bits")
        kept = frame.selectExpr(f"{self.packing.key_sql()} AS k", "ct", "o0", "o1", "o2", *made)
        return kept.withColumn("h", F.expr("xxhash64(k)"))

    def _merge(self, table: str, segments: tuple[Segment, ...], everything: bool) -> Merge:
        key = (table_key(table),)
        return Merge(table, segments, everything, key, key)

    # Reading --------------------------------------------------------------------------------------------------

    @property
    def violations(self) -> DataFrame:
        """(rule, key) of all rows that are in violation now."""
        table = self.manifest.body.tables[VIOLATIONS]
        places = places_for(sum(segment.rows for segment in table.segments))
        fields = {field.name: field.dataType for field in self.schema.fields}
        own = [StructField(name, fields[name]) for name in self.manifest.key]
        key = own[0].dataType if len(own) == 1 else StructType(own)
        kind = StructType([StructField("rule", StringType()), StructField("key", key)])
        task = PresentViolationsTask(self.store, table, places, self.names)
        return self.spark.range(0, places, 1, places).mapInArrow(task, kind)

    def status(self, *, seconds: float = 0.0, shipped: Shipped | None = None) -> FragmentsStatus:
        """What the state's version says of itself; nothing is computed."""
        now = self.manifest
        return FragmentsStatus(
            self.fixed.plan.sites, now.version, now.rows, now.applied, now.totals, shipped=shipped, seconds=seconds
        )


def fragmented(spark: SparkSession, place: str, *, record: str | None = None) -> FragmentedTable:
    """The state of fragments at the place; StateError where there is none."""
    return FragmentedTable(SparkEngine(spark), open_store(place), record).opened()


def placed_schema(key: DataType) -> StructType:
    """What the first step gives to the second, for keys of this type."""
    numbers = [StructField(name, IntegerType()) for name in ("part", "grp", "sign")]
    ids = [StructField("h", LongType()), *(StructField(name, BinaryType()) for name in ("gid", "sid"))]
    return StructType([*numbers, *ids, StructField("k", key), StructField(MESSAGE, StringType())])


def run_steps(rows: DataFrame, index: IndexChangesTask, last: RuleViolationsTask, splits: int) -> list[Message]:
    """Returns the messages of all three steps of a job whose first step gives the rows. Runs it."""
    numbers = [StructField(name, IntegerType()) for name in ("rule", "n")]
    between = StructType([*numbers, StructField("k", rows.schema["k"].dataType), StructField(MESSAGE, StringType())])
    violations = by_hash(rows, splits).mapInArrow(index, between).withColumn("h", F.expr("xxhash64(k, rule)"))
    return task_messages(by_hash(violations, splits), last)
