"""Evidence of pairs of rows drawn at random, for tables with too many rows for all pairs; and what it says of all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import sqrt

import numpy as np

from holdfast.kernels.evidence import Counted, listed_pairs, merged
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Evidence
from holdfast.search.limits import DEFAULT_LIMITS, SearchLimits

# How many standard deviations an interval reaches to either side: it holds the truth 95 times in 100.
_DEVIATIONS = 1.96
# The share of the time left that drawing takes; and what is the least that a part of it takes.
_TIME_SHARE, _SHORTEST = 1 / 3, 1e-4


def sampled_evidence(
    rows: CodedRows, *, seed: int, threads: int, limits: SearchLimits = DEFAULT_LIMITS, clock: Clock | None = None
) -> tuple[Evidence, int]:
    """The evidence of pairs of different rows, each drawn on its own and counted in both orders; and how many.

    Where the clock has too little time for all of them, as many as the first ones say there is time for.
    """
    ends, pairs, at_once = np.cumsum(rows.weights), limits.sampled_pairs, limits.drawn_at_once

    def drawn(part: int) -> Counted:
        random = np.random.default_rng([seed, part])
        size = min(at_once, pairs - part * at_once)
        left = random.integers(0, rows.rows, size)
        right = random.integers(0, rows.rows - 1, size)
        right += right >= left  # the second is any row but the first
        left, right = (np.searchsorted(ends, numbers, side="right") for numbers in (left, right))
        return listed_pairs(rows.codes, left, right, rows.packing)

    clock = Clock(None) if clock is None else clock
    parts, before = -(-pairs // at_once), clock.left
    known, left = rows.evidence(drawn(0)), clock.left
    if before is not None and left is not None:
        spent = max(before - left, _SHORTEST)
        parts = min(parts, max(1, int(_TIME_SHARE * before / spent)))
    if parts > 1:
        with ThreadPoolExecutor(threads) as pool:
            known = known.plus(rows.evidence(merged(list(pool.map(drawn, range(1, parts))))))
    return known, min(pairs, parts * at_once)


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
