"""Which columns are, in every row, the sum, the difference or the product of others."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

SUM, DIFFERENCE, PRODUCT = range(3)
# What doubles may be off by, relative to the numbers they are made of.
SLACK = 1e-9
NOTHING = -1


def equal_expressions(
    results: Doubles, factors: Doubles, owners: Ints, expressions: Ints, digits: Ints, exact: NDArray[np.bool_], *,
    least: int, most: int,
) -> tuple[Ints, bool]:  # fmt: skip
    """The lines (expression, result) that hold in every row, at least `least` of them without a NaN; and whether these
    are all: at most `most` are listed.

    `results` has a line per column. A factor is a line made of the column `owners[factor]`. An expression is (SUM,
    DIFFERENCE or PRODUCT, two or three factors, NOTHING for no third one, the digits behind the point of its values,
    and 1 where all that it is made of is exact). A result with `digits` behind the point may be off by the last one
    where the expression has more, by half of it where doubles are about; where it has NOTHING, by what doubles are off.
    Cost: one look per expression and
    row, and one per expression and result, as nearly all of them differ in the first row.
    """
    equal = np.empty((min(most, 1 << 16), 2), np.int64)
    while True:
        count = int(_equal_expressions(results, factors, owners, expressions, digits, exact, least, equal))
        if count <= len(equal):
            return equal[:count].copy(), True
        if len(equal) >= most:
            return equal.copy(), False
        equal = np.empty((min(most, max(2 * len(equal), count)), 2), np.int64)


@njit(cache=True, nogil=True)
def _equal_expressions(results, factors, owners, expressions, digits, exact, least, equal):  # type: ignore[no-untyped-def]
    count = 0
    rows = factors.shape[1]
    values, sizes, known = np.empty(rows), np.empty(rows), np.empty(rows, np.int64)
    for e in range(len(expressions)):
        kind, i, j, k = expressions[e, 0], expressions[e, 1], expressions[e, 2], expressions[e, 3]
        there = 0
        for row in range(rows):
            x, y = factors[i, row], factors[j, row]
            if kind == PRODUCT:
                value = x * y if k < 0 else x * y * factors[k, row]
                size = abs(value)
            else:
                value = x + y if kind == SUM else x - y
                size = abs(x) + abs(y)
            if not np.isnan(value):
                values[there], sizes[there], known[there] = value, size, row
                there += 1
        if there < least:
            continue
        for a in range(len(results)):
            if a == owners[i] or a == owners[j] or (k >= 0 and a == owners[k]):
                continue
            tolerance = 0.0
            if digits[a] >= 0:
                if expressions[e, 4] > digits[a]:
                    tolerance = 10.0 ** -digits[a]
                elif not (exact[a] and expressions[e, 5] == 1):
                    tolerance = 0.5 * 10.0 ** -digits[a]
            tested = 0
            holds = True
            for at in range(there):
                result = results[a, known[at]]
                if np.isnan(result):
                    continue
                if abs(values[at] - result) > tolerance + SLACK * (sizes[at] + abs(result)):
                    holds = False
                    break
                tested += 1
            if holds and tested >= least:
                if count < len(equal):
                    equal[count, 0], equal[count, 1] = e, a
                count += 1
    return count
