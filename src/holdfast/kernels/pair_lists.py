"""The pairs themselves, up to a limit; the twin of pair_counts, which says how many there are."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.order import Ints, order_in_groups

_SMALL, _LARGE = 64, 4096


def list_pairs(
    left_group: Ints,
    right_group: Ints,
    a: Ints,
    b: Ints,
    *,
    unequal: tuple[Ints, Ints],
    wanted: NDArray[np.bool_],
    order: Ints,
    once: bool,
    limit: int,
) -> tuple[Ints, Ints]:
    """At most `limit` pairs (i, j) of left rows that are `wanted`.

    As in `count_pairs`, and for every line of `unequal` the two values differ. `order` tells rows apart: a row is not
    paired with another of the same place in it. With `once`, only pairs whose left row comes first in it. Cost: a sort,
    then for each wanted row those that pass the first inequality, in leaps over those that cannot pass the second.
    """
    lefts = np.flatnonzero((left_group >= 0) & wanted)
    rights = np.flatnonzero(right_group >= 0)
    if limit <= 0 or len(lefts) == 0 or len(rights) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    met = np.zeros(int(max(left_group.max(), right_group.max())) + 1, np.bool_)
    met[left_group[lefts]] = True
    rights = rights[met[right_group[rights]]]
    rights = rights[order_in_groups(right_group[rights], b[0][rights] if len(a) else rights)]
    ids = right_group[rights]
    starts = np.searchsorted(ids, left_group[lefts], side="left")
    ends = np.searchsorted(ids, left_group[lefts], side="right")
    second = b[1][rights] if len(a) > 1 else np.empty(0, np.int64)
    return _list(lefts, rights, starts, ends, a, b, second, unequal[0], unequal[1], order, once, limit)  # type: ignore[no-any-return]


@njit(cache=True)
def _tops(values, width):  # type: ignore[no-untyped-def]
    tops = np.empty((len(values) + width - 1) // width, np.int64)
    for block in range(len(tops)):
        tops[block] = values[block * width : (block + 1) * width].max()
    return tops


@njit(cache=True)
def _list(lefts, rights, starts, ends, a, b, second, left_unequal, right_unequal, order, once, limit):  # type: ignore[no-untyped-def]
    small, large = _tops(second, _SMALL), _tops(second, _LARGE)
    pairs_left, pairs_right = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for at in range(len(lefts)):
        i = lefts[at]
        q, end = starts[at], ends[at]
        if len(a) > 0:
            low, high = q, end
            while low < high:  # the first right row with a greater value
                mid = (low + high) // 2
                if b[0, rights[mid]] <= a[0, i]:
                    low = mid + 1
                else:
                    high = mid
            q = low
        while q < end:
            if len(second) > 0:
                if q % _LARGE == 0 and q + _LARGE <= end and large[q // _LARGE] <= a[1, i]:
                    q += _LARGE
                    continue
                if q % _SMALL == 0 and q + _SMALL <= end and small[q // _SMALL] <= a[1, i]:
                    q += _SMALL
                    continue
            j = rights[q]
            q += 1
            fits = order[i] < order[j] if once else order[i] != order[j]
            for k in range(1, len(a)):
                fits = fits and a[k, i] < b[k, j]
            for k in range(len(left_unequal)):
                fits = fits and left_unequal[k, i] != right_unequal[k, j]
            if fits:
                pairs_left.append(i)
                pairs_right.append(j)
                if len(pairs_left) == limit:
                    return np.array(pairs_left), np.array(pairs_right)
    return np.array(pairs_left, np.int64), np.array(pairs_right, np.int64)
