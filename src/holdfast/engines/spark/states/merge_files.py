"""Files of a state that have become many become few, in a version of their own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from holdfast.engines.spark.states.task_messages import task_messages
from holdfast.programs.plan import Plan
from holdfast.states.compaction import Merge, MergeTask, due, places_for
from holdfast.states.manifest import ROWS, Manifest, commit
from holdfast.states.messages import segments_of
from holdfast.states.segment import Segment
from holdfast.states.store import Store
from holdfast.watching.pair_groups import PairGroups


def compact(spark: SparkSession, store: Store, now: Manifest, plan: Plan, groups: PairGroups) -> None:
    """What is due to be merged is; nothing is told differently after this, and nothing is lost if it fails."""
    merge_files(spark, store, now, _merges(now, plan, groups))


def merge_files(spark: SparkSession, store: Store, now: Manifest, merges: Sequence[Merge]) -> None:
    """A new version in which the files of each merge are one, or few; a warning where that fails."""
    if not merges:
        return
    try:
        _merge_files(spark, store, now, merges)
    except Exception as problem:
        # The batch is in, and is told so; the next one tries again.
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        warnings.warn(f"the files of the state {store.root} were not merged: {reason}", stacklevel=2)


def _merge_files(spark: SparkSession, store: Store, now: Manifest, merges: Sequence[Merge]) -> None:
    places = tuple(places_for(sum(s.rows for s in m.segments)) if m.everything else 1 for m in merges)
    work = [(i, place) for i, count in enumerate(places) for place in range(count)]
    frame = spark.createDataFrame(work, "merge int, place int").repartition(min(len(work), 64))
    messages = task_messages(frame, MergeTask(store, tuple(merges), places))
    row_table, tables = now.row_table, {table.folder: table for table in now.pair_tables}
    for merge in merges:
        new = segments_of(messages, merge.table)
        if merge.table == ROWS:
            row_table = _replaced(row_table, merge, new)
        else:
            table = tables[merge.table]
            tables[merge.table] = replace(table, segments=_replaced(table.segments, merge, new))
    merged = replace(now, row_table=row_table, pair_tables=tuple(tables.values()))
    commit(store, replace(merged, version=now.version + 1, batches=(), log=()))


def _replaced(segments: tuple[Segment, ...], merge: Merge, new: tuple[Segment, ...]) -> tuple[Segment, ...]:
    return tuple(s for s in segments if s not in merge.segments) + new


def _merges(now: Manifest, plan: Plan, groups: PairGroups) -> list[Merge]:
    found = []
    segments, everything = due(now.row_table)
    if segments:
        key = tuple(f"c{plan.schema.position(name)}" for name in now.key)
        found.append(Merge(ROWS, segments, everything, key, now.key))
    for table, group in zip(now.pair_tables, groups.groups, strict=True):
        segments, everything = due(table.segments)
        if segments:
            by = None if group.sorted_by is None else f"f{group.sorted_by}"
            zoned = tuple(f"f{form}" for form in group.zoned)
            found.append(Merge(table.folder, segments, everything, ("k",), ("k",), by, zoned))
    return found
