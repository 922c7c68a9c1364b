"""The index of one site: of each group of rows it settles, how many sides there are; of each side, its rows (IDX).

A group is the rows of a part that agree on its left side; a side, those that agree on its right side too. For a group
the index keeps the number of its sides and the exclusive or of their ids, which is the side itself when there is one:
so no change looks at more than it touches. Beside it stands whether the group is in violation over all sites, and which
other sites may have rows of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.fragments.ids import Ids, from_arrow, hashes_of, no_ids, to_arrow
from holdfast.states.manifest import StoredTable
from holdfast.states.messages import WrittenSegment
from holdfast.states.segment import Bools, Ints, marked, rows_with, write_segment
from holdfast.states.store import Store

_COUNTS = {
    "h": pa.int64(),
    "id": pa.binary(),
    "n": pa.int64(),
    "other": pa.binary(),
    "violated": pa.bool_(),
    "peers": pa.int64(),
}


@dataclass
class IndexCounts:
    """What the index says of some groups or sides, in their order: 0 of those it does not know.

    For a group `n` is the number of its sides and `other` the exclusive or of their ids; for a side, `n` its rows.
    `peers` has a bit for each other site that may have rows of the group.
    """

    n: Ints
    other: Ids
    violated: Bools
    peers: Ints

    @classmethod
    def nothing(cls, size: int) -> IndexCounts:
        return cls(np.zeros(size, np.int64), no_ids(size), np.zeros(size, np.bool_), np.zeros(size, np.int64))

    def copy(self) -> IndexCounts:
        return IndexCounts(self.n.copy(), self.other.copy(), self.violated.copy(), self.peers.copy())

    def take(self, at: Any) -> IndexCounts:
        return IndexCounts(self.n[at], self.other[at], self.violated[at], self.peers[at])

    def put(self, at: Any, new: IndexCounts) -> None:
        self.n[at], self.other[at], self.violated[at], self.peers[at] = new.n, new.other, new.violated, new.peers

    def differs(self, other: IndexCounts) -> Bools:
        moved = (self.n != other.n) | (self.other != other.other).any(axis=1)
        return np.asarray(moved | (self.violated != other.violated) | (self.peers != other.peers), np.bool_)


@dataclass(frozen=True)
class SiteIndex:
    """The files of a site's index at one version. Reads cost what is asked for; nothing is held in memory."""

    store: Store
    counts: StoredTable
    members: StoredTable
    version: int

    def look_up(self, ids: Ids) -> IndexCounts:
        """What is known of the ids, which are different."""
        counts = IndexCounts.nothing(len(ids))
        at, entries = self._look_up(self.counts, ids, "id", _COUNTS, key="id")
        counts.n[at] = entries.column("n").to_numpy()
        counts.other[at] = from_arrow(entries.column("other"))
        counts.violated[at] = entries.column("violated").to_numpy().astype(np.bool_)
        counts.peers[at] = entries.column("peers").to_numpy()
        return counts

    def rows_of(self, sides: Ids, kind: pa.DataType) -> tuple[Ints, pa.ChunkedArray]:
        """The keys of the rows on these different sides, and for each which side it is on."""
        types = {"h": pa.int64(), "side": pa.binary(), "k": kind}
        at, entries = self._look_up(self.members, sides, "side", types, key="k")
        return at, entries.column("k")

    def _look_up(
        self, table: StoredTable, ids: Ids, column: str, types: Mapping[str, pa.DataType], *, key: str
    ) -> tuple[Ints, pa.Table]:
        """The entries of the table with one of the ids in the column, and for each the place of its id."""
        hashes = hashes_of(ids)
        order = np.argsort(hashes, kind="stable")
        entries = rows_with(self.store, table.segments, hashes, types, key=(key,))
        own = from_arrow(entries.column(column))
        at = order[np.searchsorted(hashes[order], hashes_of(own))]
        same = (ids[at] == own).all(axis=1)
        return np.asarray(at[same], np.int64), entries.filter(pa.array(same))

    def entries(self, ids: Ids, before: IndexCounts, after: IndexCounts) -> pa.Table:
        """What the counts' files have to say so that they are as after this version."""
        moved = before.differs(after)
        gone, there = moved & (before.n > 0), moved & (after.n > 0)
        sides = ((gone, before, True), (there, after, False))
        return pa.concat_tables([self._entries(ids[at], counts.take(at), gone=mark) for at, counts, mark in sides])

    def enter_counts(self, entries: pa.Table, *, base: bool) -> Iterator[WrittenSegment]:
        """The file with the entries, unless there are none."""
        if len(entries):
            segment = write_segment(self.store, self.counts.name, entries, base=base)
            yield WrittenSegment(self.counts.name, segment)

    def _entries(self, ids: Ids, counts: IndexCounts, *, gone: bool) -> pa.Table:
        columns = (hashes_of(ids), to_arrow(ids), counts.n, to_arrow(counts.other), counts.violated, counts.peers)
        return marked(pa.table(list(map(pa.array, columns)), names=list(_COUNTS)), self.version, gone=gone)

    def enter_rows(
        self, sides: Ids, keys: pa.ChunkedArray, signs: NDArray[np.int32], *, base: bool
    ) -> Iterator[WrittenSegment]:
        """The file that says which rows go from their sides (sign -1) and come to them, unless there are none."""
        if not len(sides):
            return
        rows = pa.table({"h": pa.array(hashes_of(sides)), "side": to_arrow(sides), "k": keys})
        entries = marked(rows, self.version, gone=signs < 0)
        segment = write_segment(self.store, self.members.name, entries, base=base)
        yield WrittenSegment(self.members.name, segment)
