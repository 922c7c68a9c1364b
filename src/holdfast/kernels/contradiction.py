"""Whether comparisons contradict each other by transitivity, for many constraints at once."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_LT, _EQ, _GT = 1, 2, 4


Ints = NDArray[np.int64]
# An operand of which it is not known where its values lie.
ANYWHERE = (-(1 << 62), 1 << 62)


def contradictory(
    allowed: NDArray[np.uint8], left: Ints, right: Ints, ranges: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """Per line of `allowed`, whether no values could be in the relations it allows on all operand pairs.

    `allowed` has a column per operand pair, a set of relations as bits (< 1, = 2, > 4; 7 says nothing); `left` and
    `right` number its operands. Complete over a dense order without ends: a cycle of < and = with a strict step, or one
    without that joins two operands that must differ. The same law as in rules/constraint.py. With `ranges`, a line per
    operand with its least and its greatest value, also where one of them would have to be below another that is never
    as great.
    """
    operands = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    known = np.tile(np.array(ANYWHERE, np.int64), (operands, 1)) if ranges is None else np.ascontiguousarray(ranges)
    return np.asarray(_contradictory(np.ascontiguousarray(allowed), left, right, known))


@njit(cache=True, nogil=True)
def _contradictory(allowed, left, right, ranges):  # type: ignore[no-untyped-def]
    count, pairs = allowed.shape
    operands = len(ranges)
    contradicted = np.zeros(count, np.bool_)
    below = np.zeros((operands, operands), np.uint8)
    used, place = np.zeros(operands, np.int64), np.full(operands, -1, np.int64)
    for i in range(count):
        n = 0
        for p in range(pairs):
            if allowed[i, p] == 0:
                contradicted[i] = True
            if allowed[i, p] != _LT | _EQ | _GT:
                for operand in (left[p], right[p]):
                    if place[operand] < 0:
                        place[operand] = n
                        used[n] = operand
                        n += 1
        # 0 nothing known, 1 at most, 2 less than.
        below[:n, :n] = 0
        for p in range(pairs):
            a, b, mask = place[left[p]], place[right[p]], allowed[i, p]
            if mask != _LT | _EQ | _GT:
                if not mask & _GT:
                    below[a, b] = max(below[a, b], 1 if mask & _EQ else 2)
                if not mask & _LT:
                    below[b, a] = max(below[b, a], 1 if mask & _EQ else 2)
        for k in range(n):
            for a in range(n):
                if below[a, k]:
                    for b in range(n):
                        if below[k, b]:
                            below[a, b] = max(below[a, b], max(below[a, k], below[k, b]))
        for a in range(n):
            for b in range(n):
                least, greatest = ranges[used[a], 0], ranges[used[b], 1]
                if (below[a, b] == 1 and least > greatest) or (below[a, b] == 2 and least >= greatest):
                    contradicted[i] = True
        for p in range(pairs):
            mask = allowed[i, p]
            if mask != _LT | _EQ | _GT:
                a, b = place[left[p]], place[right[p]]
                if below[a, b] and below[b, a] and (below[a, a] == 2 or not mask & _EQ):
                    contradicted[i] = True
        for at in range(n):
            place[used[at]] = -1
    return contradicted
