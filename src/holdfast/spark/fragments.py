"""A table that is split over sites, kept in a state on disk: what each site knows, and the violations of all.

A batch is one Spark job of three steps. Changes go to tasks by key, where every site looks up its own rows and ids
travel along the plan; rows then go to tasks by the group they are in, where every site looks up its own index and
groups that several sites share are settled; rows in violation go to tasks by key again. Sites are logical: a task does
the steps of several, but what one of them tells another goes through the task's door. Tasks write new files; the
version that names them makes them count, all at once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from holdfast.detect.evaluate import UNLIMITED
from holdfast.fragments.door import Shipped
from holdfast.fragments.index_changes import IndexChanges
from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.fragments.plan_file import Fixed, read_fixed
from holdfast.fragments.site_changes import NOWHERE, TWICE, SiteChanges
from holdfast.fragments.site_tables import Layout, layout_of, table_keys, violations_number
from holdfast.fragments.violation_changes import PresentViolations, ViolationChanges
from holdfast.spark.changes import Changes, changes_of, content_id, read_changes
from holdfast.spark.fragment_rows import Packing, with_truths
from holdfast.spark.fragment_sources import group_sql
from holdfast.spark.refused_changes import refused_plainly, require_fitting
from holdfast.spark.table import Table
from holdfast.spark.watch_compaction import merge_files
from holdfast.spark.watch_tables import place_sql, splits_for, with_files
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.change_log import Counts, cut_log, discard
from holdfast.states.compaction import Merge, due, places_for
from holdfast.states.manifest import (
    Manifest,
    commit,
    latest,
    taken_in,
    tidy,
    with_totals,
)
from holdfast.states.store import Store, open_store


@dataclass(frozen=True)
class FragmentedTable:
    """A state of fragments, opened. Every method reads the version that is the newest when it is called.

    With `record`, a folder, everything that crosses between sites is also written there.
    """

    spark: SparkSession
    store: Store
    record: str | None = None

    @cached_property
    def manifest(self) -> Manifest:
        return latest(self.store, "fragments")

    @cached_property
    def fixed(self) -> Fixed:
        return read_fixed(self.store)

    @cached_property
    def schema(self) -> StructType:
        return StructType.fromJson(dict(self.manifest.schema))

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.fixed.plan)

    @cached_property
    def packing(self) -> Packing:
        rules = self.fixed.plan.sites.rules
        return Packing(self.schema, self.manifest.key, self.layout, rules.nulls, self.fixed.secret)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.fixed.plan.sites.rules)

    def newest(self) -> FragmentedTable:
        return FragmentedTable(self.spark, self.store, self.record)

    # Batches --------------------------------------------------------------------------------------------------

    def apply_file(
        self, data: str, *, batch: str | None = None, limit: int | None, reading: Mapping[str, Any] | None = None
    ) -> FragmentsOutcome:
        """The changes of a file, taken in once: a file of the same content was the same batch."""
        with self._written() as state:
            given = {name: value for name, value in (reading or {}).items() if value}
            changes = read_changes(state.spark, data, state.schema, state.manifest.key, given)
            name = content_id(data) if batch is None else batch
            kind = "content" if batch is None else "named"
            return state._apply(changes, name, f"{kind}-{hashlib.sha256(name.encode()).hexdigest()}", limit)

    def apply_frame(self, frame: DataFrame, *, batch: str, limit: int | None) -> FragmentsOutcome:
        """The changes of a frame, which is the batch of this name: taken in once."""
        with self._written() as state:
            changes = changes_of(Table(frame, f"batch {batch}"), state.schema, state.manifest.key)
            return state._apply(changes, batch, f"named-{hashlib.sha256(batch.encode()).hexdigest()}", limit)

    @contextmanager
    def _written(self) -> Iterator[FragmentedTable]:
        """The newest version of the state, to which nobody else writes in here; what no version needs is gone."""
        with self.store.only_writer():
            tidy(self.store)
            yield self.newest()

    def _apply(self, changes: Changes, batch: str, known_by: str, limit: int | None) -> FragmentsOutcome:
        started = time.monotonic()
        now, version = self.manifest, self.manifest.version + 1
        if taken_in(self.store, now, known_by):
            same = BatchOutcome(batch, False, now.version, now.rows, (), (), 0, 0, now.totals)
            return FragmentsOutcome(same, Shipped())
        notes = self._notes(changes, version, UNLIMITED if limit is None else limit)
        try:
            require_fitting(notes, changes.table, now.key)
            log = cut_log(self.store, [note["log"] for note in notes if "log" in note], self.names, version, limit)
        except BaseException:
            discard(self.store, notes)
            raise
        counts = Counts.of(notes, self.names, [False] * len(self.names))
        made = replace(
            with_totals(now, counts.totals),
            version=version,
            rows=now.rows + sum(note["rows"] for note in notes if "rows" in note and "rule" not in note),
            pair_tables=with_files(now.pair_tables, notes),
            batches=(known_by,),
            log=log.files,
            applied=now.applied + 1,
        )
        commit(self.store, made)
        told = log.outcome(batch, made, counts, seconds=time.monotonic() - started)
        self._compact(made)
        return FragmentsOutcome(told, shipped_of(notes))

    def _notes(self, changes: Changes, version: int, limit: int) -> list[dict[str, Any]]:
        """What the tasks tell of the batch; nothing that they have written counts yet."""
        now, plan = self.manifest, self.fixed.plan
        splits = splits_for(self.spark, changes.table)
        with refused_plainly(changes.table, self.schema):
            frame = self._packed_changes(changes)
            placed = frame.withColumn("work", F.expr(place_sql("h", splits))).repartition(splits, "work")
            task = SiteChanges(
                store=self.store,
                tables=now.pair_tables,
                plan=plan,
                layout=self.layout,
                version=version,
                key_parts=len(now.key),
                whole=len(changes.known) == len(self.schema.fields),
                record=self.record,
            )
            rows = placed.mapInArrow(task, placed_schema(frame.schema["k"].dataType))
            index = IndexChanges(self.store, now.pair_tables, plan, self.fixed.meetings, version, record=self.record)
            last = ViolationChanges(self.store, now.pair_tables[-1], len(plan.sites.sites), self.names, version, limit)
            return run_steps(rows, index, last, splits)

    def _packed_changes(self, changes: Changes) -> DataFrame:
        """The changes as (k, h, ct, o0, o1, o2, grp, ids, bits)."""
        sites = self.fixed.plan.sites
        conditions = [group.where for group in sites.row_groups if group.where is not None]
        scopes = [atom.where for atom in self.layout.atoms if atom.where is not None]
        wanted = list(dict.fromkeys([*conditions, *scopes]))
        frame, truths = with_truths(changes.frame, self.schema.names, wanted)
        ids, bits = self.packing.packed_sql(range(len(self.layout.atoms)), truths)
        group = group_sql(sites, truths, NOWHERE, TWICE)
        kept = frame.selectExpr(
            f"{self.packing.key_sql()} AS k",
            "ct",
            "o0",
            "o1",
            "o2",
            f"{group} AS grp",
            f"{ids} AS ids",
            f"{bits} AS bits",
        )
        return kept.withColumn("h", F.expr("xxhash64(k)"))

    def _compact(self, made: Manifest) -> None:
        sites = len(self.fixed.plan.sites.sites)
        merges = []
        for number, table in enumerate(made.pair_tables):
            segments, everything = due(table.segments)
            if segments:
                key = table_keys(number, sites)
                merges.append(Merge(number, table.folder, segments, everything, key, key))
        merge_files(self.spark, self.store, made, merges)

    # Reading --------------------------------------------------------------------------------------------------

    @property
    def violations(self) -> DataFrame:
        """(rule, key) of all rows that are in violation now."""
        table = self.manifest.pair_tables[violations_number(len(self.fixed.plan.sites.sites))]
        places = places_for(sum(segment.rows for segment in table.segments))
        fields = {field.name: field.dataType for field in self.schema.fields}
        own = [StructField(name, fields[name]) for name in self.manifest.key]
        key = own[0].dataType if len(own) == 1 else StructType(own)
        kind = StructType([StructField("rule", StringType()), StructField("key", key)])
        task = PresentViolations(self.store, table, places, self.names)
        return self.spark.range(0, places, 1, places).mapInArrow(task, kind)

    def status(self, *, seconds: float = 0.0, shipped: Shipped | None = None) -> FragmentsStatus:
        """What the state's version says of itself; nothing is computed."""
        now = self.manifest
        return FragmentsStatus(
            self.fixed.plan.sites, now.version, now.rows, now.applied, now.totals, shipped=shipped, seconds=seconds
        )


