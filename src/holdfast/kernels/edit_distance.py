"""The texts that are written most like a given one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.without_compiler import compiler_pays

Ints = NDArray[np.int64]


def nearest_texts(
    points: NDArray[np.uint32], ends: Ints, wanted: NDArray[np.uint32], *, most: int
) -> tuple[Ints, Ints]:
    """(places, changes) of at most so many texts that the fewest changes of one character make of the wanted one.

    Of the texts, `points` has the characters, one text after the other, and `ends` where each ends. The nearest first;
    of several as near the first. Cost: the product of both lengths, less for texts that are soon seen to be too far.
    """
    search = find_nearest
    if compiler_pays(len(points) * (1 + len(wanted))):
        from holdfast.kernels.compiled_edit_distance import find_nearest_compiled

        search = find_nearest_compiled
    places, changes = search(points, ends, wanted, most)  # type: ignore[no-untyped-call]
    return np.asarray(places), np.asarray(changes)


def find_nearest(points, ends, wanted, most):  # type: ignore[no-untyped-def]
    places, changes = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    size, kept, start, least = len(wanted), 0, 0, 0
    line = np.empty(size + 1, np.int64)
    for place in range(len(ends)):
        first, start = start, ends[place]
        length = start - first
        # More changes than this are of no interest.
        bound = changes[kept - 1] - 1 if kept == most else length + size
        if abs(length - size) > bound:
            continue
        for j in range(size + 1):
            line[j] = j
        least = 0
        for i in range(length):
            before, line[0], least = line[0], i + 1, i + 1
            point = points[first + i]
            for j in range(size):
                best = before + (point != wanted[j])
                before = line[j + 1]
                best = min(best, before + 1, line[j] + 1)
                line[j + 1] = best
                least = min(least, best)
            if least > bound:
                break
        if least > bound or line[size] > bound:
            continue
        at = kept if kept < most else most - 1
        while at > 0 and changes[at - 1] > line[size]:
            places[at], changes[at] = places[at - 1], changes[at - 1]
            at -= 1
        places[at], changes[at] = place, line[size]
        kept = min(kept + 1, most)
    return places[:kept], changes[:kept]
