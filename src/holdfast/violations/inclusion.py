"""Rows that refer to what is not there: the violations of an inclusion, over the coded rows of two tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.encode.codes import Coded, compacted, dense_ids
from holdfast.rules.rule import Nulls
from holdfast.violations.part import Bools, Ints


@dataclass(frozen=True)
class DanglingRows:
    """The rows of the first table whose values no row of the second has, by position, and a number of the values of
    each: equal exactly where the values are, from 0 without gaps."""

    rows: Ints
    values: Ints

    @property
    def distinct(self) -> int:
        """How many different values are missing."""
        return int(self.values.max(initial=-1)) + 1

    def members(self, order: Ints, most: int) -> tuple[Ints, Ints, Ints]:
        """Per missing value, those of most rows first: how many rows have it; then at most `most` of its rows in this
        order, value after value; and where those of each value end."""
        sizes = np.bincount(self.values, minlength=self.distinct).astype(np.int64)
        first = np.full(self.distinct, np.iinfo(np.int64).max)
        np.minimum.at(first, self.values, order[self.rows])
        ranked = np.lexsort((first, -sizes))
        place = np.empty(self.distinct, np.int64)
        place[ranked] = np.arange(self.distinct)
        sorted_rows = np.lexsort((order[self.rows], place[self.values]))
        of_value = place[self.values][sorted_rows]
        starts = np.searchsorted(of_value, np.arange(self.distinct))
        kept = np.arange(len(of_value)) - starts[of_value] < most
        return sizes[ranked], self.rows[sorted_rows[kept]], np.cumsum(np.minimum(sizes[ranked], most))


def missing_values(sides: Sequence[tuple[Coded, Coded]], nulls: Nulls, scope: Bools | None = None) -> DanglingRows:
    """Returns what is missing. `sides` has, per pair of columns, the codes of the rows of both tables: equal codes are
    equal values.

    Of the first table only rows in `scope` are asked; where nulls are not equal, only those without nulls. Cost: one
    pass per column, and a sort where codes are far apart.
    """
    first, second = sides[0]
    left = np.arange(len(first)) if scope is None else np.flatnonzero(scope)
    right = np.arange(len(second))
    if nulls == "sql":
        left = left[np.logical_and.reduce([a.valid[left] for a, _ in sides])]
        right = right[np.logical_and.reduce([b.valid[right] for _, b in sides])]
    parts: list[Ints] = []
    for a, b in sides:
        valid = np.concatenate([a.valid[left], b.valid[right]])
        codes = np.concatenate([a.codes[left], b.codes[right]])
        # A null is a value of its own, whatever its code.
        parts += [codes] if valid.all() else [np.where(valid, codes, 0), valid.astype(np.int64)]
    ids = compacted(dense_ids(parts, len(left) + len(right)))
    there = np.zeros(int(ids.max(initial=-1)) + 1, np.bool_)
    there[ids[len(left) :]] = True
    asked = ids[: len(left)]
    missing = ~there[asked]
    values = np.unique(asked[missing], return_inverse=True)[1]
    return DanglingRows(left[missing], values.astype(np.int64).reshape(-1))
