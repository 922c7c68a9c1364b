"""Conditional functional dependencies: all patterns with enough support for which no more general pattern holds.

Each left column of a pattern, and its right column, has a value or is free. With a value on the right all left columns
have one; with a free right column at least one left column is free and at least one has a value. Patterns are tried
from general to special: fewer columns first, and free ones before values. Support never grows in that order, so a
pattern with too little support, or one that holds, is not made more special.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

import numpy as np

from holdfast.kernels.partitions import Broken, Partition, broken_within, frequent_codes, group_numbers, refined
from holdfast.search.by_rows import PartitionPath
from holdfast.search.clock import Clock
from holdfast.search.evidence import Codes, Flags, Ints
from holdfast.search.options import DiscoverOptions

Item = tuple[int, int]
Items = frozenset[Item]


@dataclass(frozen=True)
class ConditionalPattern:
    """A pattern that holds; columns by place, values by code.

    `rows` have its left values, and `support` of them test it. `usual` is the number of suspects without its left side,
    or without its free columns. It `follows` when the dependency of its columns holds without values.
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
class PatternsOutcome:
    """Patterns, from general to special; all when `complete`, else all with up to `within` columns."""

    patterns: tuple[ConditionalPattern, ...]
    complete: bool
    within: int = 0


def conditional_patterns(
    columns: Sequence[Codes], sayable: Sequence[Flags], weights: Ints, options: DiscoverOptions, clock: Clock
) -> PatternsOutcome:
    """Returns all patterns that hold and that no more general one implies.

    `sayable` has, per column and code, whether rule text has a constant for the value.
    """
    search = _Search(columns, sayable, weights, options, clock)
    for size in range(1, len(columns)):
        if options.max_predicates is not None and size >= options.max_predicates:
            break
        for left in combinations(range(len(columns)), size):
            for bound in range(size + 1):
                for fixed in combinations(left, bound):
                    if not search.try_all(fixed, tuple(column for column in left if column not in fixed)):
                        return PatternsOutcome(tuple(search.patterns), False, size)
    return PatternsOutcome(tuple(search.patterns), True)


