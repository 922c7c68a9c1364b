"""Where rows are few: numpy alone is done before the compiled kernels are loaded, which takes half a second."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# numpy takes about ten milliseconds for so many steps.
MOST_STEPS = 1 << 18


def compiler_pays(steps: int) -> bool:
    """Whether compiled kernels are the shorter way for so many steps. Results are the same either way."""
    return steps > (0 if compiler_loaded() else MOST_STEPS)


def compiler_loaded() -> bool:
    return "numba" in sys.modules


def all_pairs_of_ranges(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Every (i, j) with starts[i] <= j < ends[i], by i, then by j."""
    sizes = ends - starts
    left = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return left, np.arange(len(left)) + np.repeat(starts - before, sizes)
