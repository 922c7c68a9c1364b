"""Which partition Spark sends a whole number to, computed without asking Spark."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SEED = 42


def partition_numbers(partitions: int) -> list[int]:
    """Returns, for each partition in order, the smallest whole number that `repartition(partitions, column)` sends to
    it, for a column of type INT.

    Cost: about `partitions * log(partitions)` hashes.

    >>> partition_numbers(3)
    [0, 1, 11]
    >>> partition_numbers(4)
    [12, 6, 2, 0]
    """
    assert partitions > 0, "a frame has partitions"
    numbers: dict[int, int] = {}
    start, many = 0, 8 * partitions
    while len(numbers) < partitions:
        candidates = np.arange(start, start + many, dtype=np.uint32)
        # As SQL's pmod: never negative.
        hashes = murmur3_of_ints(candidates).astype(np.int64) % partitions
        places, firsts = np.unique(hashes, return_index=True)
        for place, first in zip(places.tolist(), firsts.tolist(), strict=True):
            numbers.setdefault(place, start + first)
        start += many
    return [numbers[place] for place in range(partitions)]


def murmur3_of_ints(values: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Returns what Spark SQL's `hash` is of each value as an INT: Murmur3 with 32 bits, of four bytes."""
    mixed = _rotated(values * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    hashes = _rotated(mixed ^ np.uint32(_SEED), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashes ^= np.uint32(4)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (hashes ^ (hashes >> np.uint32(16))).view(np.int32)


def _rotated(values: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
