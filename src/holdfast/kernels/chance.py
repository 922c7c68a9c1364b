"""How likely a column that is shuffled meets what a rule asks of rows: that they all differ, are all equal, or are in
order. Counts of values in, logarithms of probabilities out.

Rows are drawn without replacement from `counts`, how many rows have each value: shuffling a column gives any set of
rows such a draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, log1p, pi

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Up to so many rows are calculated exactly; more rows in order are looked at in parts of so many.
EXACT = 32
# A probability below e to this power is not looked at more closely.
LEAST_LOG = -80.0
# How many shuffles are followed at a time to see how likely groups are equal, and how much they may look at.
_RUNS, _MOST_WORK = 32, 20_000_000


@dataclass(frozen=True)
class Draws:
    """The values of a column by how many rows have each."""

    counts: Ints

    @cached_property
    def rows(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def _alike(self) -> tuple[Ints, Ints]:
        """How often values occur, each number once, and how many values occur so often."""
        often, values = np.unique(self.counts, return_counts=True)
        return often.astype(np.int64), values.astype(np.int64)

    @cached_property
    def log_factorials(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, self.rows + 1)))])

    @cached_property
    def same_pair(self) -> float:
        """How likely two rows have one value."""
        pairs = float(self.rows) * (self.rows - 1)
        return float((self.counts.astype(np.float64) * (self.counts - 1)).sum()) / pairs if pairs else 0.0

    @cached_property
    def _different(self) -> Floats:
        """Elementary symmetric polynomials of the shares of values, up to EXACT."""
        product = np.ones(1)
        for often, values in zip(*self._alike, strict=True):
            steps = np.arange(1, EXACT + 1)
            ratios = np.maximum(values - steps + 1, 0) / steps * (often / self.rows)
            product = np.convolve(product, np.concatenate([[1.0], np.cumprod(ratios)]))[: EXACT + 1]
        return np.pad(product, (0, EXACT + 1 - len(product)))

    @cached_property
    def _rising(self) -> Floats:
        """The same, where a value may occur again as long as it has rows left."""
        product = np.ones(1)
        for often, values in zip(*self._alike, strict=True):
            steps = np.arange(1, EXACT + 1)
            alone = np.concatenate([[1.0], np.cumprod(np.maximum(often - steps + 1, 0) / self.rows)])
            product = np.convolve(product, _power(alone, int(values)))[: EXACT + 1]
        return np.pad(product, (0, EXACT + 1 - len(product)))

    def log_all_different(self, size: int) -> float:
        """So many rows have different values. Exact up to EXACT rows, by a saddle point beyond."""
        if size < 2:
            return 0.0
        if size > len(self.counts):
            return -inf
        ways = self._log_of_ways(size) + float(self.log_factorials[size])
        if size <= EXACT:
            return min(_log(self._different[size]) + ways, 0.0)
        often, values = self._alike
        shares = often / self.rows
        if size == len(self.counts):
            return min(float((values * np.log(shares)).sum()) + ways, 0.0)
        low, high = -40.0, 80.0
        for _ in range(80):
            middle = (low + high) / 2
            x = exp(middle) * shares
            low, high = (middle, high) if (values * x / (1 + x)).sum() < size else (low, middle)
        x = exp(low) * shares
        spread = float((values * x / (1 + x) ** 2).sum())
        bound = float((values * np.log1p(x)).sum()) - size * low
        return min(bound - (0.5 * log(2 * pi * spread) if spread > 0.2 else 0.0) + ways, 0.0)

    def log_in_order(self, size: int, *, strict: bool) -> float:
        """So many rows, in an order that is given, rise, or where not `strict` never fall; at most EXACT rows."""
        assert size <= EXACT, "longer ones are looked at in parts"
        if size < 2:
            return 0.0
        if size > len(self.counts) and strict:
            return -inf
        return min(_log((self._different if strict else self._rising)[size]) + self._log_of_ways(size), 0.0)

    def log_all_equal(self, sizes: Ints, *, seed: int) -> float:
        """In each of several groups of rows, of these sizes, all have one value.

        Shuffles are followed that make one group after the other equal; how likely each step was is multiplied, and the
        mean over several shuffles has no bias. It ends where little is left to tell, and is then too high.
        """
        sizes = np.sort(sizes[sizes > 1])[::-1]
        often = self.counts[self.counts > 1]
        if len(sizes) == 0:
            return 0.0
        if len(often) == 0:
            return -inf
        random = np.random.default_rng(seed)
        facts = self.log_factorials
        left = np.repeat(often[None, :], _RUNS, axis=0)
        rest, total, runs = self.rows, np.zeros(_RUNS), np.arange(_RUNS)
        for size in sizes[: max(_MOST_WORK // (len(often) * _RUNS), 1)].tolist():
            if size > rest:
                break
            fits = np.maximum(left - size, 0)
            ways = np.where(left >= size, facts[left] - facts[fits], -inf) - (facts[rest] - facts[rest - size])
            most = ways.max(axis=1)
            possible = most > -inf
            weights = np.exp(ways - np.where(possible, most, 0.0)[:, None])
            sums = weights.cumsum(axis=1)
            total += np.where(possible, most + np.log(np.maximum(sums[:, -1], 1e-300)), -inf)
            if total.max() < LEAST_LOG:
                break
            chosen = (sums < (random.random(_RUNS) * sums[:, -1])[:, None]).sum(axis=1)
            left[runs, np.minimum(chosen, left.shape[1] - 1)] -= np.where(possible, size, 0)
            left = np.maximum(left, 0)
            rest -= size
        best = float(total.max())
        if best == -inf:
            return -inf
        return min(best + log(float(np.exp(total - best).mean())), 0.0)

    def _log_of_ways(self, size: int) -> float:
        """What turns a polynomial of shares into a probability without replacement."""
        facts = self.log_factorials
        return size * log(self.rows) - float(facts[self.rows] - facts[self.rows - size])


def log_few_hits(hits: int, tries: int, share: float) -> float:
    """At most so many of independent tries hit, each of which does with this probability: Chernoff's bound.

    >>> round(log_few_hits(0, 10, 0.5), 4)
    -6.9315
    """
    if tries == 0 or share <= 0 or hits >= share * tries:
        return 0.0
    seen = hits / tries
    away = (1 - seen) * (log1p(-seen) - log1p(-share)) if share < 1 else inf
    return -tries * (away + (seen * log(seen / share) if hits else 0.0))


def layers(groups: Ints, classes: Ints) -> tuple[Ints, Ints]:
    """Sets of rows of one group and different classes, no row in two sets: their sizes, from 2 on, and how many have
    each size. The first set of a group has a row of each of its classes, the next one of each class that has two, ...

    >>> [found.tolist() for found in layers(np.array([1, 1, 1, 1, 2]), np.array([7, 7, 8, 9, 7]))]
    [[3], [1]]
    """
    if len(groups) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((classes, groups))
    group, cls = groups[order], classes[order]
    new_group = np.ones(len(group), np.bool_)
    new_group[1:] = group[1:] != group[:-1]
    new_class = new_group.copy()
    new_class[1:] |= cls[1:] != cls[:-1]
    places = np.arange(len(group))
    within = places - np.maximum.accumulate(np.where(new_class, places, 0))
    number = np.cumsum(new_group) - 1
    _, members = np.unique(number * len(group) + within, return_counts=True)
    sizes, many = np.unique(members[members > 1], return_counts=True)
    return sizes.astype(np.int64), many.astype(np.int64)


def _power(series: Floats, exponent: int) -> Floats:
    """The power series, up to EXACT."""
    result = np.ones(1)
    while exponent:
        if exponent & 1:
            result = np.convolve(result, series)[: EXACT + 1]
        series = np.convolve(series, series)[: EXACT + 1]
        exponent >>= 1
    return result


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf
