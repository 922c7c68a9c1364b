"""An index of rows by the values on which pairs agree, and within these by one or two values: sorted runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.runs import (
    COLLIDED,
    DEAD,
    FAN,
    FLAG,
    INDEX_LINE,
    LEAF,
    LEVELS,
    MOST_LEVELS,
    NULLS,
    NULLS_EQUAL,
    ROOM,
    SIZE,
    START,
    TAIL,
    Arena,
    X,
    Y,
    collides,
    hash_rows,
    lead_to_arena,
    lead_to_columns,
    members,
)
from holdfast.live_rows.row_store import RowStore, Slots

# A run is merged with those after it when they have together at least a third of its rows.
GROWTH = 3
_PARTS = ("hashes", "xs", "slots", "ranks", "by_rank", "sorted_ys")


@dataclass(frozen=True)
class IndexSpec:
    """Rows with the flag, by the columns `equal`, then x, then y.

    Rows that have a null in x or y are not in it, unless `nulls`: then it is only they that are, and neither orders.
    Under sql, where a null agrees with nothing, rows with a null in `equal` are left out too.
    """

    equal: tuple[int, ...]
    x: int | None
    y: int | None
    flag: int | None
    nulls_equal: bool
    nulls: bool = False

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        return np.array(self.equal, np.int64)

    @cached_property
    def _hash(self) -> int:
        return hash((self.equal, self.x, self.y, self.flag, self.nulls))

    def __hash__(self) -> int:
        return self._hash

    @property
    def by(self) -> tuple[int, ...]:
        """The columns that order the rows of a group."""
        return () if self.nulls else tuple(c for c in (self.x, self.y) if c is not None)


class GroupIndex:
    """The rows of a store that the spec speaks of. Rows that went stay in it, unseen, until their run is merged.

    Up to `most_in_tail` rows are in no run: so few are looked at one by one sooner than they are sorted.

    Adding a row costs its share of sorting: it is sorted again each time its run is merged, once for every threefold
    growth of the table.
    """

    def __init__(self, spec: IndexSpec, store: RowStore, *, most_in_tail: int) -> None:
        self.spec, self._store, self._most_in_tail = spec, store, most_in_tail
        self._used = 0
        self._tail = np.zeros(most_in_tail, np.int32)
        # What kernels know of the index. How many rows are in its tail, and how many have gone, stands here alone.
        self.line = np.zeros(INDEX_LINE, np.int64)
        self._hold(_empty_arena(spec, 0))

    def _hold(self, runs: Arena) -> None:
        """The runs are those of the index, and its line leads to them."""
        spec, line = self.spec, self.line
        # The line never leads to arrays that nobody holds, also where an interrupt comes in between.
        self._coming = runs
        lead_to_arena(runs._replace(tail=self._tail[: self._in_tail]), line)
        self._runs = runs
        line[ROOM], line[NULLS_EQUAL], line[NULLS] = len(self._tail), spec.nulls_equal, spec.nulls
        line[FLAG], line[X], line[Y] = (-1 if at is None else at for at in (spec.flag, spec.x, spec.y))
        lead_to_columns(spec.columns, line)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy has arrays of its own."""
        self.__dict__.update(state)
        self._hold(self._runs)

    @property
    def arena(self) -> Arena:
        return self._runs._replace(tail=self._tail[: self._in_tail])

    @property
    def _in_tail(self) -> int:
        return int(self.line[TAIL])

    @property
    def dead(self) -> int:
        """At least as many rows in it have gone."""
        return int(self.line[DEAD])

    def __len__(self) -> int:
        """Rows in it, also those that went."""
        return self._used + self._in_tail

    def member_slots(self, slots: Slots) -> Slots:
        """Those of the rows that the spec speaks of."""
        wanted = members(self._store.rows, slots, self.line)
        return slots if wanted.all() else slots[wanted]

    def run_of(self, slots: Slots) -> Arena:
        """The members among the rows as an arena of their own: what they are to each other."""
        members = self.member_slots(slots)
        if len(members) <= self._most_in_tail:
            return _empty_arena(self.spec, 0)._replace(tail=members)
        return _build_run(self.spec, self._store, members)

    def add(self, slots: Slots, run: Arena | None = None) -> None:
        """The rows are in the index; `run` is their `run_of` where it is known."""
        own = self.run_of(slots) if run is None else run
        loose = own.tail
        if len(own.runs):
            self._push(own)
        if len(loose) == 0:
            return
        many = self._in_tail
        if many + len(loose) > self._most_in_tail:
            sorted_now = self._there(np.concatenate([self._tail[:many], loose]))
            self.line[TAIL] = 0
            if len(sorted_now):
                self._push(_build_run(self.spec, self._store, sorted_now))
        else:
            self._tail[many : many + len(loose)] = loose
            self.line[TAIL] = many + len(loose)

    def remove(self, slots: Slots) -> None:
        """The rows, which are gone from the store, are no longer found."""
        self.line[DEAD] += len(self.member_slots(slots))
        if self.dead > max(1024, len(self) // 4):
            everything = self._there(self._held())
            everything.sort()
            self._used = self.line[TAIL] = self.line[DEAD] = 0
            self._hold(_empty_arena(self.spec, 0))
            self.add(everything)

    def _held(self) -> Slots:
        """All rows in it, also those that went."""
        return np.concatenate([self._runs.slots[: self._used], self._tail[: self._in_tail]])

    def _there(self, slots: Slots) -> Slots:
        return slots[self._store.rows.alive[slots]]

    def _push(self, run: Arena) -> None:
        """The run at the end of the arena, merged with those before it that are not much larger."""
        many, first = len(run.slots), len(self._runs.runs)
        while first > 0 and self._runs.runs[first - 1, SIZE] <= GROWTH * many:
            first -= 1
            many += int(self._runs.runs[first, SIZE])
        if first < len(self._runs.runs):
            begin = int(self._runs.runs[first, START])
            before = self._runs.slots[begin : self._used]
            kept = self._there(before)
            self.line[DEAD] = max(self.dead - (len(before) - len(kept)), 0)
            merged = np.concatenate([kept, run.slots])
            merged.sort()
            self._hold(self._runs._replace(runs=self._runs.runs[:first]))
            self._used = begin
            run = _build_run(self.spec, self._store, merged)
        self._append(run)

    def _append(self, run: Arena) -> None:
        begin, many = self._used, len(run.slots)
        if begin + many > len(self._runs.slots):
            self._grow(max(begin + many, len(self._runs.slots) * 5 // 4))
        arena = self._runs
        for name in _PARTS:
            target = getattr(arena, name)
            if len(target):
                target[begin : begin + many] = getattr(run, name)
        levels = run.levels.shape[0]
        if levels > arena.levels.shape[0]:
            more = np.zeros((levels, len(arena.slots)), np.int32)
            more[: arena.levels.shape[0], :begin] = arena.levels[:, :begin]
            arena = arena._replace(levels=more)
        arena.levels[:levels, begin : begin + many] = run.levels
        line = run.runs.copy()
        line[0, START] = begin
        self._hold(arena._replace(runs=np.concatenate([arena.runs, line])))
        self._used += many

    def _grow(self, room: int) -> None:
        larger = _empty_arena(self.spec, room)
        used = self._used
        for name in _PARTS:
            target = getattr(larger, name)
            if len(target):
                target[:used] = getattr(self._runs, name)[:used]
        levels = np.zeros((self._runs.levels.shape[0], room), np.int32)
        levels[:, :used] = self._runs.levels[:, :used]
        self._hold(larger._replace(levels=levels, runs=self._runs.runs))

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in self._runs)

    def assert_invariants(self) -> None:
        """Runs are sorted, ranks and levels are what they claim, every row that is there is in it exactly once."""
        arena, spec, store = self.arena, self.spec, self._store
        line = self.line.copy()
        self._hold(self._runs)
        assert (line == self.line).all(), "the line leads to what is there"
        at = 0
        for start, size, levels, collided in arena.runs:
            assert start == at, "runs lie one after the other"
            at += size
            part = slice(start, start + size)
            slots = arena.slots[part]
            if spec.equal:
                hashes = hash_rows(store.rows.codes, store.rows.valid, slots, spec.columns, spec.nulls_equal)
                assert (hashes == arena.hashes[part]).all(), "hashes are those of the rows"
                assert (hashes[1:] >= hashes[:-1]).all(), "runs are ordered by hash"
                differ = collides(store.rows.codes, store.rows.valid, slots, hashes, spec.columns)
                assert collided or not differ, "values that share a hash are known"
            else:
                hashes = np.zeros(size, np.uint64)
            if len(spec.by) >= 1:
                xs = store.rows.codes[slots, spec.by[0]]
                assert (xs == arena.xs[part]).all(), "xs are those of the rows"
                assert ((xs[1:] >= xs[:-1]) | (hashes[1:] != hashes[:-1])).all(), "groups are ordered by x"
            if len(spec.by) == 2:
                ys = store.rows.codes[slots, spec.by[1]]
                ranks = arena.ranks[part]
                assert (np.sort(ranks) == np.arange(size)).all(), "ranks are once each"
                assert (arena.sorted_ys[part][ranks] == ys).all(), "ranks are those of the ys"
                in_order = arena.sorted_ys[part]
                # Not by differences, which may not fit 64 bits.
                assert (in_order[1:] >= in_order[:-1]).all(), "ys are sorted by rank"
                assert (arena.by_rank[part][ranks] == slots).all(), "a rank leads to its row"
                for level in range(levels):
                    width = LEAF * FAN**level
                    whole = size // width * width
                    nodes = arena.levels[level, start : start + whole].reshape(-1, width)
                    assert (nodes == np.sort(ranks[:whole].reshape(-1, width), axis=1)).all(), "nodes are sorted"
        assert at == self._used, "runs fill what is used"
        held = self._held()
        assert len(np.unique(held)) == len(held), "no row is in it twice"
        there = self._there(held)
        wanted = self.member_slots(store.slots())
        assert (np.sort(there) == wanted).all(), "the rows in it are those of the store that it speaks of"
        assert len(held) - len(there) <= self.dead, "rows that went are counted"


def _empty_arena(spec: IndexSpec, room: int) -> Arena:
    x, y = len(spec.by) >= 1, len(spec.by) == 2
    return Arena(
        runs=np.zeros((0, 4), np.int64),
        hashes=np.zeros(room if spec.equal else 0, np.uint64),
        xs=np.zeros(room if x else 0, np.int64),
        slots=np.zeros(room, np.int32),
        ranks=np.zeros(room if y else 0, np.int32),
        by_rank=np.zeros(room if y else 0, np.int32),
        sorted_ys=np.zeros(room if y else 0, np.int64),
        levels=np.zeros((0, room), np.int32),
        tail=np.zeros(0, np.int32),
    )


def _build_run(spec: IndexSpec, store: RowStore, slots: Slots) -> Arena:
    """The rows, all of which the spec speaks of, as an arena of one run."""
    rows, many = store.rows, len(slots)
    x, y = (*spec.by, None, None)[:2]
    keys = [] if x is None else [rows.codes[slots, x]]
    hashes = np.zeros(0, np.uint64)
    if spec.equal:
        hashes = hash_rows(rows.codes, rows.valid, slots, spec.columns, spec.nulls_equal)
        keys.append(hashes)
    order = np.lexsort(keys) if len(keys) > 1 else np.argsort(keys[0], kind="stable") if keys else np.arange(many)
    slots = slots[order]
    hashes = hashes[order] if spec.equal else hashes
    collided = bool(spec.equal) and collides(rows.codes, rows.valid, slots, hashes, spec.columns)
    levels: list[NDArray[np.int32]] = []
    ranks = by_rank = np.zeros(0, np.int32)
    sorted_ys = np.zeros(0, np.int64)
    if y is not None:
        ys = rows.codes[slots, y]
        by_y = np.argsort(ys, kind="stable")
        ranks = np.empty(many, np.int32)
        ranks[by_y] = np.arange(many, dtype=np.int32)
        by_rank, sorted_ys = slots[by_y], ys[by_y]
        widest = _widest(hashes) if spec.equal else many
        width = LEAF
        while width <= widest and len(levels) < MOST_LEVELS:
            whole = many // width * width
            level = np.zeros(many, np.int32)
            level[:whole] = np.sort(ranks[:whole].reshape(-1, width), axis=1).reshape(-1)
            levels.append(level)
            width *= FAN
    line = np.zeros((1, 4), np.int64)
    line[0, SIZE], line[0, LEVELS], line[0, COLLIDED] = many, len(levels), collided
    return Arena(
        runs=line,
        hashes=hashes,
        xs=np.zeros(0, np.int64) if x is None else keys[0][order],
        slots=slots,
        ranks=ranks,
        by_rank=by_rank,
        sorted_ys=sorted_ys,
        levels=np.array(levels, np.int32).reshape(len(levels), many),
        tail=np.zeros(0, np.int32),
    )


def _widest(hashes: NDArray[np.uint64]) -> int:
    """Rows of the largest group."""
    edges = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1], [True]]))
    return int(np.diff(edges).max())