class _Search:
    """Patterns tried so far; one that holds, or that a more general one implies, is done."""

    def __init__(
        self, columns: Sequence[Codes], sayable: Sequence[Flags], weights: Ints, options: DiscoverOptions, clock: Clock
    ) -> None:
        self.columns, self.weights, self.clock = columns, weights, clock
        # A value without a constant in rule text cannot be in a pattern.
        self.named = [
            np.where((codes >= 0) & says[np.maximum(codes, 0)], codes, np.int32(-1)) if len(says) else codes
            for codes, says in zip(columns, sayable, strict=True)
        ]
        self.sayable = sayable
        self.rows = int(weights.sum())
        self.least = least_rows(options, self.rows)
        self.confidence = options.min_confidence
        self.patterns: list[ConditionalPattern] = []
        self._constant_done: set[tuple[int, int, Items]] = set()
        self._free_done: set[tuple[int, Items, frozenset[int]]] = set()
        self._holds_free: set[tuple[int, frozenset[int]]] = set()
        self._frequent = PartitionPath(weights, self._frequent_groups)
        self._usual = [self._counts(codes) for codes in columns]

    def try_all(self, fixed: tuple[int, ...], free: tuple[int, ...]) -> bool:
        """Tries every pattern with values on the `fixed` columns and without on the `free` ones; false where time was
        up before."""
        if self.clock.over:
            return False
        outer = self._frequent(fixed)
        if outer.groups == 0:
            return True
        items = [
            frozenset((column, int(self.columns[column][outer.rows[at]])) for column in fixed)
            for at in outer.starts[:-1]
        ]
        rights = [right for right in range(len(self.columns)) if right not in fixed and right not in free]
        if not free:
            for right in rights:
                if self.clock.over:
                    return False
                self._try_values(outer, items, right)
            return True
        inner = outer
        for column in free:
            inner = refined(inner, self.columns[column], self.weights)
        numbers = group_numbers(outer, len(self.weights))
        for right in rights:
            if self.clock.over:
                return False
            self._try_free(outer, inner, numbers, items, frozenset(free), right)
        return True

    def _try_values(self, outer: Partition, items: Sequence[Items], right: int) -> None:
        if not items[0]:
            return  # a pattern without a left side would say that the column has one value
        sizes = np.add.reduceat(self.weights[outer.rows], outer.starts[:-1])
        for g, code, count, other in zip(
            *frequent_codes(outer, self.columns[right], self.weights, self.least), strict=True
        ):
            if not self.sayable[right][code]:
                continue
            constants, value = items[g], int(code)
            if any((right, value, constants - {item}) in self._constant_done for item in constants):
                self._constant_done.add((right, value, constants))
            elif int(sizes[g]) - int(other) >= self.confidence * int(sizes[g]):
                self._constant_done.add((right, value, constants))
                known, counts = self._usual[right]
                usual = int(sizes[g]) * (known - int(counts[value])) / self.rows
                self.patterns.append(
                    ConditionalPattern(
                        tuple(sorted(constants)), (), right, value, int(sizes[g]), int(count),
                        Broken(int(other), 0, int(sizes[g])), usual, self._follows(right, constants, frozenset()),
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
        fresh = [g for g, constants in enumerate(items) if not self._implied(right, constants, free)]
        self._free_done.update((right, constants, free) for g, constants in enumerate(items) if g not in set(fresh))
        if not fresh:
            return
        codes = self.columns[right]
        broken_by_group = broken_within(inner, numbers, outer.groups, codes, self.weights)
        alone = broken_within(outer, numbers, outer.groups, codes, self.weights)
        sizes = np.add.reduceat(self.weights[outer.rows], outer.starts[:-1])
        for g in fresh:
            support, suspects = int(broken_by_group.support[g]), int(broken_by_group.suspects[g])
            if support < self.least or support - suspects < self.confidence * support:
                continue
            self._free_done.add((right, items[g], free))
            if not items[g]:
                self._holds_free.add((right, free))
                continue
            broken = Broken(suspects, int(broken_by_group.pairs[g]), int(broken_by_group.tested[g]))
            follows = self._follows(right, items[g], free)
            self.patterns.append(
                ConditionalPattern(
                    tuple(sorted(items[g])), tuple(sorted(free)), right, None, int(sizes[g]), support, broken,
                    float(alone.suspects[g]), follows,
                )
            )  # fmt: skip

    def _implied(self, right: int, constants: Items, free: frozenset[int]) -> bool:
        """Whether a pattern that is more general by one step is done, or one that gives the right column a value."""
        return (
            any((right, constants - {item}, free) in self._free_done for item in constants)
            or any((right, constants - {item}, free | {item[0]}) in self._free_done for item in constants)
            or any((right, constants, free - {column}) in self._free_done for column in free if len(free) > 1)
            or any((right, value, constants) in self._constant_done for value in self._values(right, constants))
        )

    def _values(self, right: int, constants: Items) -> Iterator[int]:
        yield from np.flatnonzero(self._usual[right][1] >= self.least).tolist() if constants else ()

    def _follows(self, right: int, constants: Items, free: frozenset[int]) -> bool:
        """Whether the right column depends on the columns of the pattern, whatever their values."""
        names = frozenset(column for column, _ in constants) | free
        return any(right == other and left <= names for other, left in self._holds_free)

    def _frequent_groups(self, below: Partition, column: int) -> Partition:
        """Returns the rows of the partition grouped by this column, too; only groups with enough rows."""
        return _at_least(refined(below, self.named[column], self.weights), self.weights, self.least)

    def _counts(self, codes: Codes) -> tuple[int, Ints]:
        """Returns how many rows are not null, and how many have each code."""
        known = codes >= 0
        counts = np.bincount(codes[known], weights=self.weights[known], minlength=1).astype(np.int64)
        return int(counts.sum()), counts


def least_rows(options: DiscoverOptions, rows: int) -> int:
    """Returns the least number of rows that `min_support`, a number or a share, asks for; at least two."""
    wanted = options.min_support
    return max(int(wanted) if wanted >= 1 else ceil(wanted * rows), 2)


def _at_least(partition: Partition, weights: Ints, least: int) -> Partition:
    """Returns the groups with at least that much weight."""
    if partition.groups == 0:
        return partition
    sizes = np.add.reduceat(weights[partition.rows], partition.starts[:-1])
    lengths = np.diff(partition.starts)
    kept = sizes >= least
    starts = np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)
    return Partition(partition.rows[np.repeat(kept, lengths)], starts)
