"""What a batch of changes does to the pairs of a state's rules: a task over changed rows, by the group they meet in.

A task gets the changed rows of some hashes of a group, as they were and as they are, and looks up the rows they can
meet. It writes the changed rows into the group's table, and those pairs it lists into a file of the log; what it
returns are messages: counts, and the files that were written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.codes import dense_ids, shared_codes
from holdfast.states.change_log import write_log
from holdfast.states.manifest import StoredTable
from holdfast.states.messages import MESSAGE, LogFile, Message, Unit, ViolationCount, WrittenSegment, message_batch
from holdfast.states.segment import Ints, OpenSegment, nullable, rows_with, spread, write_segment
from holdfast.states.store import Store
from holdfast.tables.pieces import pieces_of
from holdfast.violations.evaluate import UNLIMITED
from holdfast.violations.part import part_of
from holdfast.watching.absent_partners import absence_change
from holdfast.watching.changed_pairs import LISTABLE, ChangedRows, pair_change
from holdfast.watching.pair_groups import ALONE, NOTES, GroupedPrograms, PairGroup
from holdfast.watching.zones import feasible

# Rows that changes are held against at once: what a task has in memory beside them.
REST_ROWS = 500_000


@dataclass
class _Log:
    """Pairs and rows that came (1) and went (-1), at most `limit` of a rule and kind, to be written as one file."""

    limit: int
    rules: list[int] = field(default_factory=list)
    lefts: list[pa.Array] = field(default_factory=list)
    rights: list[pa.Array] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)

    listed: Counter[tuple[int, int]] = field(default_factory=Counter)

    def room(self, rule: int, change: int) -> int:
        """How many more can be listed."""
        return self.limit - self.listed[rule, change]

    def add(self, rule: int, change: int, left: pa.Array, right: pa.Array) -> None:
        """Lists these, as far as there is room."""
        size = min(len(left), self.room(rule, change))
        if size:
            self.listed[rule, change] += size
            self.rules.append(rule)
            self.lefts.append(left[:size])
            self.rights.append(right[:size])
            self.changes.append(change)


@dataclass(frozen=True)
class PairChangesTask:
    """A task: changed rows with the group `g`, the hash `h` and the `role` they have there, and their `sign`.

    Their key is `k`, what rules compare are `f0`, ..., `b0`, .... Without `rules` nothing is counted: the rows are the
    first of their tables. At most `limit` pairs of a rule are listed in each direction.
    """

    store: Store
    version: int
    groups: GroupedPrograms
    tables: Mapping[int, StoredTable]
    names: tuple[str, ...]
    limit: int = UNLIMITED
    counted: bool = True
    listable: int = LISTABLE
    rest_rows: int = REST_ROWS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        log = _Log(self.limit)
        for piece in map(nullable, pieces_of(batches)):
            number = piece.column("g")[0].as_py()
            if number == NOTES:
                yield pa.RecordBatch.from_pydict({MESSAGE: piece.column(MESSAGE).combine_chunks()})
            elif number == ALONE:
                yield from map(message_batch, self._alone(piece, log))
            elif self.counted:
                yield from map(message_batch, self._pairs(number, piece, log))
            else:
                yield message_batch(self._entered(number, piece.append_column("gone", _zeros(piece)), base=True))
        if log.rules:
            yield message_batch(LogFile(self._logged(log)))

    # Rows that break a rule by themselves ---------------------------------------------------------------------

    def _alone(self, rows: pa.Table, log: _Log) -> Iterator[Message]:
        sign = rows.column("sign").to_numpy()
        keys = rows.column("k")
        codes = shared_codes([keys])[0].codes
        for rule, flag in self.groups.alone.items():
            broken = rows.column(f"b{flag}").to_numpy().astype(np.bool_)
            before, after = (np.flatnonzero(broken & (sign == side)) for side in (-1, 1))
            go = before[~np.isin(codes[before], codes[after])]
            come = after[~np.isin(codes[after], codes[before])]
            if len(go) or len(come):
                yield ViolationCount(self.names[rule], Unit.ROWS, len(come), len(go))
            for change, at in ((1, come), (-1, go)):
                log.add(rule, change, _at(keys, at), pa.nulls(len(at), keys.type))

    # Pairs ----------------------------------------------------------------------------------------------------

    def _pairs(self, number: int, piece: pa.Table, log: _Log) -> Iterator[Message]:
        group = self.groups.groups[number]
        changed = _really_changed(piece, group)
        if changed.num_rows == 0:
            return
        gone = pa.array((changed.column("sign").to_numpy() < 0).astype(np.uint8))
        yield self._entered(number, changed.append_column("gone", gone), base=False)
        absent = [rule for rule in group.rules if rule in self.groups.absent]
        paired = [rule for rule in group.rules if rule not in self.groups.absent]
        if absent:
            yield from self._lonely(absent, *self._with_all(number, group, changed), log)
        if not paired:
            return
        counts = {rule: [0, 0] for rule in paired}
        for rows, keys in self._beside(number, group, changed):
            for rule in paired:
                room = max(log.room(rule, 1), log.room(rule, -1))
                net = pair_change(self.groups.program(rule), rows, limit=room, listable=self.listable)
                counts[rule][0] += net.added
                counts[rule][1] += net.removed
                for change, (left, right) in ((1, net.come), (-1, net.go)):
                    log.add(rule, change, _at(keys, left), _at(keys, right))
        for rule, (added, removed) in counts.items():
            if added or removed:
                yield ViolationCount(self.names[rule], Unit.PAIRS, added, removed)

    def _lonely(self, rules: Sequence[int], rows: ChangedRows, keys: pa.ChunkedArray, log: _Log) -> Iterator[Message]:
        for rule in rules:
            net = absence_change(self.groups.program(rule), rows)
            if len(net.come) or len(net.go):
                yield ViolationCount(self.names[rule], Unit.ROWS, len(net.come), len(net.go))
            for change, at in ((1, net.come), (-1, net.go)):
                log.add(rule, change, _at(keys, at), pa.nulls(len(at), keys.type))

    def _with_all(self, number: int, group: PairGroup, changed: pa.Table) -> tuple[ChangedRows, pa.ChunkedArray]:
        """The changed rows beside all rows that they can meet: whether a row has a partner is seen at once."""
        columns = ["k", "role", *group.columns]
        rest = self._rest(number, group, changed, columns)
        table = pa.concat_tables([changed.select(columns), rest])
        sign = changed.column("sign").to_numpy()
        signs = np.concatenate([sign, np.zeros(rest.num_rows, sign.dtype)])
        return self._rows(table, signs, inner=True), table.column("k")

    def _beside(
        self, number: int, group: PairGroup, changed: pa.Table
    ) -> Iterator[tuple[ChangedRows, pa.ChunkedArray]]:
        """The changed rows among themselves, and then beside each piece of the rows that they can meet."""
        columns = ["k", "role", *group.columns]
        own = changed.select(columns)
        sign = changed.column("sign").to_numpy()
        yield self._rows(own, sign, inner=True), own.column("k")
        rest = self._rest(number, group, changed, columns)
        for start in range(0, rest.num_rows, self.rest_rows):
            table = pa.concat_tables([own, rest.slice(start, self.rest_rows)])
            signs = np.concatenate([sign, np.zeros(table.num_rows - len(sign), sign.dtype)])
            yield self._rows(table, signs, inner=False), table.column("k")

    def _rows(self, table: pa.Table, sign: NDArray[Any], *, inner: bool) -> ChangedRows:
        part = part_of(table, self.groups.programs)
        order = np.unique(part.order, return_inverse=True)[1].astype(np.int64)
        role = table.column("role").to_numpy().astype(np.int64)
        return ChangedRows(replace(part, order=order), sign < 0, sign > 0, sign == 0, role, inner)

    def _rest(self, number: int, group: PairGroup, changed: pa.Table, columns: list[str]) -> pa.Table:
        """The rows of the group's table that the changed rows may meet, as they are before and after the batch."""
        types = {name: changed.column(name).type for name in ("h", *columns)}

        def positions(opened: OpenSegment, hashes: Ints) -> Ints:
            return self._met(opened, group, changed, hashes)

        segments, hashes = self.tables[number].segments, changed.column("h").to_numpy()
        entries = rows_with(self.store, segments, hashes, types, positions=positions)
        keys, going = shared_codes([entries.column("k"), changed.column("k")])
        before = going.codes[changed.column("sign").to_numpy() < 0]
        return entries.filter(pa.array(~np.isin(keys.codes, before))).select(columns)

    def _met(self, opened: OpenSegment, group: PairGroup, changed: pa.Table, hashes: Ints) -> Ints:
        """Positions of the segment's entries that the changed rows with these hashes may meet."""
        starts, ends = opened.ranges(hashes)
        first_block, last_block = opened.blocks(starts, ends)
        long = np.flatnonzero(last_block > first_block)
        if opened.zones is None or len(long) == 0:
            return spread(starts, ends)
        own = changed.column("h").to_numpy()
        order = np.argsort(own, kind="stable")
        first, last = (np.searchsorted(own[order], hashes[long], side) for side in ("left", "right"))
        blocks = spread(first_block[long], last_block[long])
        zones = opened.zones.take(pa.array(blocks))
        fits = feasible(
            [self.groups.program(rule) for rule in group.rules],
            changed.take(pa.array(order[spread(first, last)])),
            np.repeat(np.arange(len(long)), last - first),
            zones,
            np.repeat(np.arange(len(long)), last_block[long] - first_block[long]),
            self.groups.programs.nulls,
        )
        fitting = zones.filter(pa.array(fits))
        short = np.ones(len(hashes), np.bool_)
        short[long] = False
        met = spread(fitting.column("start").to_numpy(), fitting.column("end").to_numpy())
        return np.concatenate([spread(starts[short], ends[short]), met])

    # Files ----------------------------------------------------------------------------------------------------

    def _entered(self, number: int, rows: pa.Table, *, base: bool) -> WrittenSegment:
        """The rows as a new file of the group's table."""
        group, table = self.groups.groups[number], self.tables[number]
        columns = ["h", "k", "role", "gone", *group.columns]
        entries = rows.select(columns).append_column("v", pa.array(np.full(rows.num_rows, self.version, np.int32)))
        segment = write_segment(
            self.store,
            table.name,
            entries,
            sorted_by=None if group.sorted_by is None else f"f{group.sorted_by}",
            zoned=[f"f{i}" for i in group.zoned],
            base=base,
        )
        return WrittenSegment(table.name, segment)

    def _logged(self, log: _Log) -> str:
        """The name of a file with (version, rule, left, right, change)."""
        sizes = [len(left) for left in log.lefts]
        table = pa.table(
            {
                "rule": pa.array(self.names).take(pa.array(np.repeat(log.rules, sizes))),
                "left": pa.concat_arrays(log.lefts),
                "right": pa.concat_arrays(log.rights),
                "change": pa.array(np.repeat(np.array(log.changes, np.int8), sizes)),
            }
        )
        return write_log(self.store, self.version, table)


def _really_changed(piece: pa.Table, group: PairGroup) -> pa.Table:
    """The rows without those that are in this group after the batch as they were before it."""
    sign = piece.column("sign").to_numpy()
    if not ((sign < 0).any() and (sign > 0).any()):
        return piece
    parts = [piece.column("h").to_numpy(), piece.column("role").to_numpy().astype(np.int64)]
    for name in ("k", *(f"f{i}" for i in group.forms)):
        coded = shared_codes([piece.column(name)])[0]
        parts += [np.where(coded.valid, coded.codes, 0), coded.valid.astype(np.int64)]
    parts += [piece.column(f"b{i}").to_numpy().astype(np.int64) for i in group.flags]
    ids = np.unique(dense_ids(parts, piece.num_rows), return_inverse=True)[1]
    moved = np.bincount(ids, weights=sign) != 0
    return piece.filter(pa.array(moved[ids]))


def _at(keys: pa.ChunkedArray, rows: Ints) -> pa.Array:
    return keys.take(pa.array(rows)).combine_chunks()


def _zeros(piece: pa.Table) -> pa.Array:
    return pa.array(np.zeros(piece.num_rows, np.uint8))
