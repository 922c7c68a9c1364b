"""Evidence: what relations pairs of rows show, and how many pairs show them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.states.lawful import Reversible

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Evidence(Reversible):
    """Distinct masks of shown relations, a line of 64-bit words each, in order; and how many ordered pairs show each.

    Evidence of pairs that are gone is taken back by `minus`. The order of `plus` does not matter. No count is 0.
    """

    words: Words
    counts: Ints

    def __len__(self) -> int:
        return len(self.words)

    @property
    def pairs(self) -> int:
        """How many ordered pairs are counted."""
        return int(self.counts.sum())

    def plus(self, other: Evidence) -> Evidence:
        """The evidence of the pairs of both."""
        return evidence(np.concatenate([self.words, other.words]), np.concatenate([self.counts, other.counts]))

    def minus(self, other: Evidence) -> Evidence:
        """The evidence without the other's pairs, which are among this one's."""
        return self.plus(Evidence(other.words, -other.counts))

    def to_arrow(self) -> pa.Table:
        words = {f"w{i}": pa.array(self.words[:, i]) for i in range(self.words.shape[1])}
        return pa.table({**words, "n": pa.array(self.counts)})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Evidence:
        words = [table.column(name).to_numpy() for name in table.column_names if name != "n"]
        return cls(np.stack(words, axis=1), table.column("n").to_numpy())


def evidence(words: Words, counts: Ints) -> Evidence:
    """The masks with their counts, equal masks added up."""
    masks, which = distinct(words)
    sums = np.zeros(len(masks), np.int64)
    np.add.at(sums, which, counts)
    shown = sums != 0
    return Evidence(masks[shown], sums[shown])


def in_either(first: Words, second: Words) -> tuple[Words, NDArray[np.bool_], NDArray[np.bool_]]:
    """The different lines of both, in order; which of them the first has, and which the second."""
    lines, which = distinct(np.concatenate([first, second]))
    in_first, in_second = np.zeros(len(lines), np.bool_), np.zeros(len(lines), np.bool_)
    in_first[which[: len(first)]] = True
    in_second[which[len(first) :]] = True
    return lines, in_first, in_second


def distinct(lines: Words) -> tuple[Words, Ints]:
    """The different lines, in order, and for each line given which of them it is."""
    if lines.shape[1] == 1:
        values, which = np.unique(lines[:, 0], return_inverse=True)
        return values.reshape(-1, 1), which.astype(np.int64)
    order = np.lexsort(lines.T[::-1])
    ordered = lines[order]
    starts = np.ones(len(lines), np.bool_)
    starts[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    which = np.empty(len(lines), np.int64)
    which[order] = np.cumsum(starts) - 1
    return ordered[starts], which
