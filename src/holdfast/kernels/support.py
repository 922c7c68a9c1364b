"""How many pairs of rows meet all predicates of a constraint but one: what speaks for each predicate."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.bits import lowest

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]


def least_support(masks: Words, slots: Ints, evidence: Words, counts: Ints, *, threads: int = 1) -> Ints:
    """Per mask, over its predicates (slots not allowed whole), the fewest pairs that meet all the other predicates.

    A predicate that few pairs put to the test may be there by accident; the scarcest one decides. A pair meets the
    predicate of a slot when its evidence there lies inside the mask. Cost: masks times evidences.
    """
    count = int(slots.max(initial=-1)) + 1
    parts = np.array_split(masks, max(1, min(threads * 4, len(masks))))
    evidence, counts = np.ascontiguousarray(evidence), np.ascontiguousarray(counts)
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(lambda part: _least_support(part, slots, count, evidence, counts), parts)
        return np.concatenate(list(found))


@njit(cache=True, nogil=True)
def _least_support(masks, slots, count, evidence, counts):  # type: ignore[no-untyped-def]
    words, one = masks.shape[1], np.uint64(1)
    least = np.zeros(len(masks), np.int64)
    tested = np.zeros(count, np.int64)
    for i in range(len(masks)):
        tested[:] = 0
        for e in range(len(evidence)):
            # The first slot outside the mask, if any, must be the only one.
            first, only = -1, True
            for w in range(words):
                outside = evidence[e, w] & ~masks[i, w]
                while outside:
                    slot = slots[64 * w + lowest(outside)]
                    outside &= outside - one
                    if first < 0:
                        first = slot
                    elif slot != first:
                        only = False
                        break
                if not only:
                    break
            if only and first >= 0:
                tested[first] += counts[e]
        fewest = np.int64(-1)
        for bit in range(len(slots)):
            predicate = not masks[i, bit >> 6] >> np.uint64(bit & 63) & one
            if predicate and (fewest < 0 or tested[slots[bit]] < fewest):
                fewest = tested[slots[bit]]
        if fewest > 0:
            least[i] = fewest
    return least
