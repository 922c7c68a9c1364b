"""The indexes that serve a set of rules, kept while rows come and go: which pairs could break a rule is looked up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.evolving.chain_index import ChainIndex, FetchedPairs
from holdfast.evolving.changed_evidence import KeptRows
from holdfast.evolving.select_index import (
    ColumnStatistics,
    Equality,
    Inequalities,
    Selection,
    SelectOptions,
    select_index,
)
from holdfast.rules.relation import swapped
from holdfast.rules.rule import Nulls
from holdfast.search.space import PredicateSpace, Words
from holdfast.states.segment import Bools, Ints, spread

# Scores are estimated on so many rows.
SAMPLED_ROWS = 10_000


class EqualityIndex:
    """Rows by the value of one column; where nulls equal each other, those without one too."""

    def __init__(self) -> None:
        self._codes = self._ids = self._nulls = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._ids) + len(self._nulls)

    def add(self, codes: Ints, valid: Bools, rows: Ints) -> None:
        order = np.argsort(codes[valid], kind="stable")
        codes, rows_with = codes[valid][order], rows[valid][order]
        at = np.searchsorted(self._codes, codes, "right")
        self._codes, self._ids = np.insert(self._codes, at, codes), np.insert(self._ids, at, rows_with)
        self._nulls = np.concatenate([self._nulls, rows[~valid]])

    def remove(self, rows: Ints) -> None:
        kept = ~np.isin(self._ids, rows)
        self._codes, self._ids = self._codes[kept], self._ids[kept]
        self._nulls = self._nulls[~np.isin(self._nulls, rows)]

    def _ranges(self, codes: Ints, valid: Bools) -> tuple[Ints, Ints]:
        start, end = np.searchsorted(self._codes, codes, "left"), np.searchsorted(self._codes, codes, "right")
        return start, np.where(valid, end, start)

    def count(self, codes: Ints, valid: Bools, nulls: Nulls) -> int:
        """How many `fetch` would find."""
        start, end = self._ranges(codes, valid)
        without = int((~valid).sum()) if nulls == "equal" else 0
        return int((end - start).sum()) + without * len(self._nulls)

    def fetch(self, codes: Ints, valid: Bools, nulls: Nulls) -> FetchedPairs:
        """All rows of the index with the values of rows that ask."""
        start, end = self._ranges(codes, valid)
        asking, rows = np.repeat(np.arange(len(codes)), end - start), self._ids[spread(start, end)]
        if nulls == "equal" and not valid.all():
            without = np.flatnonzero(~valid)
            asking = np.concatenate([asking, np.repeat(without, len(self._nulls))])
            rows = np.concatenate([rows, np.tile(self._nulls, len(without))])
        return FetchedPairs(asking, rows)

    def assert_invariants(self) -> None:
        assert len(self._codes) == len(self._ids)
        assert (self._codes[1:] >= self._codes[:-1]).all(), "values are in order"


class RuleIndexes:
    """Indexes over the rows of a table, by id, that cover its rules. What rules need that is not there is built, and
    what none needs any more is dropped, when rules change."""

    def __init__(self, space: PredicateSpace, nulls: Nulls, options: SelectOptions) -> None:
        self._space, self._nulls, self._options = space, nulls, options
        self._equalities: dict[str, EqualityIndex] = {}
        self._chains: dict[tuple[str, str, int, int], ChainIndex] = {}
        self.selection = Selection((), ())

    def __len__(self) -> int:
        return len(self._equalities) + len(self._chains)

    def serve(self, masks: Words, table: KeptRows, ids: Ints, coming: KeptRows) -> None:
        """The indexes cover these rules, for all rows of the table and those that come next."""
        about = statistics(self._space, table, coming)
        self.selection = select_index(self._space, masks, self._nulls, about, self._options)
        equalities, chains = self._needed()
        self._equalities = {name: self._equalities.get(name) or EqualityIndex() for name in equalities}
        self._chains = {key: self._chains.get(key) or ChainIndex(*key[2:]) for key in chains}
        for name, index in self._equalities.items():
            if not len(index):
                index.add(table.codes[name], table.valid[name], ids)
        for key, chain in self._chains.items():
            if not len(chain):
                _add(chain, key, table, ids)

    def _needed(self) -> tuple[list[str], list[tuple[str, str, int, int]]]:
        equalities: dict[str, None] = {}
        chains: dict[tuple[str, str, int, int], None] = {}
        for chosen in self.selection.chosen:
            if isinstance(chosen, Equality):
                pair = self._space.pairs[chosen.pair]
                equalities |= {pair.left.name: None, pair.right.name: None}
            else:
                chains |= dict.fromkeys(self._keys(chosen).values())
        return list(equalities), list(chains)

    def _keys(self, chosen: Inequalities) -> dict[str, tuple[str, str, int, int]]:
        """The chains that rows on the right are found by, and rows on the left."""
        first_pair, second_pair = (self._space.pairs[i] for i in chosen.pairs)
        first, second = chosen.ops
        return {
            "s": (first_pair.right.name, second_pair.right.name, first, second),
            "t": (first_pair.left.name, second_pair.left.name, first, second),
        }

    def add(self, rows: KeptRows, ids: Ints) -> None:
        """Rows have come."""
        for name, index in self._equalities.items():
            index.add(rows.codes[name], rows.valid[name], ids)
        for key, chain in self._chains.items():
            _add(chain, key, rows, ids)

    def remove(self, rows: KeptRows, ids: Ints) -> None:
        """Rows have gone."""
        for index in self._equalities.values():
            index.remove(ids)
        for key, chain in self._chains.items():
            there = rows.valid[key[0]] & rows.valid[key[1]]
            chain.remove(rows.codes[key[0]][there], rows.codes[key[1]][there], ids[there])

    def named(self, rows: KeptRows) -> int:
        """How many pairs the indexes name for these rows, some of them several times. Cost: searches, no lists."""
        total = 0
        for index, codes, valid in self._equality_lookups(rows):
            total += index.count(codes, valid, self._nulls)
        for chain, a, b, ops, _ in self._chain_lookups(rows):
            total += chain.count(a, b, *ops)
        return total

    def let_through(self, rows: KeptRows) -> FetchedPairs:
        """All pairs of one of the rows and one of the table that could break a rule, in either order, each once."""
        parts = [FetchedPairs(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        parts += [index.fetch(codes, valid, self._nulls) for index, codes, valid in self._equality_lookups(rows)]
        for chain, a, b, ops, there in self._chain_lookups(rows):
            fetched = chain.fetch(a, b, *ops)
            parts.append(FetchedPairs(there[fetched.asking], fetched.rows))
        asking, ids = np.concatenate([p.asking for p in parts]), np.concatenate([p.rows for p in parts])
        base = max(int(ids.max(initial=-1)) + 1, 1)
        once = np.unique(asking * base + ids)
        return FetchedPairs(once // base, once % base)

    def _equality_lookups(self, rows: KeptRows) -> Iterator[tuple[EqualityIndex, Ints, Bools]]:
        """The indexes to look in, each with the values to look up."""
        for chosen in self.selection.chosen:
            if isinstance(chosen, Equality):
                pair = self._space.pairs[chosen.pair]
                left, right = pair.left.name, pair.right.name
                yield self._equalities[right], rows.codes[left], rows.valid[left]
                if left != right:
                    yield self._equalities[left], rows.codes[right], rows.valid[right]

    def _chain_lookups(self, rows: KeptRows) -> Iterator[tuple[ChainIndex, Ints, Ints, tuple[int, int], Ints]]:
        """The indexes to look in, each with values, operators, and the rows that have both values."""
        for chosen in self.selection.chosen:
            if isinstance(chosen, Equality):
                continue
            first_pair, second_pair = (self._space.pairs[i] for i in chosen.pairs)
            keys = self._keys(chosen)
            for ops in chosen.wanted:
                backward = swapped(ops[0]), swapped(ops[1])
                for side, names, used in (
                    ("s", (first_pair.left.name, second_pair.left.name), ops),
                    ("t", (first_pair.right.name, second_pair.right.name), backward),
                ):
                    there = np.flatnonzero(rows.valid[names[0]] & rows.valid[names[1]])
                    a, b = (rows.codes[name][there] for name in names)
                    yield self._chains[keys[side]], a, b, used, there

    def assert_invariants(self) -> None:
        indexes: list[EqualityIndex | ChainIndex] = [*self._equalities.values(), *self._chains.values()]
        for index in indexes:
            index.assert_invariants()


def _add(chain: ChainIndex, key: tuple[str, str, int, int], rows: KeptRows, ids: Ints) -> None:
    there = rows.valid[key[0]] & rows.valid[key[1]]
    chain.add(rows.codes[key[0]][there], rows.codes[key[1]][there], ids[there])


def statistics(space: PredicateSpace, rows: KeptRows, coming: KeptRows, *, seed: int = 1) -> ColumnStatistics:
    """What a sample of the rows says of the columns, and whether they or those that come have nulls."""
    drawn = np.random.default_rng(seed).permutation(rows.size)[:SAMPLED_ROWS]
    sample = rows.take(np.sort(drawn))
    distinct = {name: len(np.unique(sample.codes[name])) / max(sample.size, 1) for name in space.columns}
    ordered = list(dict.fromkeys(c.name for p in space.pairs if p.ordered for c in (p.left, p.right)))
    correlation = {(a, b): correlated(sample, a, b) for i, a in enumerate(ordered) for b in ordered[i + 1 :]}
    whole = {name for name in space.columns if bool(rows.valid[name].all()) and bool(coming.valid[name].all())}
    return ColumnStatistics(distinct, frozenset(space.columns) - whole, correlation)


def correlated(rows: KeptRows, a: str, b: str) -> float:
    """How two columns correlate, from -1 to 1, by their codes: of whole numbers these are the values."""
    there = rows.valid[a] & rows.valid[b]
    x, y = (rows.codes[name][there].astype(np.float64) for name in (a, b))
    if len(x) == 0:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x * x).sum()) * np.sqrt((y * y).sum()))
    return float((x * y).sum()) / size if size else 0.0
