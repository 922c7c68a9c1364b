"""Files of a state that have become many become few, in a version of their own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from holdfast.engines.spark.states.task_messages import task_messages
from holdfast.states.compaction import Merge, MergeTask, places_for
from holdfast.states.manifest import Manifest
from holdfast.states.messages import segments_of
from holdfast.states.store import Store
from holdfast.states.versions import commit


def merge_files(spark: SparkSession, store: Store, now: Manifest[Any], merges: Sequence[Merge]) -> None:
    """A new version in which the files of each merge are one, or few; a warning where that fails."""
    if not merges:
        return
    try:
        _merge_files(spark, store, now, merges)
    except Exception as problem:
        # The batch is in, and is told so; the next one tries again.
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        warnings.warn(f"the files of the state {store.root} were not merged: {reason}", stacklevel=2)


def _merge_files(spark: SparkSession, store: Store, now: Manifest[Any], merges: Sequence[Merge]) -> None:
    places = tuple(places_for(sum(s.rows for s in m.segments)) if m.everything else 1 for m in merges)
    work = [(i, place) for i, count in enumerate(places) for place in range(count)]
    frame = spark.createDataFrame(work, "merge int, place int").repartition(min(len(work), 64))
    messages = task_messages(frame, MergeTask(store, tuple(merges), places))
    tables = [now.body.tables[m.table].replacing(m.segments, segments_of(messages, m.table)) for m in merges]
    commit(store, replace(now, version=now.version + 1, body=now.body.with_tables(tables), batches=(), log=()))
