"""Partitions: the rows that agree on some columns, and how many of them would have to go for a dependency to hold.

A partition has the rows that agree with another one, group by group; a row on its own tells nothing. Codes are from 0
on; a negative one is a null that equals nothing. Each row stands for as many rows as it weighs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Partition:
    """Rows, group by group, and where each group starts; at the end how many rows there are."""

    rows: Ints
    starts: Ints

    @property
    def groups(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True)
class Broken:
    """How many rows would have to go for a key or a dependency to hold, how many unordered pairs break it, and how many
    put it to the test."""

    suspects: int
    pairs: int
    tested: int


def whole(weights: Ints) -> Partition:
    """All rows in one group."""
    size = len(weights)
    return Partition(np.arange(size), np.array([0, size] if weights.sum() > 1 else [0], np.int64))


def refined(partition: Partition, codes: Codes, weights: Ints) -> Partition:
    """The groups divided by the codes; those of one row are left out. Cost: the rows of the partition."""
    rows, starts = _refined(partition.rows, partition.starts, codes, weights, int(codes.max(initial=-1)) + 1)
    return Partition(rows, starts)


def broken_key(partition: Partition, weights: Ints) -> Broken:
    """What breaks the key of the columns that the partition is of: all but one row of each group have to go. The pairs
    that agree on all of them break it; which ones could have, another partition tells."""
    if partition.groups == 0:
        return Broken(0, 0, 0)
    sizes = np.add.reduceat(weights[partition.rows], partition.starts[:-1])
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    return Broken(int(sizes.sum()) - len(sizes), pairs, pairs)


def broken_dependency(partition: Partition, codes: Codes, weights: Ints) -> Broken:
    """What breaks the dependency of these codes on the columns of the partition: all but those with the most frequent
    code of each group have to go."""
    counts = _broken(partition.rows, partition.starts, codes, weights, int(codes.max(initial=-1)) + 1)
    return Broken(*map(int, counts))


@njit(cache=True, nogil=True)
def _refined(rows, starts, codes, weights, size):  # type: ignore[no-untyped-def]
    into, ends = np.empty(len(rows), np.int64), np.empty(len(rows) + 1, np.int64)
    ends[0] = 0
    count, groups = 0, 0
    # Per code of the group at hand: how much it weighs, how many rows have it, where the next of them goes.
    heavy, many, place = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    seen = np.empty(len(rows), np.int64)
    for g in range(len(starts) - 1):
        n = 0
        for at in range(starts[g], starts[g + 1]):
            code = codes[rows[at]]
            if code >= 0:
                if many[code] == 0:
                    seen[n] = code
                    n += 1
                many[code] += 1
                heavy[code] += weights[rows[at]]
        for j in range(n):
            code = seen[j]
            place[code] = -1
            if heavy[code] > 1:
                place[code] = count
                count += many[code]
                groups += 1
                ends[groups] = count
        for at in range(starts[g], starts[g + 1]):
            code = codes[rows[at]]
            if code >= 0 and place[code] >= 0:
                into[place[code]] = rows[at]
                place[code] += 1
        for j in range(n):
            heavy[seen[j]] = many[seen[j]] = 0
    return into[:count].copy(), ends[: groups + 1].copy()


@njit(cache=True, nogil=True)
def _weighed(rows, start, end, codes, weights, heavy, seen):  # type: ignore[no-untyped-def]
    """How many codes one group has, noted in `seen`, and its rows that have one; `heavy` then has those of each."""
    n, total = 0, np.int64(0)
    for at in range(start, end):
        code = codes[rows[at]]
        if code >= 0:
            if heavy[code] == 0:
                seen[n] = code
                n += 1
            heavy[code] += weights[rows[at]]
            total += weights[rows[at]]
    return n, total


@njit(cache=True, nogil=True)
def _tallied(rows, start, end, codes, weights, heavy, seen):  # type: ignore[no-untyped-def]
    """Of one group: its rows that have a code, those with the most frequent one, and the sum of squares over codes.

    `heavy` is zero before and after; `seen` is for notes.
    """
    n, total = _weighed(rows, start, end, codes, weights, heavy, seen)
    most, alike = np.int64(0), np.int64(0)
    for j in range(n):
        here = heavy[seen[j]]
        most = max(most, here)
        alike += here * here
        heavy[seen[j]] = 0
    return total, most, alike


@njit(cache=True, nogil=True)
def _broken(rows, starts, codes, weights, size):  # type: ignore[no-untyped-def]
    suspects, pairs, tested = np.int64(0), np.int64(0), np.int64(0)
    heavy, seen = np.zeros(size, np.int64), np.empty(size, np.int64)
    for g in range(len(starts) - 1):
        total, most, alike = _tallied(rows, starts[g], starts[g + 1], codes, weights, heavy, seen)
        suspects += total - most
        pairs += (total * total - alike) // 2
        tested += total * (total - 1) // 2
    return suspects, pairs, tested


# Per outer group --------------------------------------------------------------------------------------------------


def group_numbers(partition: Partition, size: int) -> Ints:
    """Per row, of so many, the number of its group; -1 for rows in none."""
    numbers = np.full(size, -1, np.int64)
    numbers[partition.rows] = np.repeat(np.arange(partition.groups), np.diff(partition.starts))
    return numbers


@dataclass(frozen=True)
class BrokenWithin:
    """As `Broken`, per outer group; and how many rows agree with another one that has a code, too."""

    support: Ints
    suspects: Ints
    pairs: Ints
    tested: Ints


def broken_within(inner: Partition, outer: Ints, groups: int, codes: Codes, weights: Ints) -> BrokenWithin:
    """What breaks the dependency of the codes within each of so many outer groups; `outer` numbers the rows by them,
    and `inner` divides them further."""
    size = int(codes.max(initial=-1)) + 1
    return BrokenWithin(*_broken_within(inner.rows, inner.starts, outer, groups, codes, weights, size))


def frequent_codes(partition: Partition, codes: Codes, weights: Ints, least: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Every group and code that so many rows have together at least: the group, the code, how many have them, and how
    many rows of the group have another code."""
    size = int(codes.max(initial=-1)) + 1
    arrays = _frequent_codes(partition.rows, partition.starts, codes, weights, size, least)
    return arrays[0], arrays[1], arrays[2], arrays[3]


