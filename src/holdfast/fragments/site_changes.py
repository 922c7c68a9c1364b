"""A batch of changes at the sites: what each loses and gains, that each change may be, and the ids that follow.

A task gets the changes of some keys, all of each. Every site looks up what it has under these keys; the net effect goes
along the plan of the row's sites, and out come rows of parts with their groups and sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.codes import shared_codes
from holdfast.fragments.door import Door
from holdfast.fragments.id_packing import INSIDE
from holdfast.fragments.ids import Ids, hashes_of, no_ids, packed, to_arrow, to_column, words
from holdfast.fragments.shipment_plan import ShipmentPlan
from holdfast.fragments.site_tables import ROWS, HeldAtoms, table_name
from holdfast.fragments.vertical import Known, Placed, ShippedIds
from holdfast.states.manifest import StoredTable
from holdfast.states.messages import MESSAGE, Message, Refusal, RefusedChange, RowCount, WrittenSegment, message_text
from holdfast.states.row_changes import Misfit, NetEffect, is_null_key, net_effect
from holdfast.states.segment import Ints, PieceTask, Segment, marked, rows_with, write_segment
from holdfast.states.store import Store

Bytes = NDArray[np.uint8]
# The group of sites of a row that satisfies no condition, and of one that satisfies several.
_NOWHERE, _TWICE = -1, -2


@dataclass(frozen=True)
class SiteRows:
    """Rows as one site knows them: keys with their hashes, and packed ids and bits."""

    hashes: Ints
    keys: pa.ChunkedArray
    ids: Ids
    bits: Bytes

    def take(self, at: Ints) -> SiteRows:
        # Lines of any width are copied whole; `self.ids[at]` would copy word by word.
        ids, bits = np.take(self.ids, at, axis=0), np.take(self.bits, at, axis=0)
        return SiteRows(self.hashes[at], self.keys.take(pa.array(at)), ids, bits)

    def slice(self, start: int, end: int) -> SiteRows:
        keys = self.keys.slice(start, end - start)
        return SiteRows(self.hashes[start:end], keys, self.ids[start:end], self.bits[start:end])

    def entries(self, version: int, *, gone: bool) -> pa.Table:
        columns = {"k": self.keys, "ids": to_column(self.ids), "bits": to_column(self.bits)}
        return marked(pa.table({"h": pa.array(self.hashes), **columns}), version, gone=gone)


@dataclass(frozen=True)
class SiteChangesTask(PieceTask):
    """A task: changes with key `k`, its hash `h`, type `ct`, place `o0`, `o1`, `o2`, packed `ids`, `bits`, `inside`.

    Out come rows of parts (`sign` -1 or 1) and messages (`sign` 0): files written, rows that came and went, what was
    shipped, or why the batch is refused.
    `whole` says whether the changes have all columns of the table.
    """

    store: Store
    tables: Mapping[str, StoredTable]
    plan: ShipmentPlan
    held_atoms: HeldAtoms
    version: int
    key_parts: int
    whole: bool
    record: str | None = None

    def _piece(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        keys = changes.column("k")
        if is_null_key(keys, self.key_parts).any():
            yield message_row(keys.type, RefusedChange(Refusal.NULL_KEY, None))
            return
        now = [self._now(site, changes) for site in range(len(self.plan.sites.sites))]
        codes = [coded.codes for coded in shared_codes([keys, *(rows.keys for rows in now)])]
        firsts = [group.sites[0] for group in self.plan.groups]
        now_codes = np.concatenate([codes[1 + site] for site in firsts])
        groups = _groups_of(packed(changes.column("inside"), len(self.plan.groups)))
        effect = net_effect(changes, codes[0], now_codes, whole=self.whole)
        if isinstance(effect, NetEffect):
            effect = _stray(effect.come, groups) or effect
        if isinstance(effect, Misfit):
            yield message_row(keys.type, RefusedChange.of(effect.reason, keys[effect.change].as_py()))
            return
        go, come = effect.go, effect.come
        starts = np.cumsum([0, *(len(codes[1 + site]) for site in firsts)])
        leaving = np.searchsorted(starts, go, "right") - 1
        door, groups_rows = Door(self.record), []
        whole = unpacked_rows(changes, 2 * len(self.held_atoms.all_columns), len(self.held_atoms.atoms))
        for number in range(len(self.plan.groups)):
            new = come[groups[come] == number]
            old_codes = now_codes[go[leaving == number]]
            old_rows = {site: now[site].take(_places(codes[1 + site], old_codes)) for site in self._sites(number)}
            new_rows = {site: self._projected(whole, site, new) for site in self._sites(number)}
            moved = self._moved(number, old_rows, new_rows, (old_codes, codes[0][new]))
            if moved is None:
                continue
            goes, comes = moved
            for site, segment in self._written(goes, comes):
                yield message_row(keys.type, WrittenSegment(table_name(site, ROWS), segment))
            both = {site: _both(goes[site], comes[site]) for site in goes}
            firsts_moved = goes[firsts[number]], comes[firsts[number]]
            signs = np.repeat(np.array([-1, 1], np.int8), [len(rows.hashes) for rows in firsts_moved])
            groups_rows.append(GroupRows.shipped(self.plan, self.held_atoms, number, both, signs, door))
        yield message_row(keys.type, door.shipped)
        yield message_row(keys.type, RowCount(len(come), len(go)))
        yield from placed_rows(len(self.plan.parts), groups_rows)

    def _sites(self, group: int) -> tuple[int, ...]:
        return self.plan.groups[group].sites

    def _moved(
        self, group: int, old: dict[int, SiteRows], new: dict[int, SiteRows], codes: tuple[Ints, Ints]
    ) -> tuple[dict[int, SiteRows], dict[int, SiteRows]] | None:
        """What of the rows that go and come does so, by site; None where nothing does.

        `codes` tell which of them have one key: a row that is the same before and after does neither.
        """
        stay = _same(*codes, [(old[site], new[site]) for site in self._sites(group)])
        kept = [np.flatnonzero(~same) for same in stay]
        if not len(kept[0]) + len(kept[1]):
            return None
        goes = {site: old[site].take(kept[0]) for site in self._sites(group)}
        return goes, {site: new[site].take(kept[1]) for site in self._sites(group)}

    def _written(self, goes: dict[int, SiteRows], comes: dict[int, SiteRows]) -> Iterator[tuple[int, Segment]]:
        for site in goes:
            entries = [goes[site].entries(self.version, gone=True), comes[site].entries(self.version, gone=False)]
            yield site, write_segment(self.store, table_name(site, ROWS), pa.concat_tables(entries))

    def _now(self, site: int, changes: pa.Table) -> SiteRows:
        """The rows that the site has now under the hashes of the changes' keys."""
        segments = self.tables[table_name(site, ROWS)].segments
        types = {"h": pa.int64(), "k": changes.column("k").type, "ids": pa.binary(), "bits": pa.binary()}
        entries = rows_with(self.store, segments, changes.column("h").to_numpy(), types)
        return unpacked_rows(entries, 2 * len(self.held_atoms.columns(site)), len(self.held_atoms.held[site]))

    def _projected(self, changes: SiteRows, site: int, at: Ints) -> SiteRows:
        """What the changes at these places bring to the site: its own columns and conditions, and no others."""
        every = self.held_atoms.all_columns
        places = [every.index(atom) for atom in self.held_atoms.columns(site)]
        pairs = changes.ids.reshape(len(changes.hashes), len(every), 2)[at[:, None], places]
        bits = changes.bits[at[:, None], list(self.held_atoms.held[site])]
        keys = changes.keys.take(pa.array(at))
        return SiteRows(changes.hashes[at], keys, pairs.reshape(len(at), 2 * len(places)), bits)


