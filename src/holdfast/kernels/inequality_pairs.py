"""Pairs that satisfy inequalities within groups, listed up to a limit: leaps over blocks that have no partner."""

from __future__ import annotations

import numpy as np
from numba import njit

_SMALL, _LARGE = 64, 4096


@njit(cache=True, nogil=True)
def _tops(values, width):  # type: ignore[no-untyped-def]
    tops = np.empty((len(values) + width - 1) // width, np.int64)
    for block in range(len(tops)):
        tops[block] = values[block * width : (block + 1) * width].max()
    return tops


@njit(cache=True, nogil=True)
def list_inequality_pairs(  # type: ignore[no-untyped-def]
    lefts, rights, starts, ends, a, b, second, left_unequal, right_unequal, order, falling, once, limit
):
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
        for k in falling:  # of these lines the values of right rows fall, so that the smaller ones are at the end
            low, high = q, end
            while low < high:
                mid = (low + high) // 2
                if b[k, rights[mid]] > a[k, i]:
                    low = mid + 1
                else:
                    high = mid
            end = low
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
