"""A state that follows the commits of an Iceberg table, which is read in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from holdfast.engines.states.feed_versions import batch_of_versions, last_applied
from holdfast.engines.states.follow_folder import OnBatch, Opened
from holdfast.engines.states.state_table import Outcome
from holdfast.tables.iceberg_table import open_iceberg, require_versions


@dataclass(frozen=True)
class IcebergFollower(Generic[Outcome]):
    """Takes in the commits that a state has not got; those that have come together are one batch, their net change.

    The state knows the last version it has, from when it was made of the table or from the batch before; `from_version`
    tells the first to take where it knows none.
    """

    source: str
    from_version: int | None
    limit: int | None
    on_batch: OnBatch[Outcome]

    def look(self, opened: Opened[Outcome]) -> None:
        """Takes in what is there now."""
        table, state = open_iceberg(self.source), opened()
        require_versions(table)
        feed = state.stream_name(table.feed)
        known = last_applied(
            state.manifest.streams.get(feed),
            self.from_version,
            f"the Iceberg table {table.name}",
            table.version,
            str(state.store.root),
        )
        known = max(known, 0)  # before its first commit a table is empty
        if known == table.version:
            return
        name = batch_of_versions(table.name, known + 1, table.version)
        rows = state.engine.table_of(state.engine.rows_of(table.changes_after(known)), name)
        outcome = state.apply_table(rows, stream=feed, number=table.version, limit=self.limit)
        self.on_batch(outcome, name)
