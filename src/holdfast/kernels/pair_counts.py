"""How many pairs each row is in, without listing them: sorting and arithmetic.

Rows play two parts: as left row, and as right row. A pair (i, j) counts when i's left group is j's right group and, for
every k, `a[k][i] < b[k][j]`. A group of -1 means that the row does not play the part. Every comparison operator
comes to this form: `>` by negating, `<=` by doubling and adding one, `=` by grouping, `!=` by inclusion and exclusion.
"""

from __future__ import annotations

import numpy as np

from holdfast.kernels.order import Ints, order_in_groups
from holdfast.kernels.without_compiler import all_pairs_of_ranges, compiler_pays


def count_pairs(left_group: Ints, right_group: Ints, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """For each row, the pairs it is left in, and those it is right in. A row may be paired with itself.

    `a` and `b` have one line per inequality. Cost: none or one, a sort; two, a sort and n log n; three, n log² n; more,
    the product of the parts of each group.
    """
    n = len(left_group)
    as_left, as_right = np.zeros(n, np.int64), np.zeros(n, np.int64)
    lefts, rights = np.flatnonzero(left_group >= 0), np.flatnonzero(right_group >= 0)
    if len(lefts) == 0 or len(rights) == 0:
        return as_left, as_right
    if len(a) and compiler_pays(len(lefts) + len(rights)):
        _count_compiled(left_group, right_group, a, b, lefts, rights, as_left, as_right)
        return as_left, as_right
    top = int(max(left_group.max(), right_group.max())) + 1
    per_left = np.bincount(left_group[lefts], minlength=top)
    per_right = np.bincount(right_group[rights], minlength=top)
    if len(a) == 0:
        as_left[lefts] = per_right[left_group[lefts]]
        as_right[rights] = per_left[right_group[rights]]
    elif compiler_pays(int(per_left @ per_right)):
        _count_compiled(left_group, right_group, a, b, lefts, rights, as_left, as_right)
    else:
        rights = rights[np.argsort(right_group[rights], kind="stable")]
        ends = np.cumsum(per_right)[left_group[lefts]]
        left, right = all_pairs_of_ranges(ends - per_right[left_group[lefts]], ends)
        left, right = lefts[left], rights[right]
        fits = np.logical_and.reduce([x[left] < y[right] for x, y in zip(a, b, strict=True)])
        as_left, as_right = np.bincount(left[fits], minlength=n), np.bincount(right[fits], minlength=n)
    return as_left, as_right


def _count_compiled(
    left_group: Ints, right_group: Ints, a: Ints, b: Ints, lefts: Ints, rights: Ints, as_left: Ints, as_right: Ints
) -> None:
    """Counts the pairs of the rows `lefts` and `rights` into the last two."""
    from holdfast.kernels import inequality_counts as kernels

    lefts = lefts[order_in_groups(left_group[lefts], a[0][lefts])]
    rights = rights[order_in_groups(right_group[rights], b[0][rights])]
    left_ids, right_ids = left_group[lefts], right_group[rights]
    if len(a) == 1:
        kernels.count_inequality(left_ids, right_ids, a[0][lefts], b[0][rights], lefts, rights, as_left, as_right)
        return
    ranks = [_ranks_in_groups(left_ids, right_ids, a[k][lefts], b[k][rights]) for k in range(1, len(a))]
    left_ranks = np.array([rank[: len(lefts)] for rank in ranks])
    right_ranks = np.array([rank[len(lefts) :] for rank in ranks])
    count = {2: kernels.count_two, 3: kernels.count_three}.get(len(a), kernels.count_many)
    count(left_ids, right_ids, a[0][lefts], b[0][rights], left_ranks, right_ranks, lefts, rights, as_left, as_right)


def _ranks_in_groups(left_ids: Ints, right_ids: Ints, a: Ints, b: Ints) -> Ints:
    """Ranks from 1, within each group, of the values of both parts together."""
    from holdfast.kernels.inequality_counts import rank_runs

    ids, values = np.concatenate([left_ids, right_ids]), np.concatenate([a, b])
    order = order_in_groups(ids, values)
    ranks = np.empty(len(ids), np.int64)
    rank_runs(ids[order], values[order], order, ranks)
    return ranks
