"""The relations of the rows of one block with those of another, where codes are numbers of any size.

Values of the first block are few: each value of the second is told by its place among them, equal to one or between
two, which fits into 16 bits. `all_pairs` is the twin for the rows of one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.evidence import (
    FIRST,
    NULL,
    Counted,
    Packing,
    PairCounter,
    Short,
    add_states,
    merged,
    shared_out,
)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Rows of a first block: their values and the gaps between them have numbers of 16 bits.
MOST_ROWS = 8_192
_BLOCK = 4_096


def beside(
    left: Ints, left_valid: Bools, right: Ints, right_valid: Bools, *, nulls_equal: bool, wide: bool = False
) -> tuple[Any, Any]:
    """Both as numbers of 16 bits that compare, left with right, as the codes do, or of 32 where `wide`.

    A null stays one, or with `nulls_equal` becomes a value that only nulls have. Left has at most MOST_ROWS, unless
    `wide`. Cost: a search per value.
    """
    values = np.unique(left[left_valid])
    null = 2 * len(values) + 2 if nulls_equal else NULL
    kind = np.int32 if wide else np.int16
    own = np.where(left_valid, 2 * np.searchsorted(values, left) + 1, null).astype(kind)
    places = np.empty(len(right), kind)
    _places(values, right, right_valid, null, places)
    return own, places


@njit(cache=True, nogil=True)
def _places(values, right, valid, null, places):  # type: ignore[no-untyped-def]
    """Per value twice the number of smaller ones, and one more where it is one of them."""
    for i in range(len(right)):
        if not valid[i]:
            places[i] = null
            continue
        low, high, x = 0, len(values), right[i]
        while low < high:
            middle = (low + high) >> 1
            if values[middle] < x:
                low = middle + 1
            else:
                high = middle
        places[i] = 2 * low + (low < len(values) and values[low] == x)


@dataclass(frozen=True)
class BlockPair:
    """Two blocks of rows, a line of codes per operand pair for each; `within` when they are one block, of which a
    row is paired with those after it."""

    left: Short
    right: Short
    packing: Packing
    within: bool = False

    def counted(self, *, threads: int = 1, firsts: bool = False) -> Counted:
        """The packed relations of all rows on the left with those on the right, counted; with `firsts`, each with a
        pair that has it."""
        starts = range(0, self.right.shape[1], _BLOCK)
        ones = np.ones(max(self.left.shape[1], _BLOCK), np.int64)
        since = np.arange(self.left.shape[1]) + 1

        def run(which: int) -> Counted:
            counter = PairCounter(self.packing, firsts=firsts)
            for start in starts[which::threads]:
                part = self.right[:, start : start + _BLOCK]
                n = part.shape[1]
                first = np.clip(since - start, 0, n) if self.within else None
                counter.add_codes(
                    self.left, np.ascontiguousarray(part), ones[: self.left.shape[1]], ones[:n], first, start=start
                )
            return counter.counted()

        if len(starts) == 0:
            none = np.zeros(0, np.int64)
            return Counted(np.zeros((0, len(self.packing.sizes)), np.uint16), none, none if firsts else None)
        return shared_out(run, min(threads, len(starts)))

    def counted_of(self, left: Ints, right: Ints) -> Counted:
        """The packed relations of the pairs given by row numbers, counted, each with a pair that has it."""
        places, packed = self.packing.places, np.zeros((len(left), len(self.packing.sizes)), np.uint16)
        for i, ((group, weight), way) in enumerate(zip(places, self.packing.ways, strict=True)):
            add_states(self.left[i], self.right[i], left, right, way, np.uint16(weight), packed[:, group])
        return merged([Counted(packed, np.ones(len(left), np.int64), left * FIRST + right)])
