"""Rows that refer to what is not there: the violations of an inclusion, over the coded rows of two tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.encode.codes import Coded, dense_ids
from holdfast.rules.rule import Nulls
from holdfast.violations.part import Bools, Ints

# Codes are looked up as they are where there are so many times as many of them as of rows; and so many at a time.
_WIDEST, _PIECE = 4, 2**18


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
    pass per column, and a sort where codes are far apart. Codes of one column that lie close are looked up as they are,
    piece by piece: for the system, memory for another copy of them takes longer than the look-up.
    """
    keep, offers = _speaking([a for a, _ in sides], nulls, scope), _speaking([b for _, b in sides], nulls, None)
    parts: list[tuple[Ints, Ints]] = []
    for a, b in sides:
        codes = (_of(a.codes, keep), _of(b.codes, offers))
        if nulls == "sql" or (a.valid.all() and b.valid.all()):
            parts.append(codes)
        else:
            # A null is a value of its own, whatever its code.
            valid = (_of(a.valid, keep), _of(b.valid, offers))
            parts.append((np.where(valid[0], codes[0], 0), np.where(valid[1], codes[1], 0)))
            parts.append((valid[0].astype(np.int64), valid[1].astype(np.int64)))
    wanted, offered = parts[0]
    low, size = _range(wanted, offered)
    if len(parts) > 1 or size > _WIDEST * (len(wanted) + len(offered)) + 1024:
        many = len(wanted)
        ids = dense_ids([np.concatenate(part) for part in parts], many + len(offered))
        wanted, offered = ids[:many], ids[many:]
        low, size = _range(wanted, offered)
    there = np.zeros(size, np.bool_)
    for start in range(0, len(offered), _PIECE):
        there[offered[start : start + _PIECE] - low] = True
    lost = [
        start + np.flatnonzero(~there[wanted[start : start + _PIECE] - low]) for start in range(0, len(wanted), _PIECE)
    ]
    missing = np.concatenate([np.zeros(0, np.int64), *lost])
    values = np.unique(wanted[missing], return_inverse=True)[1]
    rows = missing if keep is None else np.flatnonzero(keep)[missing]
    return DanglingRows(rows, values.astype(np.int64).reshape(-1))


def _range(wanted: Ints, offered: Ints) -> tuple[np.int64, int]:
    """The least code, and how many there are from it to the greatest."""
    ends = [part for part in (wanted, offered) if len(part)]
    low = min((int(part.min()) for part in ends), default=0)
    return np.int64(low), max((int(part.max()) for part in ends), default=-1) - low + 1


def _speaking(columns: Sequence[Coded], nulls: Nulls, scope: Bools | None) -> Bools | None:
    """Which rows have a say: those in scope, and where nulls are not equal without one; None for all."""
    masks = [column.valid for column in columns if nulls == "sql" and not column.valid.all()]
    masks += [] if scope is None else [scope]
    return np.logical_and.reduce(masks) if masks else None


def _of(values: Any, keep: Bools | None) -> Any:
    return values if keep is None else values[keep]
