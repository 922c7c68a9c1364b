"""Streaming frames of changes, one of each of several tables, as one stream: what comes together is one batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from holdfast.engines.spark.kept import KeptFrame
from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.states.follow_frames import STREAM, empty_table, given_number, state_of, stream_batches
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.spark.tables.struct_rows import rows_of, struct_rows
from holdfast.engines.states.changes import FILE_PATH, FILE_START
from holdfast.engines.states.watched_tables import JointWatch, init_watch_tables, opened_watch
from holdfast.errors import OptionError
from holdfast.rules.rule import RuleSet
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.store import open_store
from holdfast.states.versions import has_state


def watch_frames(
    frames: Mapping[str, DataFrame],
    rules: RuleSet,
    keys: Mapping[str, tuple[str, ...]],
    checkpoint: str,
    *,
    batch: int | None,
    limit: int | None,
    trigger: Mapping[str, Any] | None,
    on_batch: Callable[[BatchOutcome], None] | None,
) -> StreamingQuery | BatchOutcome:
    """A query that takes in the changes of a streaming frame of each table; of other frames, the outcome of them as one
    batch.

    The state lies in the checkpoint, its tables empty at first. `watch_frame` is its twin for one table.
    """
    spark = next(iter(frames.values())).sparkSession
    streaming = [name for name, frame in frames.items() if frame.isStreaming]
    if streaming and len(streaming) < len(frames):
        raise OptionError(
            f"of the frames, {', '.join(streaming)} is a stream and others are not.",
            hint="give a stream of each table, or inside foreachBatch the frames of a batch.",
        )
    place = state_of(checkpoint)
    if has_state(open_store(place)):
        state = _opened(spark, place)
        if state.other_rules(rules):
            state.change_rules(rules)
    else:
        tables = {name: empty_table(frame, name) for name, frame in frames.items()}
        state = init_watch_tables(SparkEngine(spark), tables, rules, keys, place, {name: {} for name in frames})
    if not streaming:
        return state.apply_frames(frames, stream=STREAM, number=given_number(batch), limit=limit)

    def take(rows: DataFrame, number: int) -> BatchOutcome:
        kept = KeptFrame(rows)  # each table's rows are taken from it
        try:
            parts = {name: rows_of(kept.frame, i) for i, name in enumerate(frames)}
            return _opened(rows.sparkSession, place).apply_frames(parts, stream=STREAM, number=number, limit=limit)
        finally:
            kept.close()

    return stream_batches(struct_rows(map(_placed, frames.values())), state, take, trigger=trigger, on_batch=on_batch)


def _opened(spark: SparkSession, place: str) -> JointWatch:
    state = opened_watch(SparkEngine(spark), place)
    if not isinstance(state, JointWatch):
        raise OptionError(
            f"the state {place} is of one table, and frames of several are given.",
            hint="name another checkpoint.",
        )
    return state


def _placed(frame: DataFrame) -> DataFrame:
    """The frame with the file that each row is in, and where: a batch takes the changes of a key in this order."""
    try:
        with query_log_off():
            path = F.col("_metadata.file_path").alias(FILE_PATH)
            placed = frame.select("*", path, F.col("_metadata.file_block_start").cast("bigint").alias(FILE_START))
            placed.schema  # noqa: B018 (Connect finds out only now whether the rows come from files)
            return placed
    except AnalysisException:
        return frame
