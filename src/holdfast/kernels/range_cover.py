"""A greedy cover of pairs that nobody has listed: the partners of a row are looked up when the row is taken."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from holdfast.kernels.order import Ints
from holdfast.kernels.ranges import PairedRows, Places, ranges_of

_SMALL, _LARGE = 64, 4096


class UnlistedPairs(NamedTuple):
    """Pairs (i, j), as in `list_pairs`: i's left group is j's right group, all `a` of i are below the `b` of j, and the
    lines of `unequal` differ."""

    left_group: Ints
    right_group: Ints
    a: Ints
    b: Ints
    unequal: tuple[Ints, Ints]

    def turned(self) -> UnlistedPairs:
        """The same pairs, the other way round."""
        return UnlistedPairs(self.right_group, self.left_group, ~self.b, ~self.a, self.unequal[::-1])


class _FoundIn(NamedTuple):
    """The partners of row i: those of `rows` from its start to its end whose other values its own values allow."""

    rows: Ints
    starts: Places
    ends: Places
    own: Ints
    others: Ints
    own_unequal: Ints
    others_unequal: Ints


def cover_of_ranges(pairs: Sequence[UnlistedPairs], counts: Ints, by_key: Ints, *, most: int) -> Ints | None:
    """Rows that together touch every pair, in the order they were taken; None where that takes too long.

    Always the row in most of the pairs that remain, on a tie the last in `by_key`. Row i has `counts` partners: all
    j of a pair (i, j). At most `most` rows and blocks of rows are looked at: quickest where rows are about in the
    order of their groups and values. Cost: a sort for each of `pairs`, and for each row that is taken its range of
    rows, in leaps over blocks without a partner; nothing is kept of a pair.
    """
    lines, differing = max(len(kind.a) for kind in pairs), max(len(kind.unequal[0]) for kind in pairs)
    partners = [_partners(kind, max(lines, 1), differing) for kind in pairs]
    stacked: list[Any] = [np.stack(values) for values in zip(*partners, strict=True)]
    cover, done = _take_from_ranges(most, counts.copy(), by_key, *stacked)
    return np.asarray(cover) if done else None


def _partners(pairs: UnlistedPairs, lines: int, differing: int) -> _FoundIn:
    """With so many lines of values, of which those that are more than needed allow everything."""
    size = len(pairs.left_group)
    own, others = (_filled(side, lines, size, rest) for side, rest in ((pairs.a, 0), (pairs.b, 1)))
    own_unequal, others_unequal = (_filled(s, differing, size, r) for s, r in zip(pairs.unequal, (0, 1), strict=True))
    lefts, rights = np.flatnonzero(pairs.left_group >= 0), np.flatnonzero(pairs.right_group >= 0)
    ranges = ranges_of(PairedRows(pairs.left_group, pairs.right_group, lefts, rights), own, others)
    narrow = min(ranges, key=lambda each: each.pairs)
    rows = np.zeros(size, np.int64)
    rows[: len(rights)] = narrow.rights
    return _FoundIn(rows, narrow.starts, narrow.ends, own, others[:, rows], own_unequal, others_unequal[:, rows])


def _filled(values: Ints, lines: int, size: int, rest: int) -> Ints:
    if len(values) == lines:
        return values
    return np.concatenate([values, np.full((lines - len(values), size), rest, np.int64)])


@njit(cache=True, nogil=True)
def _take_from_ranges(  # type: ignore[no-untyped-def]
    most, counts, by_key, rows, starts, ends, own, others, own_unequal, others_unequal
):
    """(rows that were taken, whether they touch every pair); the first axis of the arrays is the kind of pair."""
    size = len(counts)
    small, large = _tops(others, _SMALL), _tops(others, _LARGE)
    heap = [np.int64(0) for _ in range(0)]
    for place in range(size):
        # The smallest number is the largest count, and among those the largest key.
        heap.append(-(counts[by_key[place]] * size + place))
    heapq.heapify(heap)
    cover = [np.int64(0) for _ in range(0)]
    left = counts.sum() // 2  # how many pairs nobody touches yet
    while left > 0:
        best = -heapq.heappop(heap)
        i, seen = by_key[best % size], best // size
        if counts[i] < seen:  # counts only fall, so looking again at the top is enough
            heapq.heappush(heap, -(counts[i] * size + best % size))
            continue
        cover.append(i)
        left -= counts[i]
        counts[i] = 0
        for kind in range(len(rows)):
            q, end = np.int64(starts[kind, i]), ends[kind, i]
            while q < end:
                most -= 1
                if q % _LARGE == 0 and q + _LARGE <= end and _nobody(large[kind], q // _LARGE, own[kind], i):
                    q += _LARGE
                    continue
                if q % _SMALL == 0 and q + _SMALL <= end and _nobody(small[kind], q // _SMALL, own[kind], i):
                    q += _SMALL
                    continue
                other = rows[kind, q]
                if counts[other] > 0:  # otherwise it was taken, or it is in no pair any more
                    fits = True
                    for k in range(own.shape[1]):
                        fits = fits and own[kind, k, i] < others[kind, k, q]
                    for k in range(own_unequal.shape[1]):
                        fits = fits and own_unequal[kind, k, i] != others_unequal[kind, k, q]
                    if fits:
                        counts[other] -= 1
                q += 1
            if most < 0:
                return np.array(cover, np.int64), False
    return np.array(cover, np.int64), True


@njit(cache=True, nogil=True)
def _tops(values, width):  # type: ignore[no-untyped-def]
    """The greatest value of each block of so many, by kind and line."""
    kinds, lines, size = values.shape
    tops = np.empty((kinds, lines, (size + width - 1) // width), np.int64)
    for kind in range(kinds):
        for line in range(lines):
            for block in range(tops.shape[2]):
                tops[kind, line, block] = values[kind, line, block * width : (block + 1) * width].max()
    return tops


@njit(cache=True, nogil=True)
def _nobody(tops, block, own, i):  # type: ignore[no-untyped-def]
    """Whether no row of the block is above the row's own values in all lines."""
    nobody = False
    for k in range(len(own)):
        nobody = nobody or tops[k, block] <= own[k, i]
    return nobody
