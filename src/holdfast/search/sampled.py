"""Evidence of pairs of rows drawn at random, for tables with too many rows for all pairs; and what it says of all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import sqrt

import numpy as np

from holdfast.kernels.evidence import Counted, listed_pairs, merged
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Evidence
from holdfast.search.limits import DEFAULT_LIMITS, SearchLimits

# How many standard deviations an interval reaches to either side: it holds the truth 95 times in 100.
_DEVIATIONS = 1.96


def sampled_evidence(
    rows: CodedRows, *, seed: int, threads: int, limits: SearchLimits = DEFAULT_LIMITS
) -> tuple[Evidence, int]:
    """The evidence of pairs of different rows, each drawn on its own and counted in both orders; and how many."""
    ends, pairs, at_once = np.cumsum(rows.weights), limits.sampled_pairs, limits.drawn_at_once

    def drawn(part: int) -> Counted:
        random = np.random.default_rng([seed, part])
        size = min(at_once, pairs - part * at_once)
        left = random.integers(0, rows.rows, size)
        right = random.integers(0, rows.rows - 1, size)
        right += right >= left  # the second is any row but the first
        left, right = (np.searchsorted(ends, numbers, side="right") for numbers in (left, right))
        return listed_pairs(rows.codes, left, right, rows.packing)

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(drawn, range(-(-pairs // at_once))))
    return rows.evidence(merged(parts)), pairs


def interval(share: float, drawn: int) -> tuple[float, float]:
    """Where the share of all pairs lies of which a sample of so many shows this share: Wilson's interval, at 95 %.

    >>> low, high = interval(0.001, 5_000_000)
    >>> f"{low:.6f} {high:.6f}"
    '0.000973 0.001028'
    """
    z = _DEVIATIONS**2 / drawn
    middle = (share + z / 2) / (1 + z)
    reach = _DEVIATIONS * sqrt(share * (1 - share) / drawn + z / (4 * drawn)) / (1 + z)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)
