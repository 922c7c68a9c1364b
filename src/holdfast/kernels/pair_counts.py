"""How many pairs each row is in, without listing them: sorting and arithmetic.

Rows play two parts: as left row, and as right row. A pair (i, j) counts when i's left group is j's right group and, for
every k, `a[k][i] < b[k][j]`. A group of -1 means that the row does not play the part. Every comparison operator
comes to this form: `>` by negating, `<=` by doubling and adding one, `=` by grouping, `!=` by inclusion and exclusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from holdfast.kernels.order import Ints
from holdfast.kernels.without_compiler import all_pairs_of_ranges, compiler_pays

if TYPE_CHECKING:
    from holdfast.kernels.ranges import PartnerRanges


# A step of divide and conquer takes about as long as looking at so many pairs.
_PAIRS_PER_STEP = 2


def count_pairs(left_group: Ints, right_group: Ints, a: Ints, b: Ints, *, mirrored: bool = False) -> tuple[Ints, Ints]:
    """For each row, the pairs it is left in, and those it is right in. A row may be paired with itself.

    `a` and `b` have one line per inequality. With `mirrored` the right ones may be left out: the left ones stand
    for them, where the caller knows that both come to the same. Two inequalities that leave each row a range of
    rows in some order, as a tolerance does, count as one. Cost: none or one, a sort; two, a sort and n log n;
    three, n log² n, twice that for each range with two ends; the pairs that the narrowest of them leaves where
    these are fewer, and for more than three.
    """
    n = len(left_group)
    as_left, as_right = np.zeros(n, np.int64), np.zeros(n, np.int64)
    lefts, rights = np.flatnonzero(left_group >= 0), np.flatnonzero(right_group >= 0)
    if len(lefts) == 0 or len(rights) == 0:
        return as_left, as_right
    if len(a) and compiler_pays(len(lefts) + len(rights)):
        return _count_compiled(left_group, right_group, a, b, lefts, rights, mirrored)
    top = int(max(left_group.max(), right_group.max())) + 1
    per_left = np.bincount(left_group[lefts], minlength=top)
    per_right = np.bincount(right_group[rights], minlength=top)
    if len(a) == 0:
        as_left[lefts] = per_right[left_group[lefts]]
        as_right[rights] = per_left[right_group[rights]]
    elif compiler_pays(int(per_left @ per_right)):
        return _count_compiled(left_group, right_group, a, b, lefts, rights, mirrored)
    else:
        rights = rights[np.argsort(right_group[rights], kind="stable")]
        ends = np.cumsum(per_right)[left_group[lefts]]
        left, right = all_pairs_of_ranges(ends - per_right[left_group[lefts]], ends)
        left, right = lefts[left], rights[right]
        fits = np.logical_and.reduce([x[left] < y[right] for x, y in zip(a, b, strict=True)])
        as_left, as_right = np.bincount(left[fits], minlength=n), np.bincount(right[fits], minlength=n)
    return as_left, as_right


def count_either_way(group: Ints, values: Ints) -> Ints | None:
    """For each row, the pairs that it is in where its values are all smaller than the other row's, or all greater; None
    where left and right rows are counted apart.

    The sum of both sides of `count_pairs` where `a` and `b` are these values. Cost: n log n for two or three lines.
    """
    if len(values) not in (2, 3) or not compiler_pays(2 * len(group)):
        return None
    from holdfast.kernels.agreeing_pairs import agreeing_pairs

    return agreeing_pairs(group, values)


def _count_compiled(
    left_group: Ints, right_group: Ints, a: Ints, b: Ints, lefts: Ints, rights: Ints, mirrored: bool
) -> tuple[Ints, Ints]:
    """The pairs of the rows `lefts` and `rights`."""
    from holdfast.kernels.ranges import PairedRows, likely_ends, ranges_of, sampled

    sides = PairedRows(left_group, right_group, lefts, rights)
    if likely_ends(~sampled(a, lefts)) and not likely_ends(sampled(b, rights)):
        # Left rows are points, and right rows the ranges: the same pairs, turned round.
        as_right, as_left = _count_ranges(ranges_of(sides.turned(), ~b, ~a), ~b, ~a, mirrored)
        return as_left, as_right
    return _count_ranges(ranges_of(sides, a, b), a, b, mirrored)


def _count_ranges(ranges: Sequence[PartnerRanges], a: Ints, b: Ints, mirrored: bool) -> tuple[Ints, Ints]:
    from holdfast.kernels import inequality_counts as kernels

    first, n = ranges[0], a.shape[1]
    as_left, as_right = np.zeros(n, np.int64), np.zeros(n, np.int64)
    if len(ranges) == 1:
        kernels.count_in_ranges(first.lefts, first.rights, first.starts, first.ends, as_left, as_right, not mirrored)
    elif len(ranges) == 2:
        second = ranges[1]
        kernels.count_in_two_ranges(
            first.left_ids, first.right_ids, first.lefts, first.by_end, first.rights, first.starts, first.ends,
            second.starts, second.ends, second.places, as_left, as_right, not mirrored,
        )  # fmt: skip
    elif len(ranges) > 3 or min(each.pairs for each in ranges) <= _PAIRS_PER_STEP * _steps_of_three(ranges):
        narrow = min(ranges, key=lambda each: each.pairs)
        lefts, rights = narrow.lefts, narrow.rights
        own, others = np.ascontiguousarray(a[:, lefts].T), np.ascontiguousarray(b[:, rights].T)
        kernels.count_listed(lefts, rights, narrow.starts, narrow.ends, own, others, as_left, as_right)
        return as_left, as_right
    else:
        # What lies in a range lies from its start on, and not from its end on.
        _, second, third = ranges
        for ended in product(*((False, True) if each.two_ended else (False,) for each in ranges)):
            edges = [each.ends if end else each.starts for each, end in zip(ranges, ended, strict=True)]
            kernels.count_from_three_edges(
                first.left_ids, first.right_ids, first.by_end if ended[0] else first.lefts, first.rights, edges[0],
                edges[1], second.places, edges[2], third.places, -1 if sum(ended) % 2 else 1, as_left, as_right,
            )  # fmt: skip
    return as_left, as_left.copy() if mirrored else as_right


def _steps_of_three(ranges: Sequence[PartnerRanges]) -> int:
    """About how many steps divide and conquer takes."""
    rows = len(ranges[0].lefts) + len(ranges[0].rights)
    rounds: int = 2 ** sum(each.two_ended for each in ranges)
    return rounds * rows * rows.bit_length() ** 2
