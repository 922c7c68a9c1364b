"""Sorting without comparing: passes over digits of the values, then one over the groups."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def ranked(values, order):  # type: ignore[no-untyped-def]
    value_ranks = np.empty(len(values), np.int64)
    rank = 0
    for at in range(len(order)):
        if at > 0 and values[order[at]] != values[order[at - 1]]:
            rank += 1
        value_ranks[order[at]] = rank
    return value_ranks


@njit(cache=True, nogil=True)
def by_digits(values, low, bits):  # type: ignore[no-untyped-def]
    """Radix sort, lowest digit first. Differences are taken modulo 2^64, where they cannot overflow."""
    mask = np.uint64(2047)
    order, spare = np.arange(len(values)), np.empty(len(values), np.int64)
    place = np.empty(2049, np.int64)
    for shift in range(0, bits, 11):
        place[:] = 0
        for value in values:
            place[(((np.uint64(value) - np.uint64(low)) >> np.uint64(shift)) & mask) + np.uint64(1)] += 1
        for start in range(2048):
            place[start + 1] += place[start]
        for at in order:
            digit = ((np.uint64(values[at]) - np.uint64(low)) >> np.uint64(shift)) & mask
            spare[place[digit]] = at
            place[digit] += 1
        order, spare = spare, order
    return order


@njit(cache=True, nogil=True)
def by_group(order, groups, top):  # type: ignore[no-untyped-def]
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
