"""Pairs of rows, one of each side, that satisfy a list of comparisons: found by walking two trees of boxes at once.

Rows of each side are sorted; a node is a run of them with the least and the greatest code per comparison. Two nodes
whose boxes leave some comparison no way to be satisfied are done with, whatever rows are in them. On sorted rows this
turns equalities, inequalities and their mixtures into a walk along the borders, and it needs no case of its own for
comparisons across columns, for `!=`, or for nulls.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.evidence import NULL

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]

# What a comparison may allow; the last is for a null beside a value. Two nulls are equal.
LESS, EQUAL, GREATER, NULL_BESIDE_VALUE = 1, 2, 4, 8
_LEAF = 16


def satisfying_pairs(
    left: Codes, right: Codes, allowed: Ints, left_ids: Ints, right_ids: Ints, repeated: NDArray[np.bool_],
    *, limit: int, seed: int, flag: Ints,
) -> tuple[Ints, Ints, bool]:  # fmt: skip
    """Up to `limit` pairs of ids whose codes are, comparison by comparison, in an allowed relation; and whether the
    walk was finished, so that there are no more.

    `left` and `right` have a line of codes per comparison, their rows sorted. A row is paired with itself only when it
    is `repeated` (by id). Which pairs are found first depends on the seed. Ends when `flag` is raised.
    """
    if left.shape[1] == 0 or right.shape[1] == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), True
    a, b = _boxes(left, _LEAF), _boxes(right, _LEAF)
    pairs_left, pairs_right = np.zeros(limit, np.int64), np.zeros(limit, np.int64)
    count, finished = _walk(
        left, right, a, b, allowed, left_ids, right_ids, repeated, pairs_left, pairs_right, seed, flag, _LEAF
    )
    return pairs_left[:count], pairs_right[:count], bool(finished)


@njit(cache=True, nogil=True)
def _boxes(codes, leaf):  # type: ignore[no-untyped-def]
    """Nodes of a tree over runs of rows: where each level starts, and per node and comparison the least and greatest
    code that is not null (greatest below least when there is none) and whether there are nulls."""
    lines, n = codes.shape
    leaves = (n + leaf - 1) // leaf
    levels, total, size = 0, 0, leaves
    while True:
        levels += 1
        total += size
        if size == 1:
            break
        size = (size + 1) // 2
    starts = np.zeros(levels + 1, np.int64)
    least = np.full((total, lines), np.int32(2**31 - 1), np.int32)
    greatest = np.full((total, lines), np.int32(-1), np.int32)
    nulls = np.zeros((total, lines), np.bool_)
    for p in range(lines):
        line = codes[p]
        for i in range(n):
            node, code = i // leaf, line[i]
            if code == NULL:
                nulls[node, p] = True
            else:
                if code < least[node, p]:
                    least[node, p] = code
                if code > greatest[node, p]:
                    greatest[node, p] = code
    size, at = leaves, 0
    for level in range(levels):
        starts[level] = at
        if level + 1 < levels:
            above = at + size
            for i in range(size):
                node, parent = at + i, above + i // 2
                for p in range(lines):
                    nulls[parent, p] |= nulls[node, p]
                    least[parent, p] = min(least[parent, p], least[node, p])
                    greatest[parent, p] = max(greatest[parent, p], greatest[node, p])
        at += size
        size = (size + 1) // 2
    starts[levels] = at
    return starts, least, greatest, nulls


@njit(cache=True, nogil=True)
def _possible(least_a, greatest_a, null_a, least_b, greatest_b, null_b, allowed):  # type: ignore[no-untyped-def]
    for p in range(len(allowed)):
        value_a, value_b = greatest_a[p] >= least_a[p], greatest_b[p] >= least_b[p]
        ways = 0
        if value_a and value_b:
            if least_a[p] < greatest_b[p]:
                ways |= LESS
            if greatest_a[p] > least_b[p]:
                ways |= GREATER
            if max(least_a[p], least_b[p]) <= min(greatest_a[p], greatest_b[p]):
                ways |= EQUAL
        if null_a[p] and null_b[p]:
            ways |= EQUAL
        if (null_a[p] and value_b) or (value_a and null_b[p]):
            ways |= NULL_BESIDE_VALUE
        if not ways & allowed[p]:
            return False
    return True


@njit(cache=True, nogil=True)
def _satisfied(left, i, right, j, allowed):  # type: ignore[no-untyped-def]
    for p in range(len(allowed)):
        a, b = left[p, i], right[p, j]
        if a == NULL or b == NULL:
            way = EQUAL if a == b else NULL_BESIDE_VALUE
        else:
            way = LESS if a < b else EQUAL if a == b else GREATER
        if not way & allowed[p]:
            return False
    return True


@njit(cache=True, nogil=True)
def _walk(  # type: ignore[no-untyped-def]
    left, right, boxes_a, boxes_b, allowed, left_ids, right_ids, repeated, pairs_left, pairs_right, seed, flag, leaf
):
    starts_a, least_a, greatest_a, null_a = boxes_a
    starts_b, least_b, greatest_b, null_b = boxes_b
    stack = np.zeros((1024, 4), np.int64)
    stack[0, 0], stack[0, 2] = len(starts_a) - 2, len(starts_b) - 2
    depth, count = 1, 0
    state = np.uint64(seed) * np.uint64(2) + np.uint64(1)
    while depth:
        if flag[0]:
            return count, False
        depth -= 1
        level_a, at_a, level_b, at_b = stack[depth]
        a, b = starts_a[level_a] + at_a, starts_b[level_b] + at_b
        if not _possible(least_a[a], greatest_a[a], null_a[a], least_b[b], greatest_b[b], null_b[b], allowed):
            continue
        if level_a == 0 and level_b == 0:
            for i in range(at_a * leaf, min((at_a + 1) * leaf, left.shape[1])):
                for j in range(at_b * leaf, min((at_b + 1) * leaf, right.shape[1])):
                    if left_ids[i] == right_ids[j] and not repeated[left_ids[i]]:
                        continue
                    if _satisfied(left, i, right, j, allowed):
                        if count == len(pairs_left):
                            return count, False
                        pairs_left[count], pairs_right[count] = left_ids[i], right_ids[j]
                        count += 1
            continue
        if depth + 2 > len(stack):
            larger = np.zeros((2 * len(stack), 4), np.int64)
            larger[: len(stack)] = stack
            stack = larger
        # The halves of the larger node; in random order, so that pairs come from all over the table.
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        first = np.int64(state & np.uint64(1))
        for turn in range(2):
            half = first ^ turn
            if level_a >= level_b:
                child = 2 * at_a + half
                if starts_a[level_a - 1] + child < starts_a[level_a]:
                    stack[depth] = (level_a - 1, child, level_b, at_b)
                    depth += 1
            else:
                child = 2 * at_b + half
                if starts_b[level_b - 1] + child < starts_b[level_b]:
                    stack[depth] = (level_a, at_a, level_b - 1, child)
                    depth += 1
    return count, True
