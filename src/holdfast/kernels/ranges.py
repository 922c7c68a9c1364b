"""Inequalities as ranges: the right rows in an order in which those that a left row can be paired with lie together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.inequality_counts import FALLS, RISES_IN_A_TIE, in_order, range_ends, range_starts, ways_of
from holdfast.kernels.order import Ints, order_in_groups

Places = NDArray[np.int32]
# So many rows tell which inequalities are likely to be two ends of one range.
_SAMPLE = 512


@dataclass(frozen=True)
class PairedRows:
    """The rows that may be left in a pair and those that may be right, by position, and the groups of all rows."""

    left_group: Ints
    right_group: Ints
    lefts: Ints
    rights: Ints

    def turned(self) -> PairedRows:
        return PairedRows(self.right_group, self.left_group, self.rights, self.lefts)


@dataclass(frozen=True)
class PartnerRanges:
    """One inequality, or two that are the ends of a range, as a range of right rows for each left row.

    `rights` are the right rows by group and value, and `lefts` the left rows by group and `starts`, beside their
    groups. By row: a left row is paired with those at `starts` up to `ends` in `rights`, and a right row is there at
    its `places`.
    """

    lefts: Ints
    rights: Ints
    left_ids: Ints
    right_ids: Ints
    starts: Places
    ends: Places
    places: Places
    two_ended: bool

    @cached_property
    def pairs(self) -> int:
        """How many pairs satisfy these inequalities alone."""
        return int(self.ends[self.lefts].sum(dtype=np.int64)) - int(self.starts[self.lefts].sum(dtype=np.int64))

    @cached_property
    def by_end(self) -> Ints:
        """The left rows by group and `ends`."""
        ends = self.ends[self.lefts]
        if (ends[1:] >= ends[:-1]).all():
            return self.lefts
        return self.lefts[order_in_groups(self.left_ids, ends.astype(np.int64))]


def ranges_of(sides: PairedRows, a: Ints, b: Ints) -> list[PartnerRanges]:
    """Ranges that say together what the inequalities say, a line of `a` and `b` each; as few as are easily found.

    Two inequalities are the ends of one range where one value of the right rows falls as the other rises: as with
    `b <= a + 5` and `b >= a - 5`, and with an interval of the left row that holds a point of the right row.
    """
    ranges: list[PartnerRanges] = []
    left_out = list(range(len(a)))
    for k, m in likely_ends(sampled(b, sides.rights)):
        if k in left_out and m in left_out:
            two_ended = _between(sides, a, b, k, m)
            if two_ended is not None:
                ranges.append(two_ended)
                left_out = [line for line in left_out if line not in (k, m)]
    return [*(_from(sides, a[k], b[k]) for k in left_out), *ranges]


def sampled(lines: Ints, rows: Ints) -> Ints:
    """The lines' values of some of the rows."""
    return lines[:, rows[:: max(1, len(rows) // _SAMPLE)]]


def likely_ends(sample: Ints) -> list[tuple[int, int]]:
    """Pairs of inequalities that may be the ends of one range: of right values, one falls as the other rises."""
    likely = []
    for k, m in combinations(range(len(sample)), 2):
        falling = sample[m][np.lexsort((~sample[m], sample[k]))]
        if (falling[1:] <= falling[:-1]).all():
            likely.append((k, m))
    return likely


def _between(sides: PairedRows, a: Ints, b: Ints, k: int, m: int) -> PartnerRanges | None:
    """The two inequalities as one range; None where they are not the ends of one."""
    rights = _in_order(sides.right_group, b[k], sides.rights)
    falling = b[m][rights.rows]
    way = ways_of(rights.ids, rights.values, falling)
    if way == RISES_IN_A_TIE:  # where values of the one are equal, those of the other tell the order
        k, m = m, k
        rights = _in_order(sides.right_group, b[k], sides.rights)
        falling = b[m][rights.rows]
        way = ways_of(rights.ids, rights.values, falling)
    return _ranges(sides, a[k], rights, (a[m], falling)) if way == FALLS else None


def _from(sides: PairedRows, a: Ints, b: Ints) -> PartnerRanges:
    return _ranges(sides, a, _in_order(sides.right_group, b, sides.rights), None)


def _ranges(sides: PairedRows, a: Ints, rights: _Ordered, end: tuple[Ints, Ints] | None) -> PartnerRanges:
    """Ranges that start where values of right rows are greater than `a`; with `end`, they end where they are not."""
    lefts = None
    if np.array_equal(sides.lefts, sides.rights):
        # A row's value often lies among those of left rows where its other value lies among those of right rows.
        alike = _Ordered(rights.rows, sides.left_group[rights.rows], a[rights.rows])
        lefts = alike if in_order(alike.ids, alike.values) else None
    if lefts is None:
        lefts = _in_order(sides.left_group, a, sides.lefts)
    starts, ends, places = (np.zeros(len(a), np.int32) for _ in range(3))
    places[rights.rows] = np.arange(len(rights.rows), dtype=np.int32)
    range_starts(lefts.ids, rights.ids, lefts.values, rights.values, lefts.rows, starts, ends)
    if end is not None:
        range_ends(lefts.ids, rights.ids, end[0][lefts.rows], end[1], lefts.rows, starts, ends)
    return PartnerRanges(lefts.rows, rights.rows, lefts.ids, rights.ids, starts, ends, places, end is not None)


@dataclass(frozen=True)
class _Ordered:
    """Rows by group and value, the groups, and the values."""

    rows: Ints
    ids: Ints
    values: Ints


def _in_order(groups: Ints, values: Ints, rows: Ints) -> _Ordered:
    all_rows = len(rows) == len(groups)
    ordered = order_in_groups(groups, values) if all_rows else rows[order_in_groups(groups[rows], values[rows])]
    return _Ordered(ordered, groups[ordered], values[ordered])
