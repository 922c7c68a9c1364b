"""Rows ordered by group and value: by numpy where they are few, otherwise by digits; nothing is compared then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.without_compiler import compiler_pays

Ints = NDArray[np.int64]


def order_in_groups(groups: Ints, values: Ints) -> Ints:
    """Positions ordered by group, within a group by value, and within a value as they were.

    Groups are small numbers from 0. Cost: a pass for every eleven bits in which the values differ, and one more.
    """
    if not compiler_pays(len(values)):
        return np.lexsort((values, groups))
    from holdfast.kernels.radix_sort import by_group

    return np.asarray(by_group(_order(values), groups, int(groups.max()) + 1))


def grouped(groups: Ints) -> Ints:
    """Positions ordered by group, within a group as they were. Groups are small numbers from 0. Cost: two passes."""
    if not compiler_pays(len(groups)):
        return np.argsort(groups, kind="stable")
    from holdfast.kernels.radix_sort import by_group

    return np.asarray(by_group(np.arange(len(groups)), groups, int(groups.max(initial=-1)) + 1))


def ranks(values: Ints) -> Ints:
    """The values as 0, 1, 2, ... of the distinct ones, in their order. Cost as above."""
    if not compiler_pays(len(values)):
        return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)
    from holdfast.kernels.radix_sort import ranked

    return np.asarray(ranked(values, _order(values)))


def _order(values: Ints) -> Ints:
    from holdfast.kernels.radix_sort import by_digits

    low, high = int(values.min()), int(values.max())
    return np.asarray(by_digits(values, np.int64(low), (high - low).bit_length()))