def fragmented(spark: SparkSession, place: str, *, record: str | None = None) -> FragmentedTable:
    """The state of fragments at the place; StateError where there is none."""
    found = FragmentedTable(spark, open_store(place), record)
    found.manifest  # noqa: B018 (refuses at the door)
    found.fixed  # noqa: B018
    return found


def placed_schema(key: DataType) -> StructType:
    """What the first step gives to the second, for keys of this type."""
    return StructType(
        [
            StructField("part", IntegerType()),
            StructField("grp", IntegerType()),
            StructField("sign", IntegerType()),
            StructField("h", LongType()),
            StructField("gid", BinaryType()),
            StructField("sid", BinaryType()),
            StructField("k", key),
            StructField("note", StringType()),
        ]
    )


def run_steps(rows: DataFrame, index: IndexChanges, last: ViolationChanges, splits: int) -> list[dict[str, Any]]:
    """The notes of a job whose first step gives the rows: the second and the third step, and all that was told."""
    key = rows.schema["k"].dataType
    between = StructType(
        [
            StructField("rule", IntegerType()),
            StructField("n", IntegerType()),
            StructField("k", key),
            StructField("note", StringType()),
        ]
    )
    grouped = rows.withColumn("work", F.expr(place_sql("h", splits))).repartition(splits, "work")
    found = grouped.mapInArrow(index, between).withColumn("h", F.expr("xxhash64(k, rule)"))
    by_key = found.withColumn("work", F.expr(place_sql("h", splits))).repartition(splits, "work")
    return [json.loads(row["note"]) for row in by_key.mapInArrow(last, "note string").collect()]


def shipped_of(notes: Sequence[Mapping[str, Any]]) -> Shipped:
    total = Shipped()
    for note in notes:
        if "shipped" in note:
            total = total.plus(Shipped.of(note["shipped"]))
    return total
