"""Pairs that satisfy inequalities within groups, counted row by row: sweeps, Fenwick trees, divide and conquer."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def rank_runs(ids, values, order, ranks):  # type: ignore[no-untyped-def]
    rank = 0
    for at in range(len(order)):
        if at == 0 or ids[at] != ids[at - 1]:
            rank = 1
        elif values[at] != values[at - 1]:
            rank += 1
        ranks[order[at]] = rank


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
def count_inequality(left_ids, right_ids, a, b, lefts, rights, as_left, as_right):  # type: ignore[no-untyped-def]
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        q = j
        for p in range(i, i_end):
            while q < j_end and b[q] <= a[p]:
                q += 1
            as_left[lefts[p]] = j_end - q
        p = i
        for q in range(j, j_end):
            while p < i_end and a[p] < b[q]:
                p += 1
            as_right[rights[q]] = p - i


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
def count_two(left_ids, right_ids, a, b, left_ranks, right_ranks, lefts, rights, as_left, as_right):  # type: ignore[no-untyped-def]
    x, y = left_ranks[0], right_ranks[0]
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        top = 0
        for p in range(i, i_end):
            top = max(top, x[p])
        for q in range(j, j_end):
            top = max(top, y[q])
        tree = np.zeros(top + 1, np.int64)
        p = i
        for q in range(j, j_end):
            while p < i_end and a[p] < b[q]:
                _add(tree, x[p], 1)
                p += 1
            as_right[rights[q]] = _below(tree, y[q] - 1)
        tree[:] = 0
        q = j_end - 1
        for p in range(i_end - 1, i - 1, -1):
            while q >= j and b[q] > a[p]:
                _add(tree, y[q], 1)
                q -= 1
            as_left[lefts[p]] = (j_end - 1 - q) - _below(tree, x[p])


@njit(cache=True, nogil=True)
def count_three(left_ids, right_ids, a, b, left_ranks, right_ranks, lefts, rights, as_left, as_right):  # type: ignore[no-untyped-def]
    """Divide and conquer: order by the first inequality, merge by the second, a Fenwick tree for the third."""
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        size = (i_end - i) + (j_end - j)
        second, third = np.empty(size, np.int64), np.empty(size, np.int64)
        # Position in lefts, or -1 - position in rights. Where the first values are equal, right rows come first.
        row = np.empty(size, np.int64)
        p, q, top = i, j, 0
        for at in range(size):
            if q < j_end and (p == i_end or b[q] <= a[p]):
                second[at], third[at], row[at] = right_ranks[0, q], right_ranks[1, q], -1 - q
                q += 1
            else:
                second[at], third[at], row[at] = left_ranks[0, p], left_ranks[1, p], p
                p += 1
            top = max(top, third[at])
        _merge_count(second, third, row, np.zeros(top + 1, np.int64), lefts, rights, as_left, as_right)


@njit(cache=True, nogil=True)
def _merge_count(second, third, row, tree, lefts, rights, as_left, as_right):  # type: ignore[no-untyped-def]
    size = len(row)
    second_out, third_out, row_out = np.empty_like(second), np.empty_like(third), np.empty_like(row)
    width = 1
    while width < size:
        for lo in range(0, size, 2 * width):
            mid, hi = min(lo + width, size), min(lo + 2 * width, size)
            p = lo
            for q in range(mid, hi):  # left rows of the first half with a smaller second value
                if row[q] < 0:
                    while p < mid and second[p] < second[q]:
                        if row[p] >= 0:
                            _add(tree, third[p], 1)
                        p += 1
                    as_right[rights[-1 - row[q]]] += _below(tree, third[q] - 1)
            for at in range(lo, p):
                if row[at] >= 0:
                    _add(tree, third[at], -1)
            q, added = hi - 1, 0
            for p in range(mid - 1, lo - 1, -1):  # right rows of the second half with a greater second value
                if row[p] >= 0:
                    while q >= mid and second[q] > second[p]:
                        if row[q] < 0:
                            _add(tree, third[q], 1)
                            added += 1
                        q -= 1
                    as_left[lefts[row[p]]] += added - _below(tree, third[p])
            for at in range(q + 1, hi):
                if row[at] < 0:
                    _add(tree, third[at], -1)
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
def count_many(left_ids, right_ids, a, b, left_ranks, right_ranks, lefts, rights, as_left, as_right):  # type: ignore[no-untyped-def]
    for i, i_end, j, j_end in _common_groups(left_ids, right_ids):
        first = j
        for p in range(i, i_end):
            while first < j_end and b[first] <= a[p]:
                first += 1
            for q in range(first, j_end):
                fits = True
                for k in range(len(left_ranks)):
                    if left_ranks[k, p] >= right_ranks[k, q]:
                        fits = False
                        break
                if fits:
                    as_left[lefts[p]] += 1
                    as_right[rights[q]] += 1