@njit(cache=True, nogil=True)
def _broken_within(rows, starts, outer, groups, codes, weights, size):  # type: ignore[no-untyped-def]
    support, suspects = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    pairs, tested = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    heavy, seen = np.zeros(size, np.int64), np.empty(size, np.int64)
    for g in range(len(starts) - 1):
        total, most, alike = _tallied(rows, starts[g], starts[g + 1], codes, weights, heavy, seen)
        if total > 1:
            to = outer[rows[starts[g]]]
            support[to] += total
            suspects[to] += total - most
            pairs[to] += (total * total - alike) // 2
            tested[to] += total * (total - 1) // 2
    return support, suspects, pairs, tested


@njit(cache=True, nogil=True)
def _frequent_codes(rows, starts, codes, weights, size, least):  # type: ignore[no-untyped-def]
    groups, group_codes = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    counts, others = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    heavy, seen = np.zeros(size, np.int64), np.empty(size, np.int64)
    for g in range(len(starts) - 1):
        n, total = _weighed(rows, starts[g], starts[g + 1], codes, weights, heavy, seen)
        for j in range(n):
            here = heavy[seen[j]]
            if here >= least:
                groups.append(np.int64(g))
                group_codes.append(np.int64(seen[j]))
                counts.append(here)
                others.append(total - here)
            heavy[seen[j]] = 0
    return np.array(groups), np.array(group_codes), np.array(counts), np.array(others)
