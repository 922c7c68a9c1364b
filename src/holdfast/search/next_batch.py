"""How likely the next rows break what all rows so far keep.

Rows are thought of as drawn one by one from one law, so that their order tells nothing. Two things can break a rule:

- An exception that has not come yet. That none came among n says little when n is small: `exception_chance`.
- A limit that is not the limit, such as a greatest value that the next rows exceed, or a list with a value missing.
  Halving the rows at random shows how that goes: a greatest value that stands in m rows is new to the second half
  with a chance of 2^-m. With as many rows again as there are, that chance at most doubles.

The second holds for whatever is at most so much in every row: numbers, lengths of texts, digits after the point.
"""

from __future__ import annotations

from math import exp, lgamma

import numpy as np
from numpy.typing import NDArray

# A rule is shown where it is at most so likely that as many rows again break it.
LIKELY = 0.05
# The nearer to 0, the more evenly are shares of exceptions spread over the powers of ten.
_RARE = 0.2
_FEWEST = 10
# How many times further than the least the greatest of many sizes is from their middle.
_SKEWED = 4


def exception_chance(count: int) -> float:
    """The chance that among so many values more one is an exception, where none of the first was.

    Half of all rules are thought to have no exceptions at all; in the others their share is about as likely to be
    between 1 and 10 % as between 0.1 and 1 %, and so on: real tables have rare exceptions of every size. Fewer than ten
    values tell nothing.

    >>> [round(exception_chance(count), 3) for count in (9, 10, 100, 10_000)]
    [1.0, 0.045, 0.034, 0.016]
    """
    if count < _FEWEST:
        return 1.0
    none, none_again = _no_exception(count), _no_exception(2 * count)
    return (none - none_again) / (1 + none)


def _no_exception(count: int) -> float:
    """The chance that so many values have no exception, whose share is drawn from the beta distribution (_RARE, 1)."""
    return exp(lgamma(1 + _RARE) + lgamma(count + 1) - lgamma(count + 1 + _RARE))


def limit_chance(times: int) -> float:
    """At most the chance that as many rows again go beyond a limit that so many of the rows reach.

    >>> limit_chance(1), limit_chance(6)
    (1.0, 0.03125)
    """
    return 2.0 ** (1 - min(times, 1_000))


def new_value_chance(counts: NDArray[np.int64]) -> float:
    """At most the chance that as many rows again have a value that none has so far; `counts` is in how many rows each
    value stands.

    >>> new_value_chance(np.array([100, 1])), new_value_chance(np.array([8, 8]))
    (1.0, 0.015625)
    """
    return float(min(np.exp2(1.0 - np.minimum(counts, 1_000)).sum(), 1.0))


def below_zero_chance(values: NDArray[np.float64]) -> float:
    """The chance that as many values again have one below 0, where none of these is; at most that of an exception where
    they are sizes: those run over two powers of ten, or the greatest is far further from the middle than the least.

    Others are thought to go on as they end: the lowest of them, as many as the root of their number, say how fast they
    thin out towards their end, and 0 is so many such steps away.

    >>> bool(below_zero_chance(np.geomspace(0.5, 700, 20)) < 0.05)
    True
    >>> [bool(below_zero_chance(np.linspace(*ends, 100)) < 0.05) for ends in ((1, 60), (900, 999))]
    [False, True]
    """
    exception = exception_chance(len(values))
    least, most = float(values.min()), float(values.max())
    middle = float(np.median(values))
    if most >= 100 * least or most - middle >= _SKEWED * (middle - least):
        return exception
    count = min(max(int(len(values) ** 0.5), 2), len(values))
    lowest = np.partition(values, count - 1)[:count]
    step = float(lowest.max() - lowest.mean())
    beyond = exp(-least / step) if step > 0 else 0.0
    return min(exception + beyond, 1.0)
