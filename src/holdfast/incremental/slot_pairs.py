"""Pairs of rows by slot: collected, counted, and net of each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap

from holdfast.incremental.row_store import Slots


@dataclass(frozen=True)
class SlotPairs:
    """How many pairs there are, and the left and right slots of those that were listed."""

    count: int
    left: Slots
    right: Slots


class PairCollector:
    """Collects the pairs of rows with sets of partners; lists at most `limit` of them, and counts all."""

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0
        self._parts: list[tuple[Slots, Slots]] = []

    def add(self, slot: int, partners: BitMap, left: bool) -> None:
        many = len(partners)
        room = self._limit - self._count
        self._count += many
        if many and room > 0:
            others = np.array(partners if many <= room else partners[:room], np.int32)
            mine = np.full(len(others), slot, np.int32)
            self._parts.append((mine, others) if left else (others, mine))

    def pairs(self) -> SlotPairs:
        sides = [np.concatenate([part[side] for part in self._parts] or [np.zeros(0, np.int32)]) for side in (0, 1)]
        return SlotPairs(self._count, sides[0], sides[1])


def net_pairs(gone: SlotPairs, come: SlotPairs, twin: Slots, symmetric: bool) -> tuple[SlotPairs, SlotPairs]:
    """Both without the pairs that go and come again, of rows that were replaced. All pairs are listed."""

    def names(pairs: SlotPairs, through: bool) -> tuple[np.ndarray, np.ndarray]:
        left, right = (
            twin[side].astype(np.int64) if through else side.astype(np.int64) for side in (pairs.left, pairs.right)
        )
        low, high = (np.minimum(left, right), np.maximum(left, right)) if symmetric else (left, right)
        return (low << 32) | (high & 0xFFFFFFFF), (left >= 0) & (right >= 0)

    was, there = names(gone, True)  # as the rows that replace them
    now, _ = names(come, False)
    again_gone = there & np.isin(was, now)
    again_come = np.isin(now, was[there])
    return _some(gone, ~again_gone), _some(come, ~again_come)


def _some(pairs: SlotPairs, wanted: np.ndarray) -> SlotPairs:
    return SlotPairs(int(wanted.sum()), pairs.left[wanted], pairs.right[wanted])
