"""Rows found by two inequalities: an index of chains on two columns (IncDC 5.2, 5.3, 6).

Rows equal on both columns share a place. Index(A >, B <) has chains along which A rises and B falls. Whatever the
chains are like, any two inequalities on the two columns are met by one range of each; that chains fit them well only
makes for fewer chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.errors import RunError
from holdfast.kernels.chains import (
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    fewest_chains,
    join_chains,
    met_ranges,
    places_of_rows,
)
from holdfast.rules.relation import GE, GT, LE, LT, swapped
from holdfast.states.segment import Ints, spread

_OPS = {LT: LESS, LE: LESS_EQUAL, GT: GREATER, GE: GREATER_EQUAL}
# How a value stands to others when both are turned round.
_TURNED = {LESS: GREATER, LESS_EQUAL: GREATER_EQUAL, GREATER: LESS, GREATER_EQUAL: LESS_EQUAL}
# Chains that grow are made anew when they are this many times more than the fewest were.
_MORE_CHAINS = 1.5


@dataclass(frozen=True)
class FetchedPairs:
    """Pairs of a row that asks, by its position, and a row of the index, by its id."""

    asking: Ints
    rows: Ints


class ChainIndex:
    """Index(A op, B op) over rows by id. Rows come and go in batches, sorted once each.

    `first` and `second` are the operators of the two columns, one of <, <=, >, >= as relations: a later row of a chain
    stands so to an earlier one, unless both values are equal.
    """

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second
        self._up = [op in (GT, GE) for op in (first, second)]
        self._strict = [op in (LT, GT) for op in (first, second)]
        # Values that rise along chains, and ids, chain by chain.
        self._x = self._y = self._ids = np.zeros(0, np.int64)
        self._starts = np.zeros(1, np.int64)
        self._fewest = 0

    @property
    def rank(self) -> int:
        """How many chains there are."""
        return len(self._starts) - 1

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def chains(self) -> list[list[int]]:
        """The rows of each chain, in order."""
        return [
            self._ids[a:b].tolist() for a, b in zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True)
        ]

    # Rows come and go ---------------------------------------------------------------------------------------------

    def add(self, a: Ints, b: Ints, rows: Ints) -> None:
        """The rows, with these values, are in the index; where it was empty, in the fewest chains possible. Cost of
        others: a search in each chain per row, and a copy of the index."""
        if len(rows) == 0:
            return
        x, y = self._turned(a, b)
        if self.rank == 0:
            self._build(x, y, rows)
            return
        order = np.lexsort((y, x))
        x, y, rows = x[order], y[order], rows[order]
        joined, at, chains = join_chains(self._x, self._y, self._starts, x, y, *self._strict)
        # Rows of new chains come after all others, chain by chain.
        by_chain = np.argsort(joined, kind="stable")
        x, y, rows, joined, at = (part[by_chain] for part in (x, y, rows, joined, at))
        self._x, self._y, self._ids = (
            np.insert(own, at, new) for own, new in ((self._x, x), (self._y, y), (self._ids, rows))
        )
        sizes = np.zeros(chains, np.int64)
        sizes[: self.rank] = np.diff(self._starts)
        sizes += np.bincount(joined, minlength=chains)
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if self.rank > _MORE_CHAINS * self._fewest + 8:
            self._build(self._x, self._y, self._ids)

    def remove(self, a: Ints, b: Ints, rows: Ints) -> None:
        """The rows, which have these values, are gone; chains stay sorted without them."""
        x, y = self._turned(a, b)
        at = places_of_rows(self._x, self._y, self._ids, self._starts, x, y, rows)
        if (at < 0).any():
            raise RunError(f"row {rows[at < 0][0]} is to go from an index that does not have it.")
        kept = np.ones(len(self._ids), np.bool_)
        kept[at] = False
        before = np.concatenate([[0], np.cumsum(kept)])
        ends = before[self._starts]
        self._x, self._y, self._ids = self._x[kept], self._y[kept], self._ids[kept]
        self._starts = np.unique(ends).astype(np.int64)

    def _turned(self, a: Ints, b: Ints) -> tuple[Ints, Ints]:
        """Values that rise along chains."""
        return (a if self._up[0] else ~a), (b if self._up[1] else ~b)

    def _build(self, x: Ints, y: Ints, rows: Ints) -> None:
        order = np.lexsort((y, x))
        x, y, rows = x[order], y[order], rows[order]
        new = np.ones(len(x), np.bool_)
        new[1:] = (x[1:] != x[:-1]) | (y[1:] != y[:-1])
        chains, count = fewest_chains(x[new], y[new], x_strictly=self._strict[0], y_strictly=self._strict[1])
        of_rows = chains[np.cumsum(new) - 1]
        order = np.argsort(of_rows, kind="stable")
        self._x, self._y, self._ids = x[order], y[order], rows[order]
        self._starts = np.searchsorted(of_rows[order], np.arange(count + 1)).astype(np.int64)
        self._fewest = count

    # Rows that are asked for --------------------------------------------------------------------------------------

    def fetch(self, a: Ints, b: Ints, op_a: int, op_b: int) -> FetchedPairs:
        """All rows t of the index with s.A op_a t.A and s.B op_b t.B, for each row s that asks with values a, b.

        Operators are relations: <, <=, >, >=, whatever those of the index are (IncDC 6.2). Values of other columns may
        ask, too, as comparisons across columns want it (Fetch+).
        """
        begin, end = self._ranges(a, b, op_a, op_b)
        asking = np.repeat(np.repeat(np.arange(len(a)), self.rank), end - begin)
        return FetchedPairs(asking, self._ids[spread(begin, end)])

    def count(self, a: Ints, b: Ints, op_a: int, op_b: int) -> int:
        """How many `fetch` would find."""
        begin, end = self._ranges(a, b, op_a, op_b)
        return int((end - begin).sum())

    def _ranges(self, a: Ints, b: Ints, op_a: int, op_b: int) -> tuple[Ints, Ints]:
        x, y = self._turned(a, b)
        ops = [_OPS[op] if up else _TURNED[_OPS[op]] for op, up in zip((op_a, op_b), self._up, strict=True)]
        begin, end = met_ranges(self._x, self._y, self._starts, x, y, ops[0], ops[1])
        return begin.ravel(), end.ravel()

    def fetch_backward(self, a: Ints, b: Ints, op_a: int, op_b: int) -> FetchedPairs:
        """All rows t with t.A op_a s.A and t.B op_b s.B: `fetch` the other way round."""
        return self.fetch(a, b, swapped(op_a), swapped(op_b))

    def assert_invariants(self) -> None:
        """Chains follow each other without a gap, none is empty, and along each both values rise, or stay both."""
        assert self._starts[0] == 0
        assert self._starts[-1] == len(self._x) == len(self._y) == len(self._ids)
        assert (np.diff(self._starts) > 0).all(), "no chain is empty"
        assert len(np.unique(self._ids)) == len(self._ids), "a row is in one place"
        within = np.ones(max(len(self._x) - 1, 0), np.bool_)
        within[self._starts[1:-1] - 1] = False
        rises, stays = np.ones(len(within), np.bool_), np.ones(len(within), np.bool_)
        for values, strict in zip((self._x, self._y), self._strict, strict=True):
            rises &= values[1:] > values[:-1] if strict else values[1:] >= values[:-1]
            stays &= values[1:] == values[:-1]
        assert (rises | stays)[within].all(), "a chain rises in both values"
        places = {(x, y): c for c in range(self.rank) for x, y in self._chain_places(c)}
        assert len(places) == sum(len(set(self._chain_places(c))) for c in range(self.rank)), "equal rows share a place"

    def _chain_places(self, chain: int) -> list[tuple[int, int]]:
        part = slice(self._starts[chain], self._starts[chain + 1])
        return list(zip(self._x[part].tolist(), self._y[part].tolist(), strict=True))
