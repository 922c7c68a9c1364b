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
    slot_masks = np.zeros((int(slots.max(initial=-1)) + 1, masks.shape[1]), np.uint64)
    for bit, slot in enumerate(slots):
        slot_masks[slot, bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    parts = np.array_split(masks, max(1, min(threads * 4, len(masks))))
    evidence, counts = np.ascontiguousarray(evidence), np.ascontiguousarray(counts)
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(lambda part: _least_support(part, slots, slot_masks, evidence, counts), parts)
        return np.concatenate(list(found))


@njit(cache=True, nogil=True)
def _least_support(masks, slots, slot_masks, evidence, counts):  # type: ignore[no-untyped-def]
    words = masks.shape[1]
    least = np.zeros(len(masks), np.int64)
    tested = np.zeros(len(slot_masks), np.int64)
    outside = np.zeros(words, np.uint64)
    for i in range(len(masks)):
        tested[:] = 0
        for e in range(len(evidence)):
            # The first slot outside the mask, if any, must be the only one.
            first = -1
            for w in range(words):
                outside[w] = evidence[e, w] & ~masks[i, w]
                if first < 0 and outside[w]:
                    first = slots[64 * w + lowest(outside[w])]
            if first < 0:
                continue
            only = True
            for w in range(words):
                if outside[w] & ~slot_masks[first, w]:
                    only = False
                    break
            if only:
                tested[first] += counts[e]
        fewest = np.int64(-1)
        for slot in range(len(slot_masks)):
            whole = True
            for w in range(words):
                if slot_masks[slot, w] & ~masks[i, w]:
                    whole = False
            if not whole and (fewest < 0 or tested[slot] < fewest):
                fewest = tested[slot]
        if fewest > 0:
            least[i] = fewest
    return least