def unpacked_rows(rows: pa.Table, wide: int, bits: int) -> SiteRows:
    """Rows of one site from packed columns: so many words of ids, and so many bytes of bits."""
    size = rows.num_rows
    ids = words(packed(rows.column("ids"), 8 * wide)) if wide else np.zeros((size, 0), np.uint64)
    return SiteRows(rows.column("h").to_numpy(), rows.column("k"), ids, packed(rows.column("bits"), bits))


def _groups_of(inside: Bytes) -> Ints:
    """The number of each row's group of sites, by which of their conditions it satisfies."""
    satisfied = inside == INSIDE
    count = satisfied.sum(axis=1)
    return np.where(count == 1, satisfied.argmax(axis=1), np.where(count == 0, _NOWHERE, _TWICE))


def _stray(come: Ints, groups: Ints) -> Misfit | None:
    """Returns the first change whose row comes and belongs to no group of sites, or to several; None if none."""
    stray = come[groups[come] < 0]
    if not len(stray):
        return None
    nowhere = groups[stray[0]] == _NOWHERE
    return Misfit(Refusal.AT_NO_SITE if nowhere else Refusal.AT_SEVERAL_SITES, int(stray[0]))


def _places(codes: Ints, wanted: Ints) -> Ints:
    """Where the wanted codes, which are there, stand among the codes."""
    order = np.argsort(codes, kind="stable")
    return np.asarray(order[np.searchsorted(codes[order], wanted)], np.int64)


