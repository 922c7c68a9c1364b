"""A state that follows the commits of a table of a catalog that Spark has, by the change feed of that catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from holdfast.engines.spark.sources.changelog import open_changelog
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.changes import ordered_commits
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states.feed_versions import batch_of_versions, last_applied
from holdfast.engines.states.follow_folder import OnBatch, Opened
from holdfast.engines.states.state_table import Outcome
from holdfast.errors import StateError
from holdfast.tables.read_options import Origin


@dataclass(frozen=True)
class ChangelogFollower(Generic[Outcome]):
    """Takes in the commits that a state has not got; those that have come together are one batch, their net change.

    It reads the feed as a table, and not as a stream: a stream may hold the last commit back until another one comes.
    `from_version` tells the first version to take: a catalog does not say which one a state was made of.
    """

    source: str
    from_version: int | None
    limit: int | None
    on_batch: OnBatch[Outcome]

    def look(self, opened: Opened[Outcome]) -> None:
        """Takes in what is there now."""
        state = opened()
        assert isinstance(state.engine, SparkEngine), "only Spark reads tables of its catalogs"
        spark, place = state.engine.spark, str(state.store.root)
        table = open_changelog(spark, self.source)
        feed = state.stream_name(table.feed)
        noted = state.manifest.streams.get(feed)
        if noted is None and self.from_version is None:
            raise StateError(
                f"nothing tells which versions of the table {table.name} the state {place} has: catalogs of Spark do "
                "not say which one they read.",
                hint="name the first version that it has not got with --from-version; after that the state knows.",
            )
        known = last_applied(noted, self.from_version, f"the table {table.name}", None, place)
        # Versions may leave numbers out, so that the next one is any after the one that is in, which is a version.
        first, inclusive = (known + 1, True) if noted is None else (known, False)
        last = table.newest(spark, first, inclusive=inclusive)
        if last is None:
            return
        name = batch_of_versions(table.name, known + 1, last)
        changes = ordered_commits(table.changes(spark, first, last, inclusive=inclusive))
        rows = Table(changes, name, origin=Origin("table"))
        self.on_batch(state.apply_table(rows, stream=feed, number=last, limit=self.limit), name)
