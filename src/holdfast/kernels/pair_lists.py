"""The pairs themselves, up to a limit; the twin of pair_counts, which says how many there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.order import Ints, order_in_groups
from holdfast.kernels.without_compiler import all_pairs_of_ranges, compiler_pays


def list_pairs(
    left_group: Ints,
    right_group: Ints,
    a: Ints,
    b: Ints,
    *,
    unequal: tuple[Ints, Ints],
    wanted: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    order: Ints,
    once: bool,
    limit: int,
) -> tuple[Ints, Ints]:
    """At most `limit` pairs (i, j) of left rows and right rows that are `wanted`.

    As in `count_pairs`, and for every line of `unequal` the two values differ. `order` tells rows apart: a row is not
    paired with another of the same place in it. With `once`, only pairs whose left row comes first in it. Cost: a sort,
    then for each wanted row those that pass the first inequality, in leaps over those that cannot pass the second; only
    those in a range where the first and another inequality are the ends of one.
    """
    lefts = np.flatnonzero((left_group >= 0) & wanted[0])
    rights = np.flatnonzero((right_group >= 0) & wanted[1])
    if limit <= 0 or len(lefts) == 0 or len(rights) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    met = np.zeros(int(max(left_group.max(), right_group.max())) + 1, np.bool_)
    met[left_group[lefts]] = True
    rights = rights[met[right_group[rights]]]
    rights = rights[order_in_groups(right_group[rights], b[0][rights] if len(a) else rights)]
    ids = right_group[rights]
    starts = np.searchsorted(ids, left_group[lefts], side="left")
    ends = np.searchsorted(ids, left_group[lefts], side="right")
    if compiler_pays(int((ends - starts).sum())):
        from holdfast.kernels.inequality_counts import FALLS, ways_of
        from holdfast.kernels.inequality_pairs import list_inequality_pairs

        ends_too = [k for k in range(1, len(a)) if ways_of(ids, b[0][rights], b[k][rights]) == FALLS]
        falling = np.array(ends_too, np.int64)
        second = b[1][rights] if len(a) > 1 else np.empty(0, np.int64)
        return list_inequality_pairs(  # type: ignore[no-any-return]
            lefts, rights, starts, ends, a, b, second, unequal[0], unequal[1], order, falling, once, limit
        )
    left, right = all_pairs_of_ranges(starts, ends)
    left, right = lefts[left], rights[right]
    fits = order[left] < order[right] if once else order[left] != order[right]
    for x, y in zip(a, b, strict=True):
        fits &= x[left] < y[right]
    for x, y in zip(*unequal, strict=True):
        fits &= x[left] != y[right]
    return left[fits][:limit], right[fits][:limit]
