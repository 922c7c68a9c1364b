"""Conditional functional dependencies: all patterns that enough rows support, and of which no more general one holds.

A pattern has left columns, each with a value or free, and a right column with a value or free. With a value on the
right all left columns have one; with a free right side some left column is free, and some has a value. Patterns are
tried from general to special: fewer columns first, and free ones before values. Support never grows on the way, so that
what few rows support is not looked at further; nor is what lies below a pattern that holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.partitions import (
    Broken,
    Partition,
    broken_within,
    frequent_codes,
    group_numbers,
    refined,
    whole,
)
from holdfast.search.clock import Clock
from holdfast.search.options import DiscoverOptions

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Item = tuple[int, int]
Items = frozenset[Item]


@dataclass(frozen=True)
class FoundPattern:
    """A pattern that holds: columns by place, values by code. `rows` have its left values, `support` of them put it to
    the test; `usual` is how many suspects there would be without its left side, or without its free columns.

    `follows` when the dependency of its columns holds without values.
    """

    constants: tuple[Item, ...]
    free: tuple[int, ...]
    right: int
    value: int | None
    rows: int
    support: int
    broken: Broken
    usual: float
    follows: bool = False


@dataclass(frozen=True)
class FoundPatterns:
    """Patterns, from general to special; all of them when `complete`, else all of up to `within` columns."""

    found: tuple[FoundPattern, ...]
    complete: bool
    within: int = 0


def conditional_patterns(
    columns: Sequence[Codes], sayable: Sequence[Flags], weights: Ints, options: DiscoverOptions, clock: Clock
) -> FoundPatterns:
    """All patterns that hold and that no more general one implies. `sayable` tells of each code of a column whether a
    rule can name its value."""
    search = _Search(columns, sayable, weights, options)
    for size in range(1, len(columns)):
        if options.max_predicates is not None and size >= options.max_predicates:
            break
        for left in combinations(range(len(columns)), size):
            for bound in range(size + 1):
                for fixed in combinations(left, bound):
                    if clock.over:
                        return FoundPatterns(tuple(search.found), False, size)
                    search.try_all(fixed, tuple(column for column in left if column not in fixed))
    return FoundPatterns(tuple(search.found), True)


class _Search:
    """Patterns tried so far: those that hold, or that a more general one implies, are done."""

    def __init__(
        self, columns: Sequence[Codes], sayable: Sequence[Flags], weights: Ints, options: DiscoverOptions
    ) -> None:
        self.columns, self.weights = columns, weights
        # What has no name cannot be a value of a pattern.
        self.named = [
            np.where((codes >= 0) & says[np.maximum(codes, 0)], codes, np.int32(-1)) if len(says) else codes
            for codes, says in zip(columns, sayable, strict=True)
        ]
        self.sayable = sayable
        self.rows = int(weights.sum())
        self.least = least_rows(options, self.rows)
        self.confidence = options.min_confidence
        self.found: list[FoundPattern] = []
        self._constant_done: set[tuple[int, int, Items]] = set()
        self._free_done: set[tuple[int, Items, frozenset[int]]] = set()
        self._holds_free: set[tuple[int, frozenset[int]]] = set()
        self._path: list[tuple[int, ...]] = [()]
        self._partitions: list[Partition] = [whole(weights)]
        self._usual = [self._counts(codes) for codes in columns]

    def try_all(self, fixed: tuple[int, ...], free: tuple[int, ...]) -> None:
        """Every pattern with values on the fixed columns, and with the others free."""
        outer = self._frequent(fixed)
        if outer.groups == 0:
            return
        items = [
            frozenset((column, int(self.columns[column][outer.rows[at]])) for column in fixed)
            for at in outer.starts[:-1]
        ]
        rights = [right for right in range(len(self.columns)) if right not in fixed and right not in free]
        if not free:
            for right in rights:
                self._try_values(outer, items, right)
            return
        inner = outer
        for column in free:
            inner = refined(inner, self.columns[column], self.weights)
        numbers = group_numbers(outer, len(self.weights))
        for right in rights:
            self._try_free(outer, inner, numbers, items, frozenset(free), right)

    def _try_values(self, outer: Partition, items: Sequence[Items], right: int) -> None:
        if not items[0]:
            return  # without a left side it would say that the column has one value
        sizes = np.add.reduceat(self.weights[outer.rows], outer.starts[:-1])
        for g, code, count, other in zip(
            *frequent_codes(outer, self.columns[right], self.weights, self.least), strict=True
        ):
            if not self.sayable[right][code]:
                continue
            mine, value = items[g], int(code)
            if any((right, value, mine - {item}) in self._constant_done for item in mine):
                self._constant_done.add((right, value, mine))
            elif int(sizes[g]) - int(other) >= self.confidence * int(sizes[g]):
                self._constant_done.add((right, value, mine))
                known, counts = self._usual[right]
                usual = int(sizes[g]) * (known - int(counts[value])) / self.rows
                self.found.append(
                    FoundPattern(
                        tuple(sorted(mine)), (), right, value, int(sizes[g]), int(count),
                        Broken(int(other), 0, int(sizes[g])), usual, self._follows(right, mine, frozenset()),
                    )
                )  # fmt: skip

    def _try_free(
        self,
        outer: Partition,
        inner: Partition,
        numbers: Ints,
        items: Sequence[Items],
        free: frozenset[int],
        right: int,
    ) -> None:
        fresh = [g for g, mine in enumerate(items) if not self._implied(right, mine, free)]
        self._free_done.update((right, mine, free) for g, mine in enumerate(items) if g not in set(fresh))
        if not fresh:
            return
        codes = self.columns[right]
        told = broken_within(inner, numbers, outer.groups, codes, self.weights)
        alone = broken_within(outer, numbers, outer.groups, codes, self.weights)
        sizes = np.add.reduceat(self.weights[outer.rows], outer.starts[:-1])
        for g in fresh:
            support, suspects = int(told.support[g]), int(told.suspects[g])
            if support < self.least or support - suspects < self.confidence * support:
                continue
            self._free_done.add((right, items[g], free))
            if not items[g]:
                self._holds_free.add((right, free))
                continue
            broken = Broken(suspects, int(told.pairs[g]), int(told.tested[g]))
            follows = self._follows(right, items[g], free)
            self.found.append(
                FoundPattern(
                    tuple(sorted(items[g])), tuple(sorted(free)), right, None, int(sizes[g]), support, broken,
                    float(alone.suspects[g]), follows,
                )
            )  # fmt: skip

    def _implied(self, right: int, mine: Items, free: frozenset[int]) -> bool:
        """Whether a pattern that is more general by one step is done, or the right side has one value there anyway."""
        return (
            any((right, mine - {item}, free) in self._free_done for item in mine)
            or any((right, mine - {item}, free | {item[0]}) in self._free_done for item in mine)
            or any((right, mine, free - {column}) in self._free_done for column in free if len(free) > 1)
            or any((right, value, mine) in self._constant_done for value in self._values(right, mine))
        )

    def _values(self, right: int, mine: Items) -> Iterator[int]:
        yield from np.flatnonzero(self._usual[right][1] >= self.least).tolist() if mine else ()

    def _follows(self, right: int, mine: Items, free: frozenset[int]) -> bool:
        """Whether the right column depends on the columns of the pattern, whatever their values."""
        names = frozenset(column for column, _ in mine) | free
        return any(right == other and left <= names for other, left in self._holds_free)

    def _frequent(self, fixed: tuple[int, ...]) -> Partition:
        """The rows that have one of the frequent combinations of values there, by combination."""
        while self._path[-1] != fixed[: len(self._path[-1])]:
            self._path.pop()
            self._partitions.pop()
        while len(self._path[-1]) < len(fixed):
            column = fixed[len(self._path[-1])]
            below = refined(self._partitions[-1], self.named[column], self.weights)
            self._partitions.append(_at_least(below, self.weights, self.least))
            self._path.append((*self._path[-1], column))
        return self._partitions[-1]

    def _counts(self, codes: Codes) -> tuple[int, Ints]:
        """How many rows have a value, and how many each of them."""
        some = codes >= 0
        counts = np.bincount(codes[some], weights=self.weights[some], minlength=1).astype(np.int64)
        return int(counts.sum()), counts


def least_rows(options: DiscoverOptions, rows: int) -> int:
    """How many rows support what is supported enough: a number of rows, or a share of them; two at least."""
    wanted = options.min_support
    return max(int(wanted) if wanted >= 1 else ceil(wanted * rows), 2)


def _at_least(partition: Partition, weights: Ints, least: int) -> Partition:
    """The groups that weigh so much at least."""
    if partition.groups == 0:
        return partition
    sizes = np.add.reduceat(weights[partition.rows], partition.starts[:-1])
    lengths = np.diff(partition.starts)
    kept = sizes >= least
    starts = np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)
    return Partition(partition.rows[np.repeat(kept, lengths)], starts)
