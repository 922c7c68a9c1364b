"""Sorting rows by group and value: one sort of the values, one pass over the groups."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def order_in_groups(groups: Ints, values: Ints) -> Ints:
    """Positions ordered by group, and within a group by value. Groups are small numbers from 0.

    Cost: one sort and one pass, where sorting by both keys would take two sorts. Not stable.
    """
    by_value = np.argsort(values)
    return np.asarray(_by_group(by_value, groups, int(groups.max(initial=0)) + 1))


@njit(cache=True)
def _by_group(order, groups, top):  # type: ignore[no-untyped-def]
    place = np.zeros(top + 1, np.int64)
    for group in groups:
        place[group + 1] += 1
    for group in range(top):
        place[group + 1] += place[group]
    ordered = np.empty(len(order), np.int64)
    for at in order:
        group = groups[at]
        ordered[place[group]] = at
        place[group] += 1
    return ordered
