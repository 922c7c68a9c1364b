"""Pairs of rows by slot: collected, counted, and net of each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from holdfast.live_rows.row_store import Slots


@dataclass(frozen=True)
class SlotPairs:
    """How many pairs there are, and the left and right slots of those that were listed."""

    count: int
    left: Slots
    right: Slots

    def cut(self, limit: int) -> SlotPairs:
        return SlotPairs(self.count, self.left[:limit], self.right[:limit])


NO_PAIRS = SlotPairs(0, np.zeros(0, np.int32), np.zeros(0, np.int32))


class PairCollector:
    """Collects pairs; lists at most `limit` of them, and counts all."""

    def __init__(self, limit: int) -> None:
        self.room, self._count = limit, 0
        self._parts: list[SlotPairs] = []

    def add(self, pairs: SlotPairs) -> None:
        if pairs.count:
            self._count += pairs.count
            self.room -= len(pairs.left)
            self._parts.append(pairs)

    def add_set(self, slot: int, partners: BitMap, left: bool) -> None:
        """The pairs of a row with all rows of a set."""
        many = len(partners)
        if many:
            others = np.array(partners if many <= self.room else partners[: self.room], np.int32)
            own = np.full(len(others), slot, np.int32)
            self.add(SlotPairs(many, own, others) if left else SlotPairs(many, others, own))

    def pairs(self) -> SlotPairs:
        if len(self._parts) <= 1:
            return self._parts[0] if self._parts else NO_PAIRS
        left = np.concatenate([part.left for part in self._parts])
        return SlotPairs(self._count, left, np.concatenate([part.right for part in self._parts]))


def net_pairs(gone: SlotPairs, come: SlotPairs, twin: Slots, symmetric: bool) -> tuple[SlotPairs, SlotPairs]:
    """Both without the pairs that go and come again, of rows that were replaced. All pairs are listed."""

    def names(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        low, high = (np.minimum(left, right), np.maximum(left, right)) if symmetric else (left, right)
        return (low << 32) | (high & 0xFFFFFFFF)

    left, right = (twin[side].astype(np.int64) for side in (gone.left, gone.right))  # the rows that replace them
    was, there = names(left, right), (left >= 0) & (right >= 0)
    now = names(come.left.astype(np.int64), come.right.astype(np.int64))
    return _filtered(gone, ~(there & np.isin(was, now))), _filtered(come, ~np.isin(now, was[there]))


def _filtered(pairs: SlotPairs, wanted: NDArray[np.bool_]) -> SlotPairs:
    return SlotPairs(int(wanted.sum()), pairs.left[wanted], pairs.right[wanted])
