"""How many pairs of rows meet all predicates of a constraint but one: what speaks for each predicate."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.bits import lowest, popcount

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]


# Beyond so many comparisons only the evidence that most pairs show is looked at: what is left out is rare.
MOST_COMPARISONS = 1_000_000_000
# Between so many words that are compared it is looked whether time is up.
_AT_ONCE = 1 << 25


def least_support(
    masks: Words, slots: Ints, evidence: Words, counts: Ints, *, threads: int = 1,
    most_comparisons: int = MOST_COMPARISONS, over: Callable[[], bool] | None = None,
) -> Ints:  # fmt: skip
    """Per mask, over its predicates (slots not allowed whole), the fewest pairs that meet all the other predicates.

    A predicate that few pairs put to the test may be there by accident; the scarcest one decides. A pair meets the
    predicate of a slot when its evidence there lies inside the mask. Cost: masks times evidences; where that is more
    than `most_comparisons` the rarest evidence is left out, and the numbers are slightly too low. Once time is
    `over` no more masks are counted; those that were not have -1.
    """
    most = max(most_comparisons // max(len(masks), 1), 1_000)
    if len(evidence) > most:
        common = np.sort(np.argsort(-counts, kind="stable")[:most])
        evidence, counts = evidence[common], counts[common]
    evidence, counts = np.ascontiguousarray(evidence), np.ascontiguousarray(counts)
    count = int(slots.max(initial=-1)) + 1

    def of(part: Words) -> Ints:
        if over is not None and over():
            return np.full(len(part), -1, np.int64)
        if masks.shape[1] == 1:
            return np.asarray(_of_single_words(part[:, 0], slots, count, evidence[:, 0], counts))
        return np.asarray(_of_words(part, slots, count, evidence, counts))

    many = threads * 4 if over is None else max(threads * 4, masks.size * len(evidence) // _AT_ONCE)
    parts = np.array_split(masks, max(1, min(many, len(masks))))
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(of, parts)))


def violating_pairs(masks: Words, evidence: Words, counts: Ints, *, threads: int = 1) -> Ints:
    """Per mask how many pairs show nothing outside it. Cost: masks times evidences."""
    evidence, counts = np.ascontiguousarray(evidence), np.ascontiguousarray(counts)
    parts = np.array_split(np.ascontiguousarray(masks), max(1, min(threads * 4, len(masks))))
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(lambda part: np.asarray(_inside(part, evidence, counts)), parts)))


@njit(cache=True, nogil=True)
def _inside(masks, evidence, counts):  # type: ignore[no-untyped-def]
    totals = np.zeros(len(masks), np.int64)
    for i in range(len(masks)):
        for e in range(len(evidence)):
            inside = True
            for w in range(masks.shape[1]):
                if evidence[e, w] & ~masks[i, w]:
                    inside = False
                    break
            if inside:
                totals[i] += counts[e]
    return totals


@njit(cache=True, nogil=True)
def _of_single_words(masks, slots, count, evidence, counts):  # type: ignore[no-untyped-def]
    slot_masks = np.zeros(count, np.uint64)
    for bit in range(len(slots)):
        slot_masks[slots[bit]] |= np.uint64(1) << np.uint64(bit)
    least = np.zeros(len(masks), np.int64)
    tested = np.zeros(count, np.int64)
    for i in range(len(masks)):
        tested[:] = 0
        outside_mask = ~masks[i]
        for e in range(len(evidence)):
            outside = evidence[e] & outside_mask
            # A slot has at most three bits.
            if popcount(outside) <= 3 and outside:
                slot = slots[lowest(outside)]
                if not outside & ~slot_masks[slot]:
                    tested[slot] += counts[e]
        least[i] = _fewest(masks[i : i + 1], slots, tested)
    return least


@njit(cache=True, nogil=True)
def _of_words(masks, slots, count, evidence, counts):  # type: ignore[no-untyped-def]
    words, bit = masks.shape[1], np.uint64(1)
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
                    outside &= outside - bit
                    if first < 0:
                        first = slot
                    elif slot != first:
                        only = False
                        break
                if not only:
                    break
            if only and first >= 0:
                tested[first] += counts[e]
        least[i] = _fewest(masks[i], slots, tested)
    return least


@njit(cache=True, nogil=True)
def _fewest(mask, slots, tested):  # type: ignore[no-untyped-def]
    """The smallest number among the slots that the mask does not allow whole; 0 when there are none."""
    fewest = np.int64(-1)
    for bit in range(len(slots)):
        predicate = not mask[bit >> 6] >> np.uint64(bit & 63) & np.uint64(1)
        if predicate and (fewest < 0 or tested[slots[bit]] < fewest):
            fewest = tested[slots[bit]]
    return fewest if fewest > 0 else np.int64(0)
