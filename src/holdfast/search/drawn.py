"""Evidence of few pairs of rows that stands for all: pairs drawn at random, and pairs that agree on a column.

Pairs that agree on some column are what rules are mostly tested by, and rare among pairs drawn from all. So some are
drawn among the pairs that agree on a column, for each column; and a pair counts the less, the more often it could have
been drawn (the balance heuristic of Veach and Guibas, 1995). How a pair could have been drawn is seen in its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from holdfast.kernels.evidence import EQUALITY_SKIP, NULL, ORDER_SKIP, Counted, listed_pairs, merged
from holdfast.rules.relation import EQ
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Evidence, Ints
from holdfast.search.invert import allowed_relations


def drawn_evidence(
    rows: CodedRows, columns: Sequence[int], *, pairs: int, seed: int, over: Callable[[], bool] = lambda: False
) -> Evidence:
    """The evidence of about so many pairs of different rows, half of them drawn from all and half from those that agree
    on one of `columns` (operand pairs); counts estimate those of all pairs, and are at least 1. Once time is `over`, no
    more columns are drawn from."""
    everything = rows.rows * (rows.rows - 1)
    if everything == 0:
        return Evidence(np.zeros((0, rows.space.words), np.uint64), np.zeros(0, np.int64))
    random = np.random.default_rng(seed)
    whole = _Groups(rows, None)
    drawn: list[Counted] = [whole.drawn(pairs - pairs // 2, random)]
    per_column = pairs // 2 // max(len(columns), 1)
    pairs_of: dict[int, float] = {}
    for i in columns:
        if over():
            break
        group = _Groups(rows, i)
        if group.pairs:
            drawn.append(group.drawn(per_column, random))
            pairs_of[i] = group.pairs
    evidence = rows.evidence(merged(drawn))
    # Per pair in either order how often it was to be drawn: twice as often as an ordered pair.
    expected = np.full(len(evidence), 2 * (pairs - pairs // 2) / everything)
    shown = allowed_relations(rows.space, evidence.words)
    for i, agreeing in pairs_of.items():
        expected += (shown[:, i] == EQ) * (2 * per_column / agreeing)
    counts = np.round(evidence.counts / expected)
    return Evidence(evidence.words, np.maximum(counts, 1).astype(np.int64))


class _Groups:
    """The rows by the value of a column, all together without one: pairs within a group can be drawn."""

    def __init__(self, rows: CodedRows, column: int | None) -> None:
        self.rows = rows
        codes = np.zeros(len(rows.weights), np.int32) if column is None else rows.codes[rows.packing.left[column]]
        self.order: Ints = np.argsort(codes, kind="stable")
        ordered = codes[self.order]
        if column is not None and rows.packing.ways[column] in (EQUALITY_SKIP, ORDER_SKIP):
            start = int(np.searchsorted(ordered, NULL, side="right"))
            self.order, ordered = self.order[start:], ordered[start:]
        # Numbers of single rows, in this order: the last one of each distinct row, and where each group begins.
        self.ends = np.cumsum(rows.weights[self.order])
        firsts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else self.order
        self.starts = (self.ends - rows.weights[self.order])[firsts]
        sizes = np.diff(np.append(self.starts, self.ends[-1:]))
        self.sizes = sizes.astype(np.float64)
        self.upto = np.cumsum(self.sizes * (self.sizes - 1))
        self.pairs = float(self.upto[-1]) if len(self.upto) else 0.0

    def drawn(self, count: int, random: np.random.Generator) -> Counted:
        """So many pairs of different rows of one group, each pair drawn on its own."""
        group = np.searchsorted(self.upto, random.random(count) * self.pairs, side="right")
        group = np.minimum(group, len(self.sizes) - 1)
        size = self.sizes[group].astype(np.int64)
        left = (random.random(count) * size).astype(np.int64)
        right = (random.random(count) * (size - 1)).astype(np.int64)
        right += right >= left  # the second is any row but the first
        start = self.starts[group]
        left, right = (self.order[np.searchsorted(self.ends, start + at, side="right")] for at in (left, right))
        return listed_pairs(self.rows.codes, left, right, self.rows.packing)
