"""Which columns of a row and of the row that it refers to always compare in one way, such as `ordered >= signed_up`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log1p

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.discovery.inclusions import ColumnValues, FoundInclusion, referred_rows
from holdfast.encode.codes import comparable_codes
from holdfast.rules.relation import EQ, GE, GT, LE, LT

Ints = NDArray[np.int64]

# A comparison that rows referring to others at random would break so rarely says nothing, however many rows keep it;
# nor does one that they would break in so few rows.
_LEAST_SHARE, _LEAST_ROWS = 0.05, 20.0
_FEW = 2_000
_SAYS_SOMETHING = (LT, LE, EQ, GE, GT)


@dataclass(frozen=True)
class FoundComparison:
    """A column of the row, the relations it always has, and a column of the row referred to; in how many rows both are
    there, and the share of these that would break it if rows referred to others at random."""

    left: ColumnValues
    allowed: int
    right: ColumnValues
    rows: int
    by_chance: float

    @property
    def score(self) -> float:
        """From 0 to 1: how many rows would break it by accident."""
        expected = self.rows * self.by_chance
        return round(expected / (expected + 8.0) * min(log1p(expected) / log1p(max(self.rows, 1)), 1.0), 6)


def comparisons_along(
    reference: FoundInclusion,
    own: Sequence[ColumnValues],
    other: Sequence[ColumnValues],
    over: Callable[[], bool] = lambda: False,
) -> list[FoundComparison]:
    """Returns the comparisons that hold in every row, the strictest of each two columns, best first.

    `own` and `other` are the columns of the two tables; those of the reference are left out. Columns that are
    equal are not compared with others for order. Once time is `over`, no more columns are compared.
    """
    if over():
        return []
    referred = referred_rows(reference)
    which = np.flatnonzero(referred >= 0)
    rows = referred[which]
    comparisons: list[FoundComparison] = []
    for left, right in product(own, other):
        if left in reference.left or right in reference.right or left is right:
            continue
        if over():
            break
        if left.comparable_with == right.comparable_with != "":
            comparisons += _compared(left, right, which, rows)
    # What a row has in common with the other compares with all else as the other does.
    same = {
        side
        for comparison in comparisons
        if comparison.allowed == EQ
        for side in (id(comparison.left), id(comparison.right))
    }
    said = [
        comparison
        for comparison in comparisons
        if comparison.allowed == EQ or not same & {id(comparison.left), id(comparison.right)}
    ]
    return sorted(said, key=lambda comparison: -comparison.score)


def _compared(left: ColumnValues, right: ColumnValues, which: Ints, rows: Ints) -> Iterator[FoundComparison]:
    if min(len(left.values), len(right.values)) < 2:
        return
    few = _codes(left.column.take(pa.array(which[:_FEW])), right.column.take(pa.array(rows[:_FEW])))
    if len(few[0]) and not _says_something(left, _relations(*few)):
        return
    own, theirs = _codes(left.values, right.values)
    there = (left.ids[which] >= 0) & (right.ids[rows] >= 0)
    own, theirs = own[left.ids[which[there]]], theirs[right.ids[rows[there]]]
    allowed = _relations(own, theirs)
    if not len(own) or not _says_something(left, allowed):
        return
    # Each row beside the one that a row far from it refers to.
    moved = np.roll(theirs, len(theirs) // 2 + 1)
    broken = np.zeros(len(own), np.bool_)
    for relation, holds in ((LT, own < moved), (EQ, own == moved), (GT, own > moved)):
        if not allowed & relation:
            broken |= holds
    share = float(broken.mean())
    if share >= _LEAST_SHARE and share * len(own) >= _LEAST_ROWS:
        yield FoundComparison(left, allowed, right, len(own), share)


def _codes(left: pa.Array, right: pa.Array) -> tuple[Ints, Ints]:
    """The codes of the values of both, without those of rows in which one is null."""
    own, theirs = comparable_codes([pa.chunked_array([left]), pa.chunked_array([right])])
    if left.null_count == right.null_count == 0:
        return own.codes, theirs.codes
    known = own.valid & theirs.valid
    return own.codes[known], theirs.codes[known]


def _says_something(column: ColumnValues, relations: int) -> bool:
    return relations == EQ if column.comparable_with == "text" else relations in _SAYS_SOMETHING


def _relations(left: Ints, right: Ints) -> int:
    less, greater = bool((left < right).any()), bool((left > right).any())
    equal = bool((left == right).any())
    return LT * less | EQ * equal | GT * greater
