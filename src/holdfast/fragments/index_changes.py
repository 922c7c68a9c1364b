"""Rows of parts to rows in violation: each site's index takes them in, and sites settle groups they share.

A task gets all rows of some groups, of all sites. Out come the rows that came into violation of a part and those that
left it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.encode.codes import dense_ids, shared_codes
from holdfast.errors import RunError, StateError
from holdfast.fragments.door import Door
from holdfast.fragments.horizontal import Local, settle, settle_first
from holdfast.fragments.ids import Ids, from_arrow, hashes_of
from holdfast.fragments.shipment_plan import ShipmentPlan
from holdfast.fragments.site_index import IndexCounts, SiteIndex
from holdfast.fragments.site_tables import COUNTS, MEMBERS, table_name
from holdfast.states.manifest import StoredTable
from holdfast.states.messages import MESSAGE, Message, WrittenSegment, message_text, messages_in
from holdfast.states.segment import Bools, Ints, PieceTask
from holdfast.states.store import Store


@dataclass(frozen=True)
class SiteMeetings:
    """By part and groups of sites: whether rows of the one can meet rows of the other in one group."""

    apart: frozenset[tuple[int, int, int]] = frozenset()

    def meet(self, part: int, first: int, second: int) -> bool:
        return (part, *sorted((first, second))) not in self.apart


@dataclass(frozen=True)
class IndexChangesTask(PieceTask):
    """A task: rows of parts as placed_rows() gives them; (rule, n, k, message) of rows in violation of a part come out.

    `n` is 1 for a row that came into violation and -1 for one that left it. With `first` the index is empty.
    """

    store: Store
    tables: Mapping[str, StoredTable]
    plan: ShipmentPlan
    meetings: SiteMeetings
    version: int
    first: bool = False
    record: str | None = None

    def _piece(self, piece: pa.Table) -> Iterator[pa.RecordBatch]:
        kind = piece.column("k").type
        for message in messages_in([piece]):
            yield _message(kind, message)
        group, sign = piece.column("grp").to_numpy(), piece.column("sign").to_numpy()
        # Nearly all rows are in groups, and copying them takes time.
        single = piece.take(pa.array(np.flatnonzero((group < 0) & (sign != 0))))
        rules = self.rules[single.column("part").to_numpy()]
        yield from _violation_rows(rules, single.column("sign").to_numpy(), single.column("k"))
        grouped = group >= 0
        rows = piece if grouped.all() else piece.filter(pa.array(grouped))
        if rows.num_rows:
            yield from _Work(self, rows).settled()

    @property
    def rules(self) -> Ints:
        """The rule of each part."""
        return np.array([part.rule for part in self.plan.parts], np.int64)


class _Work:
    """The rows of one piece of work, the groups they are in, and what each group of sites makes of them."""

    def __init__(self, task: IndexChangesTask, rows: pa.Table) -> None:
        self.task = task
        self.part, self.grp = rows.column("part").to_numpy(), rows.column("grp").to_numpy()
        self.places = np.array([[settling.site for settling in group.settlings] for group in task.plan.groups])
        # Rows of one group of sites have their part settled at one site of it, which stands for all of them here.
        self.site: Ints = self.places[self.grp, self.part]
        self.sign = rows.column("sign").to_numpy()
        self.keys = rows.column("k")
        self.sides, groups = from_arrow(rows.column("sid")), from_arrow(rows.column("gid"))
        # Rows in the order of their sides, which is that of files; all else is told by side.
        self.order = np.argsort(hashes_of(self.sides))
        first, self.side = _runs(hashes_of(self.sides), self.order)
        _require_alike(self.sides, first, self.side)
        places, group_of_side = _distinct(hashes_of(groups[first]))
        places = first[places]
        self.ids: Ids = groups[places]
        self.part_of: Ints = self.part[places]
        self.group: Ints = group_of_side[self.side]
        _require_alike(groups, places, self.group)
        # All groups of sites have a place at the table; whether they have rows of a group they look up when told of it.
        self.local = [self._nothing(number) for number in range(len(task.plan.groups))]
        self.indexes: dict[int, SiteIndex] = {}
        self.counted: dict[int, list[pa.Table]] = {}
        self.written: list[WrittenSegment] = []

    def _nothing(self, number: int) -> Local:
        size = len(self.ids)
        before, after = IndexCounts.nothing(size), IndexCounts.nothing(size)
        touched, read = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        return Local(number, self.places[number, self.part_of], before, after, touched, read)

    def settled(self) -> Iterator[pa.RecordBatch]:
        door = Door(self.task.record)
        moved = [self._take_in(number) for number in range(len(self.local))]
        if self.task.first:
            settle_first(self.ids, self.local, self._reach, door)
        else:
            settle(self.ids, self.local, self._reach, door, self._load)
        kind = self.keys.type
        for local, rows in zip(self.local, moved, strict=True):
            yield from self._violations(local, rows)
            self._count_groups(local)
        for site, entries in self.counted.items():
            self.written += self._index(site).enter_counts(pa.concat_tables(entries), base=self.task.first)
        for written in self.written:
            yield _message(kind, written)
        yield _message(kind, door.shipped)

    def _reach(self, sender: int, receiver: int) -> Bools:
        parts = self.task.plan.parts
        meets = np.array([self.task.meetings.meet(i, sender, receiver) for i in range(len(parts))], np.bool_)
        return np.asarray(meets[self.part_of], np.bool_)

    def _index(self, site: int) -> SiteIndex:
        if site not in self.indexes:
            counts, members = (self.task.tables[table_name(site, kind)] for kind in (COUNTS, MEMBERS))
            self.indexes[site] = SiteIndex(self.task.store, counts, members, self.task.version)
        return self.indexes[site]

    def _by_site(self, number: int, which: Bools) -> Iterator[tuple[int, Ints]]:
        """The groups among those given, by the site of the group of sites that settles their part."""
        at = np.flatnonzero(which)
        sites = self.local[number].places[at]
        for site in np.flatnonzero(np.bincount(sites)):
            yield int(site), at[sites == site]

    def _load(self, local: Local, which: Bools) -> None:
        for site, at in self._by_site(local.site, which):
            counts = self._index(site).look_up(self.ids[at])
            local.before.put(at, counts)
            local.after.put(at, counts)
        local.read |= which

    def _take_in(self, number: int) -> Ints:
        """The rows of these sites, by position, once their sides are counted and their groups are as they are now."""
        local = self.local[number]
        rows: Ints = self.order[self.grp[self.order] == number]
        local.touched[self.group[rows]] = True
        if not self.task.first:
            self._load(local, local.touched.copy())
        sites = self.site[rows]
        for site in np.flatnonzero(np.bincount(sites)):
            self._take_in_site(local, int(site), rows if (sites == site).all() else rows[sites == site])
        return rows

    def _take_in_site(self, local: Local, site: int, rows: Ints) -> None:
        """The same of the rows that one site settles, which are in the order of their sides."""
        index = self._index(site)
        new = np.ones(len(rows), np.bool_)
        new[1:] = self.side[rows[1:]] != self.side[rows[:-1]]
        starts, side = np.flatnonzero(new), np.cumsum(new) - 1
        ids, group = self.sides[rows[starts]], self.group[rows[starts]]
        before = IndexCounts.nothing(len(ids)) if self.task.first else index.look_up(ids)
        after = before.copy()
        after.n += np.add.reduceat(self.sign[rows].astype(np.int64), starts)
        if (after.n < 0).any():
            raise StateError(f"the state {self.task.store.root} is damaged: a side would lose more rows than it has.")
        turned = (before.n == 0) != (after.n == 0)
        np.add.at(local.after.n, group[turned], np.where(after.n[turned] > 0, 1, -1))
        for word in range(2):
            np.bitwise_xor.at(local.after.other[:, word], group[turned], ids[turned, word])
        self.counted.setdefault(site, []).append(index.entries(ids, before, after))
        # A row that leaves a side and comes back to it in one batch is an update that says nothing here.
        really = self._really(side, rows)
        moved = rows if really.all() else rows[really]
        self.written += index.enter_rows(
            self.sides[moved], self.keys.take(pa.array(moved)), self.sign[moved], base=self.task.first
        )

    def _really(self, side: Ints, rows: Ints) -> Bools:
        signs = self.sign[rows]
        if not ((signs < 0).any() and (signs > 0).any()):
            return np.ones(len(rows), np.bool_)
        codes = shared_codes([self.keys.take(pa.array(rows))])[0].codes
        which = np.unique(dense_ids([side.astype(np.int64), codes], len(rows)), return_inverse=True)[1]
        return np.asarray((np.bincount(which, weights=signs) != 0)[which], np.bool_)

    def _violations(self, local: Local, rows: Ints) -> Iterator[pa.RecordBatch]:
        """The rows that came into violation at these sites, and those that left it."""
        was, now = local.before.violated[self.group[rows]], local.after.violated[self.group[rows]]
        moved = rows[np.where(self.sign[rows] < 0, was, now)]
        yield from _violation_rows(self.task.rules[self.part[moved]], self.sign[moved], self.keys.take(pa.array(moved)))
        came = local.after.violated & ~local.before.violated & (local.before.n == 1)
        left = local.before.violated & ~local.after.violated & (local.after.n == 1)
        gone = rows[self.sign[rows] < 0]
        for sign, which, source in ((1, came, local.before), (-1, left, local.after)):
            for site, at in self._by_site(local.site, which):
                yield from self._that_stay(site, at, source.other[at], gone, sign)

    def _that_stay(self, site: int, groups: Ints, sides: Ids, gone: Ints, sign: int) -> Iterator[pa.RecordBatch]:
        """The rows on these sides, of different groups, that were there before and are not among the `gone`."""
        which, keys = self._index(site).rows_of(sides, self.keys.type)
        place = np.full(len(self.ids), -1, np.int64)
        place[groups] = np.arange(len(groups))
        gone = gone[place[self.group[gone]] >= 0]
        from_side = place[self.group[gone]]
        on_side = (self.sides[gone] == sides[from_side]).all(axis=1)
        gone, from_side = gone[on_side], from_side[on_side]
        codes = np.concatenate([coded.codes for coded in shared_codes([keys, self.keys.take(pa.array(gone))])])
        both = dense_ids([np.concatenate([which, from_side]), codes], len(codes))
        stay = np.flatnonzero(~np.isin(both[: len(keys)], both[len(keys) :]))
        rules = self.task.rules[self.part_of[groups]]
        signs = np.full(len(stay), sign, np.int64)
        yield from _violation_rows(rules[which[stay]], signs, keys.take(pa.array(stay)))

    def _count_groups(self, local: Local) -> None:
        for site, at in self._by_site(local.site, local.touched | local.read):
            entries = self._index(site).entries(self.ids[at], local.before.take(at), local.after.take(at))
            self.counted.setdefault(site, []).append(entries)


def _distinct(hashes: Ints) -> tuple[Ints, Ints]:
    """A place of each distinct hash, in order of the hashes; and for each place, the number of its hash."""
    return _runs(hashes, np.argsort(hashes))


def _runs(hashes: Ints, order: Ints) -> tuple[Ints, Ints]:
    """A place of each distinct hash, in order of the hashes; and for each place, the number of its hash.

    `order` is that of the hashes.
    """
    ordered = hashes[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    return order[new], number


def _require_alike(ids: Ids, places: Ints, number: Ints) -> None:
    """RunError where two ids that have one number, by their hashes, are not the same."""
    if any(not (ids[places, word][number] == ids[:, word]).all() for word in range(ids.shape[1])):
        raise RunError(
            "two ids of groups or sides begin alike, so that they cannot be told apart.", hint="make a new state."
        )


def _violation_rows(rules: Ints, signs: Any, keys: pa.ChunkedArray) -> Iterator[pa.RecordBatch]:
    counts = {"rule": pa.array(rules.astype(np.int32)), "n": pa.array(signs.astype(np.int32))}
    rows = pa.table({**counts, "k": keys, MESSAGE: pa.nulls(len(keys), pa.string())})
    yield from rows.combine_chunks().to_batches(max_chunksize=100_000)


def _message(kind: pa.DataType, message: Message) -> pa.RecordBatch:
    columns = {"rule": pa.array([-1], pa.int32()), "n": pa.array([0], pa.int32()), "k": pa.nulls(1, kind)}
    return pa.RecordBatch.from_pydict({**columns, MESSAGE: pa.array([message_text(message)])})
