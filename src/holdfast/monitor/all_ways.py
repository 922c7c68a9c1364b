"""The ways of all rules to the partners of a row that comes or goes alone, asked in one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.runs import WAY_LINE, PairCounting, Rows, probed_ways, way_line
from holdfast.live_rows.row_store import Slots
from holdfast.monitor.access import Access
from holdfast.monitor.group_index import GroupIndex
from holdfast.monitor.slot_pairs import SlotPairs

ROOM, MOST_ROOM = 1024, 2**20
_NOWHERE = np.zeros((0, 2), np.int64)


@dataclass(frozen=True)
class Way:
    """A way to the partners of a row, its index, and how pairs are counted there when nothing goes."""

    access: Access
    index: GroupIndex
    options: PairCounting
    symmetric: bool


class AllWays:
    """The ways of each rule, and the indexes they lead to, as lines of numbers that kernels follow."""

    def __init__(self, ways: Mapping[int, Sequence[Way]]) -> None:
        self._ways = {at: tuple(own) for at, own in ways.items() if own}
        every = [way for own in self._ways.values() for way in own]
        # Of each rule, which of all ways are its own: from the first to before the last.
        ends = list(accumulate((len(own) for own in self._ways.values()), initial=0))
        self._places = list(zip(self._ways, ends, ends[1:], strict=False))
        self._indexes = list({id(way.index): way.index for way in every}.values())
        self._lines = np.zeros((len(every), WAY_LINE), np.int64)
        for at, way in enumerate(every):
            self._lines[at] = way_line(way.index.line, way.access.probe, way.options)
        # Where the lines of the indexes are, and whether a row that came was left for the index to take.
        self._entered = np.array([(index.line.ctypes.data, 0) for index in self._indexes], np.int64).reshape(-1, 2)
        self._counts = np.zeros((len(every), 2), np.int64)
        self._room = np.empty(ROOM, np.int32), np.empty(ROOM, np.int32)

    def __reduce__(self) -> tuple[type[AllWays], tuple[Mapping[int, Sequence[Way]]]]:
        """A copy has lines of its own, which lead to the copies of the indexes."""
        return AllWays, (self._ways,)

    def pairs(self, rows: Rows, slots: Slots, *, coming: bool, kept: bool, limit: int) -> dict[int, SlotPairs]:
        """By rule that has some, the pairs of this one row with all others; at most `limit` of each are listed.

        A row that is `coming` is in the indexes from now on. With `kept`, as in `Partners.changed`.
        """
        if not self._indexes:
            return {}
        entered = self._entered if coming else _NOWHERE
        left, right = self._room
        listed, all_listed = self._probe(rows, slots, not coming, kept, limit, left, right, entered)
        if not all_listed:
            room = sum(min(count, limit) for count, _ in self._counts.tolist())
            left, right = np.empty(room, np.int32), np.empty(room, np.int32)
            listed, _ = self._probe(rows, slots, not coming, kept, limit, left, right, _NOWHERE)
            if room <= MOST_ROOM:  # the next change is likely to need as much
                self._room = np.empty(2 * room, np.int32), np.empty(2 * room, np.int32)
        return self._by_rule(left[:listed].copy(), right[:listed].copy(), limit)

    def _probe(
        self,
        rows: Rows,
        slots: Slots,
        each: bool,
        kept: bool,
        limit: int,
        left: Slots,
        right: Slots,
        entered: NDArray[np.int64],
    ) -> tuple[int, bool]:
        listed, all_listed, without_room = probed_ways(
            rows, self._lines, slots, left, right, self._counts, each=each, kept=kept, most=limit, entered=entered
        )
        if without_room:
            for index, (_, no_room) in zip(self._indexes, entered.tolist(), strict=True):
                if no_room:
                    index.add(slots)
        return listed, all_listed

    def _by_rule(self, left: Slots, right: Slots, limit: int) -> dict[int, SlotPairs]:
        """What is counted and listed, for each rule that has pairs."""
        counts, pairs, begin = self._counts.tolist(), {}, 0
        for rule, first, last in self._places:
            count, listed = counts[first]
            for more, listed_too in counts[first + 1 : last]:
                count, listed = count + more, listed + listed_too
            if count:
                end = begin + min(listed, limit)
                pairs[rule] = SlotPairs(count, left[begin:end], right[begin:end])
                begin += listed
        return pairs
