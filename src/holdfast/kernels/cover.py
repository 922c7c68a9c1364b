"""A greedy cover of pairs: rows to take away so that no pair is left."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.without_compiler import compiler_pays

# Python itself runs this loop, where it is not compiled, and is slower than numpy.
_STEPS_PER_PAIR = 16


def greedy_cover(left: NDArray[np.int64], right: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Ids, among 0..size-1, that together touch every pair, in the order they were taken.

    Always the one in most of the pairs that remain, on a tie the largest. A pair listed both ways counts twice.
    Cost: one sort of the pairs, and a heap operation each time an id's count has changed since it was looked at.
    """
    ends = np.concatenate([left, right])
    others = np.concatenate([right, left])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(size + 1))
    if not compiler_pays(_STEPS_PER_PAIR * len(left)):
        return np.asarray(take_greedily(starts, others[order], size))  # type: ignore[no-untyped-call]
    from holdfast.kernels.compiled_cover import take_greedily_compiled

    return np.asarray(take_greedily_compiled(starts, others[order], size))


def take_greedily(starts, neighbours, size):  # type: ignore[no-untyped-def]
    count = np.empty(size, np.int64)
    heap = [np.int64(0) for _ in range(0)]
    for i in range(size):
        count[i] = starts[i + 1] - starts[i]
        if count[i] > 0:
            # The smallest number is the largest count, and among those the largest id.
            heap.append(-(count[i] * size + i))
    heapq.heapify(heap)
    taken = np.zeros(size, np.bool_)
    cover = [np.int64(0) for _ in range(0)]
    while heap:
        best = -heapq.heappop(heap)
        i, seen = best % size, best // size
        if count[i] == 0:
            continue
        if count[i] < seen:  # counts only fall, so looking again at the top is enough
            heapq.heappush(heap, -(count[i] * size + i))
            continue
        taken[i] = True
        cover.append(i)
        for at in range(starts[i], starts[i + 1]):
            other = neighbours[at]
            if not taken[other]:
                count[other] -= 1
        count[i] = 0
    return np.array(cover, np.int64)
