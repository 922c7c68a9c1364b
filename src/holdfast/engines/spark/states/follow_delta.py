"""A state that follows the commits of a Delta table."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.engines.spark.sources.delta_table import open_delta, require_feed
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.changes import ordered_commits
from holdfast.engines.spark.states.follow_frames import Follower, Opened, follow
from holdfast.engines.states.feed_versions import batch_of_versions, last_applied
from holdfast.engines.states.follow_folder import OnBatch
from holdfast.engines.states.state_table import Outcome
from holdfast.tables.read_options import Origin


def follow_delta(
    spark: SparkSession,
    place: str,
    source: str,
    *,
    once: bool,
    limit: int | None,
    on_batch: OnBatch[Outcome],
    from_version: int | None = None,
    opened: Opened[Outcome],
) -> None:
    """Every commit of the Delta table that the state has not got, and with `once` none that comes later.

    Commits that have come together are one batch, their net change. The state knows the last version it has, from when
    it was made of the table or from the batch before; `from_version` tells the first to take where it knows none.
    """
    follower = delta_follower(
        spark, place, source, limit=limit, on_batch=on_batch, from_version=from_version, opened=opened
    )
    follow(spark, opened(spark, place).store, follower, once=once)


def delta_follower(
    spark: SparkSession,
    place: str,
    source: str,
    *,
    limit: int | None,
    on_batch: OnBatch[Outcome],
    from_version: int | None = None,
    opened: Opened[Outcome],
) -> Follower:
    """Takes in the commits of the Delta table that the state has not got."""
    state = opened(spark, place)
    table = open_delta(source)
    require_feed(table)
    feed = state.stream_name(table.feed)
    known = last_applied(
        state.manifest.streams.get(feed), from_version, f"the Delta table {table.name}", table.version, place
    )

    def take(session: SparkSession, first: int, last: int) -> None:
        now = opened(session, place)
        # A batch that comes again, or a stream that starts anew, may begin with commits that are in.
        start = min(max(first, now.manifest.streams.get(feed, known) + 1), last)
        name = batch_of_versions(table.name, start, last)
        changes = Table(ordered_commits(open_delta(source).changes(session, start, last)), name, origin=Origin("delta"))
        on_batch(now.apply_table(changes, stream=feed, number=last, limit=limit), name)

    def take_commits(commits: DataFrame) -> None:
        ends = commits.agg(F.min("version"), F.max("version")).first()
        if ends is not None and ends[0] is not None:
            take(commits.sparkSession, ends[0], ends[1])

    def look() -> None:
        first, last = opened(spark, place).manifest.streams.get(feed, known) + 1, open_delta(source).version
        if first <= last:
            take(spark, first, last)

    identity = state.stream_name(table.path)
    return Follower(source, identity, lambda: table.commits(spark, known), take_commits, look)
