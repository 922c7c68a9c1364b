"""Batches that come by themselves: commits of a Delta table, and micro-batches of a streaming frame."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from holdfast.engines.spark.session import is_connect
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.watching.watch import init_watch, watched
from holdfast.engines.states.changes import FEED_COLUMNS
from holdfast.engines.states.state_table import Outcome
from holdfast.engines.states.whole_table import WholeTable
from holdfast.errors import HoldfastError, OptionError, RunError
from holdfast.rules.rule import RuleSet
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.store import Store, open_store
from holdfast.states.versions import has_state

Opened = Callable[[SparkSession, str], WholeTable[Outcome, Any]]
STREAM = "stream"
_LOOK_EVERY, _LOOK_AGAIN = 0.2, 1.0


@dataclass(frozen=True)
class Follower:
    """What is followed: `new` streams what is new, and `take` takes that in.

    `look` does both without a stream: it finds what is there and the state has not got, and takes it in.
    """

    source: str
    identity: str
    new: Callable[[], DataFrame]
    take: Callable[[DataFrame], None]
    look: Callable[[], None]


def follow(spark: SparkSession, store: Store, follower: Follower, *, once: bool) -> None:
    """Takes in what is there and what comes; with `once`, what is there now.

    What does not fit ends it: what was before it is taken in, it is not, and the next run begins with it.
    """
    folder = store.local_folder
    if folder is None or is_connect(spark):
        # A stream needs a folder, and on Connect its batches run where nobody hears what they tell. The state knows
        # what it has.
        follower.look()
        while not once:
            time.sleep(_LOOK_AGAIN)
            follower.look()
        return
    failed: list[HoldfastError] = []

    def take(frame: DataFrame, _: int) -> None:
        try:
            follower.take(frame)
        except HoldfastError as problem:
            failed.append(problem)
            raise

    checkpoint = folder / f"streams/{hashlib.sha256(follower.identity.encode()).hexdigest()[:16]}"
    writer = follower.new().writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    query = (writer.trigger(availableNow=True) if once else writer.trigger(processingTime="1 second")).start()
    try:
        # Waiting in Spark's own call, an interrupt would cut its connection in the middle of an answer.
        while query.isActive:
            time.sleep(_LOOK_EVERY)
        problem = query.exception()
    finally:
        query.stop()
    if failed:
        raise failed[0]
    if problem is not None:
        reason = str(problem).strip().splitlines()
        raise RunError(f"following {follower.source} failed: {reason[0] if reason else problem}") from problem


def watch_frame(
    frame: DataFrame,
    rules: RuleSet,
    key: Sequence[str],
    checkpoint: str,
    *,
    batch: int | None,
    limit: int | None,
    trigger: Mapping[str, Any] | None,
    on_batch: Callable[[BatchOutcome], None] | None,
) -> StreamingQuery | BatchOutcome:
    """A query that takes in the changes of a streaming frame; of any other frame, the outcome of it as one batch.

    The state lies in the checkpoint, empty at first, and watches these rules from now on.
    """
    place = state_of(checkpoint)
    if frame.isStreaming:
        _require_folder(open_store(place))
    if has_state(open_store(place)):
        state = watched(frame.sparkSession, place)
        if state.other_rules(rules):
            state.change_rules(rules)
        state = state.newest()
    else:
        state = init_watch(empty_table(frame), rules, key, place, {})
    return follow_frame(frame, state, batch=batch, limit=limit, trigger=trigger, on_batch=on_batch, opened=watched)


def _require_folder(store: Store) -> None:
    if store.local_folder is None:
        raise OptionError(
            f"the checkpoint of a stream cannot be at {store.root}: Spark writes notes of its own into a folder there.",
            hint="name a folder, or take batches in with foreachBatch, whose batch and number holdfast.watch takes.",
        )


def empty_table(frame: DataFrame, name: str = "stream") -> Table:
    """A table without rows, of the columns whose changes the frame has."""
    fields = [field for field in frame.schema.fields if field.name not in FEED_COLUMNS]
    return Table(frame.sparkSession.createDataFrame([], StructType(fields)), name)


def state_of(checkpoint: str) -> str:
    """Where the state lies in a checkpoint."""
    return os.path.join(checkpoint, "state")


def follow_frame(
    frame: DataFrame,
    state: WholeTable[Outcome, Any],
    *,
    batch: int | None,
    limit: int | None,
    trigger: Mapping[str, Any] | None,
    on_batch: Callable[[Outcome], None] | None,
    opened: Opened[Outcome],
) -> StreamingQuery | Outcome:
    """A query that takes the changes of a streaming frame into the state; of any other frame, the outcome."""
    # Whole paths: Java, and this process by the time a batch comes, may be in another folder than the caller is now.
    place = state.store.root
    if not frame.isStreaming:
        return state.apply_frame(frame, stream=STREAM, number=given_number(batch), limit=limit)

    def take(rows: DataFrame, number: int) -> Outcome:
        return opened(rows.sparkSession, place).apply_frame(rows, stream=STREAM, number=number, limit=limit)

    return stream_batches(frame, state, take, trigger=trigger, on_batch=on_batch)


def given_number(batch: int | None) -> int:
    """The number of a batch that is no stream; OptionError where none is given."""
    if batch is None:
        raise OptionError(
            "a frame that is not a stream is one batch, and a batch needs its number.",
            hint="inside foreachBatch, pass batch=batch_id.",
        )
    return batch


def stream_batches(
    frame: DataFrame,
    state: WholeTable[Outcome, Any],
    take: Callable[[DataFrame, int], Outcome],
    *,
    trigger: Mapping[str, Any] | None,
    on_batch: Callable[[Outcome], None] | None,
) -> StreamingQuery:
    """A query that takes each batch of a streaming frame into a state that lies in a checkpoint."""
    if on_batch is not None and is_connect(frame.sparkSession):
        raise OptionError(
            "on Spark Connect the batches of a stream run on the server, where `on_batch` is never heard of.",
            hint="leave it out, and read what the batches did from the state: holdfast watch show, or its changes/.",
        )

    def take_and_tell(rows: DataFrame, number: int) -> None:
        outcome = take(rows, number)
        if on_batch is not None:
            on_batch(outcome)

    _require_folder(state.store)
    writer = frame.writeStream.foreachBatch(take_and_tell).option(
        "checkpointLocation", os.path.join(os.path.dirname(state.store.root), STREAM)
    )
    return (writer.trigger(**trigger) if trigger else writer).start()
