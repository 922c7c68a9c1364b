"""Rows in violation of parts to rows in violation of rules: what came, what went, and a table of all that are now.

A row may break several parts of one rule; it is in violation of the rule as long as it breaks one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.encode.codes import dense_ids, shared_codes
from holdfast.errors import StateError
from holdfast.states.change_log import write_log
from holdfast.states.manifest import StoredTable
from holdfast.states.messages import (
    MESSAGE,
    LogFile,
    Message,
    Unit,
    ViolationCount,
    WrittenSegment,
    message_batch,
    messages_in,
)
from holdfast.states.segment import PieceTask, as_typed, entries_between, marked, present, rows_with, write_segment
from holdfast.states.store import Store


@dataclass(frozen=True)
class RuleViolationsTask(PieceTask):
    """A task: (rule, n, k, message) with the hash `h` of key and rule, all of each; only messages come out.

    The log lists up to `limit` rows of each rule that came, and that went; with `logged` False, none.
    """

    store: Store
    table: StoredTable
    names: tuple[str, ...]
    version: int
    limit: int
    logged: bool = True

    def _piece(self, piece: pa.Table) -> Iterator[pa.RecordBatch]:
        yield message_batch(*messages_in([piece]))
        rows = piece.filter(piece.column(MESSAGE).is_null())
        if rows.num_rows:
            yield from map(message_batch, self._changed(rows))

    def _changed(self, rows: pa.Table) -> Iterator[Message]:
        types = {"h": pa.int64(), "rule": pa.int32(), "n": pa.int32(), "k": rows.column("k").type}
        there = rows_with(self.store, self.table.segments, rows.column("h").to_numpy(), types)
        own = as_typed(rows, types)
        both = pa.concat_tables([there.select(own.column_names), own])
        which = _numbered(both)
        before = np.bincount(which[: len(there)], there.column("n").to_numpy(), which.max() + 1).astype(np.int64)
        delta = np.bincount(which[len(there) :], own.column("n").to_numpy(), which.max() + 1).astype(np.int64)
        after = before + delta
        if (after < 0).any():
            raise StateError(f"the state {self.store.root} is damaged: a row would leave a violation it was not in.")
        # One line for each pair of rule and key, wherever it was first seen.
        _, first = np.unique(which, return_index=True)
        moved = delta != 0
        gone, come = first[moved & (before > 0)], first[moved & (after > 0)]
        if len(gone) + len(come):
            left = self._entries(both, gone, before[moved & (before > 0)], gone=True)
            entered = pa.concat_tables([left, self._entries(both, come, after[moved & (after > 0)], gone=False)])
            base = not self.table.segments and not self.logged
            segment = write_segment(self.store, self.table.name, entered, base=base)
            yield WrittenSegment(self.table.name, segment)
        yield from self._counted(both, first[(before == 0) & (after > 0)], first[(before > 0) & (after == 0)])

    def _entries(self, both: pa.Table, at: Any, count: Any, *, gone: bool) -> pa.Table:
        rows = both.select(["h", "rule", "k"]).take(pa.array(at))
        return marked(rows.append_column("n", pa.array(count.astype(np.int32))), self.version, gone=gone)

    def _counted(self, both: pa.Table, added: Any, removed: Any) -> Iterator[Message]:
        rules = both.column("rule").to_numpy()
        counts = [np.bincount(rules[at], minlength=len(self.names)) for at in (added, removed)]
        for rule in np.flatnonzero(counts[0] + counts[1]):
            yield ViolationCount(self.names[rule], Unit.ROWS, int(counts[0][rule]), int(counts[1][rule]))
        if not self.logged or not len(added) + len(removed):
            return
        listed = [_first_of_each(positions, rules, self.limit) for positions in (added, removed)]
        at = np.concatenate(listed)
        keys = both.column("k").take(pa.array(at))
        log = pa.table(
            {
                "rule": pa.array(self.names).take(pa.array(rules[at])),
                "left": keys,
                "right": pa.nulls(len(at), keys.type),
                "change": pa.array(np.repeat(np.array([1, -1], np.int8), [len(positions) for positions in listed])),
            }
        )
        yield LogFile(write_log(self.store, self.version, log))


def _numbered(rows: pa.Table) -> Any:
    """Small numbers that are equal exactly where rule and key are."""
    codes = shared_codes([rows.column("k")])[0].codes
    parts = [codes, rows.column("rule").to_numpy().astype(np.int64)]
    return np.unique(dense_ids(parts, rows.num_rows), return_inverse=True)[1]


def _first_of_each(at: Any, rules: Any, limit: int) -> Any:
    order = np.argsort(rules[at], kind="stable")
    ordered = rules[at][order]
    starts = np.searchsorted(ordered, ordered, "left")
    return at[order[np.arange(len(order)) - starts < limit]]


@dataclass(frozen=True)
class PresentViolationsTask:
    """A task: numbers of ranges of hashes, `id`; out come (rule, key) of the rows that are in violation now."""

    store: Store
    table: StoredTable
    places: int
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place in (number for batch in batches for number in batch.column("id").to_pylist()):
            entries = entries_between(self.store, self.table.segments, place, self.places)
            if entries is None:
                continue
            there = present(entries, entries.column("k"))
            rules = pa.array(self.names).take(there.column("rule").combine_chunks())
            rows = pa.table({"rule": rules, "key": there.column("k")})
            yield from rows.combine_chunks().to_batches(max_chunksize=10_000)
