"""Evidence of pairs of rows drawn at random, for tables with too many rows for all pairs; and what it says of all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.evidence import Counted, listed_pairs, merged
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Evidence

Ints = NDArray[np.int64]

# So many pairs are drawn: a rule that one pair in a thousand breaks is then broken by five thousand of them.
SAMPLED_PAIRS = 5_000_000
_AT_ONCE = 250_000
# How many standard deviations an interval reaches to either side: it holds the truth 95 times in 100.
_DEVIATIONS = 1.96


def sampled_evidence(rows: CodedRows, *, seed: int, threads: int) -> tuple[Evidence, int]:
    """The evidence of pairs of different rows, each drawn on its own and counted in both orders; and how many."""
    ends = np.cumsum(rows.weights)

    def drawn(part: int) -> Counted:
        random = np.random.default_rng([seed, part])
        size = min(_AT_ONCE, SAMPLED_PAIRS - part * _AT_ONCE)
        left = random.integers(0, rows.rows, size)
        right = random.integers(0, rows.rows - 1, size)
        right += right >= left  # the second is any row but the first
        one, other = (np.searchsorted(ends, some, side="right") for some in (left, right))
        return listed_pairs(rows.codes, one, other, rows.layout)

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(drawn, range(-(-SAMPLED_PAIRS // _AT_ONCE))))
    return rows.evidence(merged(parts)), SAMPLED_PAIRS


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
