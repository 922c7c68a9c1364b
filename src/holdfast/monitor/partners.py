"""The partners of rows under all rules of a monitor: the indexes, how they are chosen, and what they are asked.

A change asks for the pairs that rows form with each other and with all that are there: those that go, once they are
marked as gone, and those that come, before they are indexed. Both are the same question, so nothing is kept of a pair.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from pyroaring import BitMap

from holdfast.encode.codes import Coded
from holdfast.kernels.runs import COLLIDED, Arena, PairCounting, alone_together, probed
from holdfast.live_rows.row_store import RowStore, Slots
from holdfast.monitor.access import Access, accesses, by_range_only, constraint_table, left_to_check
from holdfast.monitor.all_ways import MOST_ROOM, ROOM, AllWays, Way
from holdfast.monitor.bitmap_path import BitmapPath, sets_seconds
from holdfast.monitor.group_index import GroupIndex, IndexSpec
from holdfast.monitor.slot_pairs import NO_PAIRS, PairCollector, SlotPairs, net_pairs
from holdfast.monitor.tuning import MonitorTuning
from holdfast.programs.program import Compare, PairProgram, Programs
from holdfast.rules.relation import EQ, GT, LT, is_inequality
from holdfast.rules.rule import Nulls
from holdfast.violations.evaluate import pair_counts, pairs_of
from holdfast.violations.part import Part

AccessPath = Literal["auto", "runs", "bitmaps"]

_NOBODY = np.zeros(0, np.int32)
_SAMPLE = 2_000
# A table is planned for again when it has grown so many times.
_GROWTH = 4
_LEAST_TO_PLAN = 1_000


class Partners:
    """All indexes over the rows of a store, and the pairs they find."""

    def __init__(
        self,
        store: RowStore,
        programs: Programs,
        nulls: Nulls,
        path: AccessPath,
        *,
        tuning: MonitorTuning,
        absent: Collection[int] = (),
    ) -> None:
        """`absent` are rules, by number, that want every left row to be in a pair: those pairs are not looked for."""
        self._tuning = tuning
        self._store, self._programs, self._nulls, self._path = store, programs, nulls, path
        self._pairs = {
            at: p for at, p in enumerate(programs.programs) if isinstance(p, PairProgram) and at not in absent
        }
        self._tables = {at: constraint_table(p.denials) for at, p in self._pairs.items()}
        self._room = (np.empty(ROOM, np.int32), np.empty(ROOM, np.int32))
        self._indexes: dict[IndexSpec, GroupIndex] = {}
        self.bitmaps: BitmapPath | None = None
        self._planned = 0
        self._plan(indexed=store.slots())

    # A change ---------------------------------------------------------------------------------------------------

    def changed(self, gone: Slots, come: Slots, *, kept: bool, limit: int) -> dict[int, tuple[SlotPairs, SlotPairs]]:
        """By rule over two rows, the pairs that went and those that came; at most `limit` of each are listed.

        The rows that go are marked as gone in the store, those that come are there, and from now on they are indexed.
        With `kept`, rows replace others, and pairs that violate before and after are in neither.
        """
        if len(come) > max(_GROWTH * self._planned, _LEAST_TO_PLAN):
            slots = self._store.slots()
            self._plan(indexed=slots[: np.searchsorted(slots, come[0])])
        if not len(gone) and len(come) == len(self._store) and len(come) >= self._tuning.least_at_once:
            pairs = self._at_once(come, limit)
        else:
            pairs = self._by_sets(gone, come, kept, limit)
        if len(gone) <= 1 and len(come) <= 1:
            pairs |= self._of_a_row(gone, come, kept, limit)
        else:
            self._of_many(pairs, gone, come, kept, limit)
        if len(self._store) > max(_GROWTH * self._planned, _LEAST_TO_PLAN):
            self._plan(indexed=self._store.slots())
        return pairs

    def _of_a_row(self, gone: Slots, come: Slots, kept: bool, limit: int) -> dict[int, tuple[SlotPairs, SlotPairs]]:
        """The pairs through sorted runs, of rules that have some, where at most one row goes and one comes."""
        rows, all_ways = self._store.rows, self._all_ways
        lost = all_ways.pairs(rows, gone, coming=False, kept=kept, limit=limit) if len(gone) else {}
        for index in self._indexes.values() if len(gone) else ():
            index.remove(gone)
        new = all_ways.pairs(rows, come, coming=True, kept=kept, limit=limit) if len(come) else {}
        return {at: (lost.get(at, NO_PAIRS), new.get(at, NO_PAIRS)) for at in (lost | new if lost else new)}

    def _of_many(
        self, pairs: dict[int, tuple[SlotPairs, SlotPairs]], gone: Slots, come: Slots, kept: bool, limit: int
    ) -> None:
        """Those rules that have no pairs yet have them, through sorted runs."""
        runs: dict[tuple[IndexSpec, bool], Arena] = {}
        for at in self._pairs:
            if at not in pairs:
                lost = self._pairs_with(at, gone, kept, runs, limit, coming=False) if len(gone) else NO_PAIRS
                new = self._pairs_with(at, come, kept, runs, limit, coming=True) if len(come) else NO_PAIRS
                pairs[at] = (lost, new)
        for index in self._indexes.values():
            if len(gone):
                index.remove(gone)
            if len(come):
                index.add(come, runs.get((index.spec, True)))

    def _pairs_with(
        self, at: int, slots: Slots, kept: bool, runs: dict[tuple[IndexSpec, bool], Arena], limit: int, *, coming: bool
    ) -> SlotPairs:
        """The pairs of these rows with each other and with all others, through sorted runs."""
        collector, ways = PairCollector(limit), self._ways[at]
        for way in ways:
            options = way.options
            if kept or way.index.dead or not coming:
                options = options._replace(each=True, kept=kept)
            pairs = self._probed(way.access, way.index.arena, slots, options, collector.room)
            collector.add(pairs)
            if way.access.left and len(slots) > 1:
                # Rows that come together meet each other here, and nowhere else.
                place = (way.access.spec, coming)
                if place not in runs:
                    runs[place] = way.index.run_of(slots)
                collector.add(self._among(way, runs[place], slots, kept, collector.room))
        return collector.pairs()

    def _among(self, way: Way, run: Arena, slots: Slots, kept: bool, limit: int) -> SlotPairs:
        """The pairs that rows of one change make with each other."""
        access, probe = way.access, way.access.probe
        options = way.options._replace(once=way.symmetric, each=True, alive=False, kept=kept)
        by_range = len(probe.compares) == probe.equal + probe.by and not run.runs[:, COLLIDED].any()
        if kept or not by_range or len(probe.others) or (way.symmetric and not access.mutual) or len(run.runs) == 0:
            return self._probed(access, run, slots, options, limit)
        # Counted without being met one by one: both ends of a pair, and rows with themselves, are counted too.
        rows = self._store.rows
        count, _ = probed(rows, run, slots, probe, options._replace(once=False, each=False), _NOBODY, _NOBODY)
        count -= alone_together(rows, run.slots, probe)
        count = count // 2 if way.symmetric else count
        if count == 0:
            return NO_PAIRS
        listed = self._probed(access, run, slots, options._replace(enough=True), min(limit, count))
        return SlotPairs(count, listed.left, listed.right)

    def _probed(self, access: Access, arena: Arena, slots: Slots, options: PairCounting, limit: int) -> SlotPairs:
        left, right = self._room
        if limit < len(left):
            left, right = left[:limit], right[:limit]
        rows = self._store.rows
        count, listed = probed(rows, arena, slots, access.probe, options, left, right)
        if count == 0:
            return NO_PAIRS
        if (count > listed or options.enough) and len(left) == listed < limit:
            room = limit if options.enough else min(count, limit)
            left, right = np.empty(room, np.int32), np.empty(room, np.int32)
            count, listed = probed(rows, arena, slots, access.probe, options, left, right)
            if len(self._room[0]) < room <= MOST_ROOM:  # the next change is likely to need as much
                self._room = (np.empty(2 * room, np.int32), np.empty(2 * room, np.int32))
        return SlotPairs(count, left[:listed].copy(), right[:listed].copy())

    def _at_once(self, come: Slots, limit: int) -> dict[int, tuple[SlotPairs, SlotPairs]]:
        """The pairs of the first rows of all, under rules for which each row would have to look at many others.

        They are counted as `check` does, by sorting.
        """
        if self.bitmaps is not None:
            self.bitmaps.load(come)
        rows, pairs = self._store.rows, {}
        columns, flags = range(rows.codes.shape[1]), range(rows.flags.shape[1])
        part = Part(
            len(come),
            [Coded(rows.codes[come, at].copy(), rows.valid[come, at].copy()) for at in columns],
            [rows.flags[come, at].copy() for at in flags],
            np.arange(len(come)),
            self._nulls,
        )
        for at, program in self._pairs.items():
            ways = self._ways[at]
            if ways and not any(left_to_check(way.access) or len(way.access.probe.others) for way in ways):
                continue
            as_left, _ = pair_counts(program, part)
            count = int(as_left.sum()) // (2 if program.symmetric else 1)
            left, right = pairs_of(program, part, limit=min(limit, count))
            pairs[at] = (NO_PAIRS, SlotPairs(count, come[left], come[right]))
        return pairs

    def _by_sets(self, gone: Slots, come: Slots, kept: bool, limit: int) -> dict[int, tuple[SlotPairs, SlotPairs]]:
        """Of the rules that go by sets of rows, the pairs that go and those that come; net of each other."""
        path = self.bitmaps
        if path is None:
            return {}
        most = 2**62 if kept else limit
        lost = {at: PairCollector(most) for at in path.programs}
        new = {at: PairCollector(most) for at in path.programs}
        for slot in gone.tolist():
            path.remove(slot)
            _collect(path, slot, lost)
        for slot in come.tolist():
            _collect(path, slot, new)
            path.add(slot)
        pairs = {at: (lost[at].pairs(), new[at].pairs()) for at in path.programs}
        if not kept:
            return pairs
        twin = self._store.rows.twin
        net = {at: net_pairs(*both, twin, path.programs[at].symmetric) for at, both in pairs.items()}
        return {at: (gone.cut(limit), come.cut(limit)) for at, (gone, come) in net.items()}

    def current(self, at: int, limit: int) -> SlotPairs:
        """The pairs of the rule as things are, at most so many; `limit` is no more than there are."""
        program, slots, collector = self._pairs[at], self._store.slots(), PairCollector(limit)
        if self.bitmaps is not None and at in self.bitmaps.programs:
            for slot in slots.tolist():
                partners = self.bitmaps.partners(slot, left=True).get(at, BitMap())
                collector.add_set(
                    slot, BitMap(r for r in partners if r < slot) if program.symmetric else partners, True
                )
        for way in self._ways[at]:
            if way.access.left:
                options = way.options._replace(once=program.symmetric, each=True, enough=True)
                collector.add(self._probed(way.access, way.index.arena, slots, options, collector.room))
        return collector.pairs()

    # The plan ---------------------------------------------------------------------------------------------------

    def _plan(self, *, indexed: Slots) -> None:
        """Chooses the indexes by what is known of all rows; those that are chosen again stay.

        `indexed` are the rows that are to be in them now; others are there already, and come later.
        """
        nulls_equal = self._nulls == "equal"
        ways = {at: accesses(p, nulls_equal=nulls_equal, share=self._share) for at, p in self._pairs.items()}
        by_sets = {at for at, rule_accesses in ways.items() if self._goes_by_sets(rule_accesses)}
        chosen = {at: () if at in by_sets else rule_accesses for at, rule_accesses in ways.items()}
        kept = {}
        for spec in dict.fromkeys(access.spec for rule_accesses in chosen.values() for access in rule_accesses):
            index = self._indexes.get(spec)
            if index is None:
                index = GroupIndex(spec, self._store, most_in_tail=self._tuning.most_in_tail)
                if len(indexed):
                    index.add(indexed)
            kept[spec] = index
        self._indexes = kept
        self._planned = len(self._store)
        if not by_sets:
            self.bitmaps = None
        elif self.bitmaps is None or set(self.bitmaps.programs) != by_sets:
            programs = {at: self._pairs[at] for at in sorted(by_sets)}
            self.bitmaps = BitmapPath(self._store, programs, nulls_equal=nulls_equal)
            self.bitmaps.load(indexed)
        self._ways = {at: [self._way(at, access) for access in rule_accesses] for at, rule_accesses in chosen.items()}
        self._all_ways = AllWays(self._ways)

    def _way(self, at: int, access: Access) -> Way:
        options = PairCounting(
            False, bool(len(access.probe.others)), False, True, False, access.left, *self._tables[at]
        )
        return Way(access, self._indexes[access.spec], options, self._pairs[at].symmetric)

    def _goes_by_sets(self, ways: Sequence[Access]) -> bool:
        """Whether sets of rows find a row's partners sooner than ranges, from what ranges let through in a sample."""
        if self._path != "auto":
            return self._path == "bitmaps"
        slots = self._store.slots()
        if len(slots) < self._tuning.least_for_sets or all(left_to_check(access) == 0 for access in ways):
            return False
        sample = np.random.default_rng(7).choice(slots, self._tuning.sampled_probes).astype(np.int32)
        met = 0
        for access in ways:
            index = self._indexes.get(access.spec)
            if index is None or len(index) < len(slots) // 2:  # not indexed yet
                index = GroupIndex(access.spec, self._store, most_in_tail=self._tuning.most_in_tail)
                index.add(slots)
            options = PairCounting(False, False, False, True, False, access.left, *constraint_table(()))
            count, _ = probed(self._store.rows, index.arena, sample, by_range_only(access), options, _NOBODY, _NOBODY)
            met += count
        inequalities = max(sum(is_inequality(int(c[2])) for c in access.probe.compares) for access in ways)
        seconds = met / self._tuning.sampled_probes * self._tuning.seconds_per_candidate
        return seconds > sets_seconds(len(slots), inequalities) * len(ways)

    def _share(self, compares: Sequence[Compare]) -> float:
        """The share of pairs that the comparisons let through, of those that agree where they should; from a sample."""
        slots = self._store.slots()
        if len(slots) < 2:
            return 0.5
        rows, draw = self._store.rows, np.random.default_rng(7)
        a, b = draw.choice(slots, _SAMPLE), draw.choice(slots, _SAMPLE)
        agree = [c for c in compares if c.allowed == EQ]
        if agree:
            # Pairs that agree are rare among all: each row of the sample with one that is near in the order of them.
            ordered = slots[np.lexsort([rows.codes[slots, c.left] for c in agree])]
            at = draw.integers(0, max(len(ordered) - 64, 1), _SAMPLE)
            a, b = ordered[at], ordered[np.minimum(at + draw.integers(1, 64, _SAMPLE), len(ordered) - 1)]
        held = np.ones(_SAMPLE, np.bool_)
        for c in compares:
            x, y = rows.codes[a, c.left], rows.codes[b, c.right]
            related = np.where(x < y, LT, np.where(x == y, EQ, GT))
            held &= rows.valid[a, c.left] & rows.valid[b, c.right] & ((related & c.allowed) > 0)
        return float(held.mean())

    # What is known ----------------------------------------------------------------------------------------------

    def ways(self, at: int) -> Sequence[tuple[Access, GroupIndex]]:
        """How the rule's pairs are found, where that is by sorted runs."""
        return [(way.access, way.index) for way in self._ways.get(at, ())]

    @property
    def bytes(self) -> int:
        return sum(index.bytes for index in self._indexes.values())

    def assert_invariants(self) -> None:
        """Every index holds exactly the rows that are there."""
        for index in self._indexes.values():
            index.assert_invariants()
        if self.bitmaps is not None:
            self.bitmaps.assert_invariants()
        slots = self._store.slots()
        assert (self._store.rows.twin[slots] == slots).all(), "between changes every row stands for itself"


def _collect(path: BitmapPath, slot: int, into: Mapping[int, PairCollector]) -> None:
    for left in (True, False):
        for at, partners in path.partners(slot, left=left).items():
            if left or not path.programs[at].symmetric:
                into[at].add_set(slot, partners, left)
