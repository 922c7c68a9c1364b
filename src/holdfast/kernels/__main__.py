"""`python -m holdfast.kernels` compiles all kernels and caches them, so that no query waits for the compiler."""

from __future__ import annotations

import numpy as np

from holdfast.kernels.cover import greedy_cover
from holdfast.kernels.order import ranks
from holdfast.kernels.pair_counts import count_pairs
from holdfast.kernels.pair_lists import list_pairs


def compile_kernels() -> None:
    """Every kernel has run once on arrays of the types it is used with."""
    groups, order = np.zeros(2, np.int64), np.arange(2)
    for inequalities in range(5):
        values = np.zeros((inequalities, 2), np.int64)
        count_pairs(groups, groups, values, values)
        list_pairs(
            groups, groups, values, values,
            unequal=(values[:1], values[:1]), wanted=groups == 0, order=order, once=True, limit=1,
        )  # fmt: skip
    greedy_cover(order[:1], order[1:], 2)
    ranks(order)


if __name__ == "__main__":
    compile_kernels()
