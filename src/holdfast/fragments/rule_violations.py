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
from holdfast.states.segment import as_typed, entries_between, entries_with, nullable, present, write_segment
from holdfast.states.store import Store
from holdfast.tables.pieces import pieces_of


@dataclass(frozen=True)
class RuleViolationsTask:
    """A task: (rule, n, k, message) with the hash `h` of key and rule, all of each; only messages come out.

    The log lists up to `limit` rows of each rule that came, and that went; with `logged` False, none.
    """

    store: Store
    table: StoredTable
    names: tuple[str, ...]
    version: int
    limit: int
    logged: bool = True

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in pieces_of(batches):
            yield from self._piece(nullable(table))

    def _piece(self, piece: pa.Table) -> Iterator[pa.RecordBatch]:
        yield message_batch(*messages_in([piece]))
        rows = piece.filter(piece.column(MESSAGE).is_null())
        if rows.num_rows:
            yield from map(message_batch, self._changed(rows))

    def _changed(self, rows: pa.Table) -> Iterator[Message]:
        kind = rows.column("k").type
        types = {"h": pa.int64(), "rule": pa.int32(), "n": pa.int32(), "k": kind, "v": pa.int32(), "gone": pa.uint8()}
        hashes = rows.column("h").to_numpy()
        tables = entries_with(self.store, self.table.segments, np.unique(hashes))
        empty = pa.schema(list(types.items())).empty_table()
        entries = pa.concat_tables([empty, *(as_typed(table, types) for table in tables)])
        there = entries.filter(pa.array(present(entries, entries.column("k"))))
        own = rows.select(["h", "rule", "n", "k"])
        both = pa.concat_tables(
            [there.select(own.column_names), as_typed(own, {n: types[n] for n in own.column_names})]
        )
        which = _numbered(both)
        before = np.bincount(which[: len(there)], there.column("n").to_numpy(), which.max() + 1).astype(np.int64)
        delta = np.bincount(which[len(there) :], own.column("n").to_numpy(), which.max() + 1).astype(np.int64)
        after = before + delta
        assert (after >= 0).all(), "no row leaves a violation that it was not in"
        # One line for each pair of rule and key, wherever it was first seen.
        _, first = np.unique(which, return_index=True)
        moved = delta != 0
        gone, come = first[moved & (before > 0)], first[moved & (after > 0)]
        if len(gone) + len(come):
            entered = [
                self._entries(both, at, count, mark)
                for at, count, mark in (
                    (gone, before[moved & (before > 0)], 1),
                    (come, after[moved & (after > 0)], 0),
                )
            ]
            segment = write_segment(
                self.store,
                self.table.name,
                pa.concat_tables(entered),
                base=not self.table.segments and not self.logged,
            )
            yield WrittenSegment(self.table.name, segment)
        yield from self._counted(both, first[(before == 0) & (after > 0)], first[(before > 0) & (after == 0)])

    def _entries(self, both: pa.Table, at: Any, count: Any, gone: int) -> pa.Table:
        entries = both.select(["h", "rule", "k"]).take(pa.array(at))
        return (
            entries.append_column("n", pa.array(count.astype(np.int32)))
            .append_column("v", pa.array(np.full(len(at), self.version, np.int32)))
            .append_column("gone", pa.array(np.full(len(at), gone, np.uint8)))
        )

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
            there = entries.filter(pa.array(present(entries, entries.column("k"))))
            rules = pa.array(self.names).take(there.column("rule").combine_chunks())
            rows = pa.table({"rule": rules, "key": there.column("k")})
            yield from rows.combine_chunks().to_batches(max_chunksize=10_000)