def _same(
    old: Ints, new: Ints, rows: Sequence[tuple[SiteRows, SiteRows]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows that go, and which that come, are of one key and the same at all these sites: such do neither."""
    _, at_old, at_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    same = np.ones(len(at_old), np.bool_)
    for before, after in rows:
        same &= (before.ids[at_old] == after.ids[at_new]).all(axis=1)
        same &= (before.bits[at_old] == after.bits[at_new]).all(axis=1)
    stay = np.zeros(len(old), np.bool_), np.zeros(len(new), np.bool_)
    stay[0][at_old[same]] = True
    stay[1][at_new[same]] = True
    return stay


def _both(old: SiteRows, new: SiteRows) -> SiteRows:
    keys = pa.chunked_array([*old.keys.chunks, *new.keys.cast(old.keys.type).chunks], old.keys.type)
    return SiteRows(
        np.concatenate([old.hashes, new.hashes]),
        keys,
        np.concatenate([old.ids, new.ids]),
        np.concatenate([old.bits, new.bits]),
    )


@dataclass(frozen=True)
class GroupRows:
    """Rows of one group of sites that come or go, with what its sites know of them."""

    group: int
    keys: pa.Array
    hashes: Ints
    signs: NDArray[np.int8]
    ids: ShippedIds

    @classmethod
    def shipped(
        cls,
        plan: ShipmentPlan,
        held_atoms: HeldAtoms,
        group: int,
        rows: dict[int, SiteRows],
        signs: NDArray[np.int8],
        door: Door,
    ) -> GroupRows:
        """The rows, by site, once the plan's shipments have gone through the door."""
        first = rows[plan.groups[group].sites[0]]
        keys = first.keys.combine_chunks()
        known = {site: Known.unpacked(held_atoms, site, own.ids, own.bits) for site, own in rows.items()}
        return cls(group, keys, first.hashes, signs, ShippedIds(plan.groups[group], known, keys, signs, door))


def placed_rows(parts: int, groups: Sequence[GroupRows]) -> Iterator[pa.RecordBatch]:
    """The rows of all parts, one part after the other, as (part, grp, sign, h, gid, sid, k, message)."""
    for part in range(parts):
        for rows in groups:
            placed = rows.ids.placed(part)
            if len(placed.at):
                yield from _batches(placed, rows.group, rows.keys, rows.hashes, rows.signs)


def _batches(
    placed: Placed, group: int, keys: pa.Array, hashes: Ints, signs: NDArray[np.int8]
) -> Iterator[pa.RecordBatch]:
    size = len(placed.at)
    alone = placed.groups is None or placed.sides is None
    ids = [no_ids(size) if known is None else known for known in (placed.groups, placed.sides)]
    rows = pa.table(
        {
            "part": pa.array(np.full(size, placed.part, np.int32)),
            "grp": pa.array(np.full(size, -1 if alone else group, np.int32)),
            "sign": pa.array(signs[placed.at].astype(np.int32)),
            "h": pa.array(hashes[placed.at] if alone else hashes_of(ids[0])),
            "gid": to_arrow(ids[0]),
            "sid": to_arrow(ids[1]),
            "k": keys.take(pa.array(placed.at)),
            MESSAGE: pa.nulls(size, pa.string()),
        }
    )
    yield from rows.to_batches(max_chunksize=100_000)


def message_row(key: pa.DataType, message: Message) -> pa.RecordBatch:
    """Returns the message among rows of parts."""
    columns = {name: pa.array([n], pa.int32()) for name, n in (("part", -1), ("grp", -1), ("sign", 0))}
    columns |= {"h": pa.array([0], pa.int64()), "gid": pa.array([b""]), "sid": pa.array([b""]), "k": pa.nulls(1, key)}
    return pa.RecordBatch.from_pydict({**columns, MESSAGE: pa.array([message_text(message)])})
