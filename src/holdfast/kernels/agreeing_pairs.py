"""With how many others each row agrees in two or three orders at once, from how many are before it in two of them.

Those greater in three orders are all others, less those smaller in each, with those smaller in each two, less those
smaller in all three. The last are the ones that are added for the sum of both sides: so three orders take no more than
two do, where left and right rows apart take divide and conquer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from holdfast.kernels.order import Ints, order_in_groups


def agreeing_pairs(groups: Ints, values: Ints) -> Ints:
    """Per row, how many rows of its group are smaller in all its values, or greater in all of them.

    `values` has two or three lines. A group of -1 is none. What is equal agrees with nothing. Cost: a sort per line and
    one more, and n log n for two lines, three times that for three.
    """
    assert len(values) in (2, 3), "other numbers of orders do not add up"
    rows = np.flatnonzero(groups >= 0)
    agreeing = np.zeros(len(groups), np.int64)
    if len(rows) == 0:
        return agreeing
    groups, values = (groups, values) if len(rows) == len(groups) else (groups[rows], values[:, rows])
    # Rows that are equal in one order are put into it against another one, in which they differ or are put against it.
    last = order_in_groups(groups, values[0])[::-1]
    second = _sorted_from(last, groups, values[1])
    first = _sorted_from(second[::-1], groups, values[0])
    orders = [first, second, *(_sorted_from(first[::-1], groups, line) for line in values[2:])]
    ends = np.cumsum(np.bincount(groups))
    # Rows are numbered by the first order, so that those of a group lie together.
    places = np.empty((len(orders) - 1, len(rows)), np.int32)
    for line, order in zip(places, orders[1:], strict=True):
        place = np.empty(len(rows), np.int32)
        place[order] = np.arange(len(rows), dtype=np.int32)
        line[:] = place[first]
    agreeing[rows[first]] = _agreeing(ends, places)
    return agreeing


def _sorted_from(rows: Ints, groups: Ints, values: Ints) -> Ints:
    """The rows by group and value, those of one value in the order given."""
    return rows[order_in_groups(groups[rows], values[rows])]


@njit(cache=True, nogil=True)
def _agreeing(ends, places):  # type: ignore[no-untyped-def]
    agreeing = np.zeros(places.shape[1], np.int64)
    start = 0
    for end in ends:
        size = end - start
        if size > 1:
            tree = np.zeros(size + 1, np.int32)
            for at in range(size):
                many = size - 1 - at
                for k in range(len(places)):
                    many -= places[k, start + at] - start
                agreeing[start + at] = many
            times = 2 if len(places) == 1 else 1
            for k in range(len(places)):
                tree[:] = 0
                for at in range(start, end):
                    agreeing[at] += times * _before(tree, places[k, at] - start)
            if len(places) == 2:
                rows = np.empty(size, np.int32)
                for at in range(start, end):
                    rows[places[0, at] - start] = at
                tree[:] = 0
                for row in rows:
                    agreeing[row] += _before(tree, places[1, row] - start)
        start = end
    return agreeing


@njit(cache=True, nogil=True)
def _before(tree, place):  # type: ignore[no-untyped-def]
    """How many places before this one were met; it is met now."""
    total, at = 0, place
    while at > 0:
        total += tree[at]
        at -= at & -at
    at = place + 1
    while at < len(tree):
        tree[at] += 1
        at += at & -at
    return total
