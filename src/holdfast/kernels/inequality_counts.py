"""Pairs that satisfy inequalities within groups, counted row by row: sweeps, Fenwick trees, divide and conquer.

Rows are ordered by group. What a left row is paired with are ranges of places of right rows, as `ranges.py` has them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Within so many rows pairs are looked at one by one.
_NEAR = 64

# What values do along an order by group and another value.
FALLS, RISES_IN_A_TIE, RISES = range(3)


@njit(cache=True, nogil=True)
def in_order(ids, values):  # type: ignore[no-untyped-def]
    for at in range(1, len(ids)):
        if ids[at] < ids[at - 1] or (ids[at] == ids[at - 1] and values[at] < values[at - 1]):
            return False
    return True


@njit(cache=True, nogil=True)
def ways_of(ids, values, others):  # type: ignore[no-untyped-def]
    """What the others do within each group, whose values are in order; falling is also staying as they are."""
    way = FALLS
    for at in range(1, len(ids)):
        if ids[at] == ids[at - 1] and others[at] > others[at - 1]:
            if values[at] != values[at - 1]:
                return RISES
            way = RISES_IN_A_TIE
    return way


@njit(cache=True, nogil=True)
def _common_groups(left_ids, right_ids):  # type: ignore[no-untyped-def]
    """(start, end) among the left rows and (start, end) among the right rows, of every group that has both."""
    groups = [(0, 0, 0, 0) for _ in range(0)]
    i = j = 0
    while i < len(left_ids) and j < len(right_ids):
        group = max(left_ids[i], right_ids[j])
        while i < len(left_ids) and left_ids[i] < group:
            i += 1
        while j < len(right_ids) and right_ids[j] < group:
            j += 1
        i_start, j_start = i, j
        while i < len(left_ids) and left_ids[i] == group:
            i += 1
        while j < len(right_ids) and right_ids[j] == group:
            j += 1
        if i > i_start and j > j_start:
            groups.append((i_start, i, j_start, j))
    return groups


@njit(cache=True, nogil=True)
def range_starts(left_ids, right_ids, a, b, lefts, starts, ends):  # type: ignore[no-untyped-def]
    """Where the greater values begin for each left row, whose values are in order; they end with the group."""
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        q = j
        for p in range(i, i_end):
            while q < j_end and b[q] <= a[p]:
                q += 1
            starts[lefts[p]], ends[lefts[p]] = q, j_end


@njit(cache=True, nogil=True)
def range_ends(left_ids, right_ids, a, b, lefts, starts, ends):  # type: ignore[no-untyped-def]
    """Where the greater values end for each left row, in groups in which right values fall; not before they start.

    Looked for from where it was for the left row before, in growing steps.
    """
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        q = j
        for p in range(i, i_end):
            step = 1
            if q < j_end and b[q] > a[p]:
                low = q + 1
                while low + step <= j_end and b[low + step - 1] > a[p]:
                    low += step
                    step *= 2
                high = min(low + step - 1, j_end)
            else:
                high = q
                while high - step >= j and b[high - step] <= a[p]:
                    high -= step
                    step *= 2
                low = max(high - step + 1, j)
            while low < high:
                middle = (low + high) // 2
                if b[middle] > a[p]:
                    low = middle + 1
                else:
                    high = middle
            q = low
            ends[lefts[p]] = max(q, starts[lefts[p]])


@njit(cache=True, nogil=True)
def count_in_ranges(lefts, rights, starts, ends, as_left, as_right, both):  # type: ignore[no-untyped-def]
    """One range each: the pairs of each left row, and with `both` those of each right row."""
    for row in lefts:
        as_left[row] = ends[row] - starts[row]
    if not both:
        return
    change = np.zeros(len(rights) + 1, np.int64)
    for row in lefts:
        change[starts[row]] += 1
        change[ends[row]] -= 1
    many = 0
    for q in range(len(rights)):
        many += change[q]
        as_right[rights[q]] = many


@njit(cache=True, nogil=True)
def _add(tree, at, amount):  # type: ignore[no-untyped-def]
    while at < len(tree):
        tree[at] += amount
        at += at & -at


@njit(cache=True, nogil=True)
def _below(tree, at):  # type: ignore[no-untyped-def]
    """How many were added at places up to `at`."""
    total = 0
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@njit(cache=True, nogil=True)
def _from_top(i, i_end, j, j_end, lefts, edges, rights, lows, highs, places, sign, as_left):  # type: ignore[no-untyped-def]
    """Adds to each left row of a group the right rows from its edge on that lie in its second range."""
    tree = np.zeros(j_end - j + 1, np.int32)
    q = j_end
    for p in range(i_end - 1, i - 1, -1):
        row = lefts[p]
        if edges[row] == j_end:
            continue
        while q > edges[row]:
            q -= 1
            _add(tree, places[rights[q]] - j + 1, 1)
        within = j_end - q if highs[row] == j_end else _below(tree, highs[row] - j)
        as_left[row] += sign * (within - _below(tree, lows[row] - j))


@njit(cache=True, nogil=True)
def count_in_two_ranges(  # type: ignore[no-untyped-def]
    left_ids, right_ids, lefts, by_end, rights, starts, ends, lows, highs, places, as_left, as_right, both
):
    """Two ranges each: right rows are points, and left rows are rectangles.

    Left rows come by `starts` and by `ends`, right rows in the first order; `lows`, `highs` and `places` are of the
    second.
    """
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        _from_top(i, i_end, j, j_end, lefts, starts, rights, lows, highs, places, 1, as_left)
        _from_top(i, i_end, j, j_end, by_end, ends, rights, lows, highs, places, -1, as_left)
        if not both:
            continue
        tree = np.zeros(j_end - j + 1, np.int32)
        begun = ended = i
        for q in range(j, j_end):
            while begun < i_end and starts[lefts[begun]] <= q:
                row = lefts[begun]
                _add(tree, lows[row] - j + 1, 1)
                if highs[row] < j_end:
                    _add(tree, highs[row] - j + 1, -1)
                begun += 1
            while ended < i_end and ends[by_end[ended]] <= q:
                row = by_end[ended]
                _add(tree, lows[row] - j + 1, -1)
                if highs[row] < j_end:
                    _add(tree, highs[row] - j + 1, 1)
                ended += 1
            as_right[rights[q]] = _below(tree, places[rights[q]] - j + 1)


@njit(cache=True, nogil=True)
def count_from_three_edges(  # type: ignore[no-untyped-def]
    left_ids, right_ids, lefts, rights, edges, second_edges, second_places, third_edges, third_places, sign, as_left,
    as_right,
):  # fmt: skip
    """Right rows from an edge on in each of three orders: those of each left row, and the left rows of each right row.

    Left rows are in order of `edges`, right rows in the first order. Divide and conquer: order by the first, merge by
    the second, a Fenwick tree for the third.
    """
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        size = (i_end - i) + (j_end - j)
        second, third = np.empty(size, np.int32), np.empty(size, np.int32)
        # The left row, or -1 - the right row. Right rows that come before the edge of a left row come before it.
        row = np.empty(size, np.int64)
        p, q = i, j
        for at in range(size):
            if q < j_end and (p == i_end or q < edges[lefts[p]]):
                second[at], third[at] = second_places[rights[q]] - j + 1, third_places[rights[q]] - j + 1
                row[at] = -1 - rights[q]
                q += 1
            else:
                second[at], third[at] = second_edges[lefts[p]] - j, third_edges[lefts[p]] - j
                row[at] = lefts[p]
                p += 1
        _merge_count(second, third, row, np.zeros(j_end - j + 1, np.int32), sign, as_left, as_right)


@njit(cache=True, nogil=True)
def _merge_count(second, third, row, tree, sign, as_left, as_right):  # type: ignore[no-untyped-def]
    """Pairs of a left row with a later right row whose second and third values are both greater."""
    size = len(row)
    _count_near(second, third, row, sign, as_left, as_right)
    second_out, third_out, row_out = np.empty_like(second), np.empty_like(third), np.empty_like(row)
    width = 1
    while width < size:
        for lo in range(0, size, 2 * width):
            mid, hi = min(lo + width, size), min(lo + 2 * width, size)
            if width >= _NEAR and mid < hi:
                _count_across(lo, mid, hi, second, third, row, tree, sign, as_left, as_right)
            p, q = lo, mid
            for at in range(lo, hi):
                if q == hi or (p < mid and second[p] <= second[q]):
                    second_out[at], third_out[at], row_out[at] = second[p], third[p], row[p]
                    p += 1
                else:
                    second_out[at], third_out[at], row_out[at] = second[q], third[q], row[q]
                    q += 1
        second, second_out = second_out, second
        third, third_out = third_out, third
        row, row_out = row_out, row
        width *= 2


@njit(cache=True, nogil=True)
def _count_near(second, third, row, sign, as_left, as_right):  # type: ignore[no-untyped-def]
    """The pairs within each run of a few rows: to look at all of them takes less than to divide further."""
    right, met = (row < 0).astype(np.int32), np.zeros(len(row), np.int32)
    for lo in range(0, len(row), _NEAR):
        hi = min(lo + _NEAR, len(row))
        for p in range(lo, hi):
            if not right[p]:
                many = np.int32(0)
                for q in range(p + 1, hi):  # without a branch, so that several are compared at once
                    fits = right[q] & np.int32(second[p] < second[q]) & np.int32(third[p] < third[q])
                    many += fits
                    met[q] += fits
                as_left[row[p]] += sign * many
    for q in range(len(row)):
        if right[q]:
            as_right[-1 - row[q]] += sign * met[q]


@njit(cache=True, nogil=True)
def _count_across(lo, mid, hi, second, third, row, tree, sign, as_left, as_right):  # type: ignore[no-untyped-def]
    """The pairs of the left rows of one half with the right rows of the other, each half in order of second values."""
    p = lo
    for q in range(mid, hi):  # left rows of the first half with a smaller second value
        if row[q] < 0:
            while p < mid and second[p] < second[q]:
                if row[p] >= 0:
                    _add(tree, third[p] + 1, 1)
                p += 1
            as_right[-1 - row[q]] += sign * _below(tree, third[q])
    _clear(tree, lo, p, third, row, True)
    q, added = hi - 1, 0
    for p in range(mid - 1, lo - 1, -1):  # right rows of the second half with a greater second value
        if row[p] >= 0:
            while q >= mid and second[q] > second[p]:
                if row[q] < 0:
                    _add(tree, third[q], 1)
                    added += 1
                q -= 1
            as_left[row[p]] += sign * (added - _below(tree, third[p]))
    _clear(tree, q + 1, hi, third, row, False)


@njit(cache=True, nogil=True)
def _clear(tree, first, last, third, row, left):  # type: ignore[no-untyped-def]
    """Takes the left rows, or the right ones, among these out of the tree."""
    if (last - first) * 4 > len(tree):
        tree[:] = 0
        return
    for at in range(first, last):
        if left and row[at] >= 0:
            _add(tree, third[at] + 1, -1)
        elif not left and row[at] < 0:
            _add(tree, third[at], -1)


@njit(cache=True, nogil=True)
def count_listed(lefts, rights, starts, ends, a, b, as_left, as_right):  # type: ignore[no-untyped-def]
    """Each pair of a left row with the right rows in its range is looked at; values are in the order of the rows."""
    for p in range(len(lefts)):
        left = lefts[p]
        for q in range(starts[left], ends[left]):
            fits = True
            for k in range(a.shape[1]):
                if a[p, k] >= b[q, k]:
                    fits = False
                    break
            if fits:
                as_left[left] += 1
                as_right[rights[q]] += 1
