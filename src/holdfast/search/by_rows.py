"""Keys and functional dependencies that few rows break: all minimal ones, level by level over sets of columns.

As in TANE, with its error g3: the partition of a set of columns, refined from that of one column less, tells how many
rows would have to go. More columns on the left never break more rows, so that what has a valid part need not be looked
at; and what all other columns together do not determine, nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from holdfast.kernels.evidence import NULL
from holdfast.kernels.partitions import Broken, Partition, broken_dependency, broken_key, refined, whole
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Codes, Ints
from holdfast.search.options import DiscoverOptions


@dataclass(frozen=True)
class RowDependency:
    """A key of the left columns, or the right column's dependency on them; columns by place. What breaks it."""

    left: tuple[int, ...]
    right: int | None
    broken: Broken


@dataclass(frozen=True)
class RowDependencies:
    """The minimal keys and dependencies; all of them when `complete`, else all of up to `within` predicates."""

    dependencies: tuple[RowDependency, ...]
    complete: bool
    within: int = 0


def column_codes(rows: CodedRows, options: DiscoverOptions) -> list[Codes]:
    """Per column of the space its codes from 0 on, a null below 0 where it equals nothing."""
    packing = rows.packing
    lines = [packing.left[i] for i, pair in enumerate(rows.space.pairs) if pair.same_column]
    shift = 0 if options.nulls == "sql" else 1
    assert NULL + 1 == 0, "a null is a value like others when it is moved up"
    return [rows.codes[line] + np.int32(shift) for line in lines]


def row_dependencies(columns: list[Codes], weights: Ints, options: DiscoverOptions, clock: Clock) -> RowDependencies:
    """All minimal keys and dependencies that at most the share `error_rows` of the rows breaks."""
    assert options.error_rows is not None, "the share is given"
    rows = int(weights.sum())
    if rows < 2:
        return RowDependencies((), True)
    return _Lattice(columns, weights, int(options.error_rows * rows), clock).search(options.max_predicates)


class PartitionPath:
    """The partitions of sets of columns; sets that come in order share the work on their first columns.

    `refine` gives the partition of one column more.
    """

    def __init__(self, weights: Ints, refine: Callable[[Partition, int], Partition]) -> None:
        self._refine = refine
        # The partitions of no column, of the first column, of the first two, ... of the set looked at last.
        self._path: list[tuple[int, ...]] = [()]
        self._partitions = [whole(weights)]

    def __call__(self, columns: tuple[int, ...]) -> Partition:
        while self._path[-1] != columns[: len(self._path[-1])]:
            self._path.pop()
            self._partitions.pop()
        while len(self._path[-1]) < len(columns):
            column = columns[len(self._path[-1])]
            self._partitions.append(self._refine(self._partitions[-1], column))
            self._path.append((*self._path[-1], column))
        return self._partitions[-1]


class _Lattice:
    """The sets of columns that are still of interest, with the columns that each does not determine."""

    def __init__(self, columns: list[Codes], weights: Ints, budget: int, clock: Clock) -> None:
        self.columns, self.weights, self.budget, self.clock = columns, weights, budget, clock

        def refine(below: Partition, column: int) -> Partition:
            return refined(below, columns[column], weights)

        # Sets out of the order of the search have a path of their own.
        self._partition, self._apart = PartitionPath(weights, refine), PartitionPath(weights, refine)

    def search(self, most: int | None) -> RowDependencies:
        everything = tuple(range(len(self.columns)))
        has_key = self._all_together()
        dependencies: list[RowDependency] = []
        keys: list[RowDependency] = []
        level: dict[tuple[int, ...], set[int]] = {(): set()}
        for right in everything:
            if self.clock.over:
                return RowDependencies(tuple(dependencies), False)
            if not self._determined(right):
                continue
            dependency = RowDependency((), right, self._dependency((), right))
            if dependency.broken.suspects <= self.budget:
                dependencies.append(dependency)
            else:
                level[()].add(right)
        for size in range(1, len(everything) + 1):
            if (most is not None and size > most) or not level:
                break
            last = most is not None and size == most  # a dependency has one predicate more than a key
            above, level = level, {}
            for left, rights in self._next(above, size):
                if not rights and not has_key:
                    continue
                if self.clock.over:
                    return RowDependencies((*keys, *dependencies), False, size - 1)
                if has_key:
                    broken = broken_key(self._partition(left), self.weights)
                    if broken.suspects <= self.budget:
                        keys.append(self._tested(left, broken))
                        continue
                level[left] = set()
                for right in () if last else sorted(rights):
                    if self.clock.over:
                        return RowDependencies((*keys, *dependencies), False, size - 1)
                    dependency = RowDependency(left, right, self._dependency(left, right))
                    if dependency.broken.suspects <= self.budget:
                        dependencies.append(dependency)
                    else:
                        level[left].add(right)
        return RowDependencies((*keys, *dependencies), True)

    def _all_together(self) -> bool:
        """Whether all columns together are a key."""
        return broken_key(self._partition(tuple(range(len(self.columns)))), self.weights).suspects <= self.budget

    def _determined(self, right: int) -> bool:
        """Whether all other columns together determine it."""
        others = tuple(column for column in range(len(self.columns)) if column != right)
        return broken_dependency(self._apart(others), self.columns[right], self.weights).suspects <= self.budget

    def _tested(self, left: tuple[int, ...], broken: Broken) -> RowDependency:
        """The key; it is put to the test by the pairs that agree on all its columns but one, the fewest of those."""
        parts = [left[:i] + left[i + 1 :] for i in range(len(left))]
        tested = min(broken_key(self._apart(part), self.weights).pairs for part in parts)
        return RowDependency(left, None, replace(broken, tested=tested))

    def _next(self, above: dict[tuple[int, ...], set[int]], size: int) -> Iterator[tuple[tuple[int, ...], set[int]]]:
        """The sets of one column more all of whose parts are of interest, in order; with what no part determines."""
        for first in sorted(above):
            for more in range(first[-1] + 1 if first else 0, len(self.columns)):
                left = (*first, more)
                parts = [above.get(left[:i] + left[i + 1 :]) for i in range(size)]
                rights = [part for part in parts if part is not None]
                if len(rights) == size:
                    yield left, set.intersection(*rights) - set(left)

    def _dependency(self, left: tuple[int, ...], right: int) -> Broken:
        return broken_dependency(self._partition(left), self.columns[right], self.weights)
