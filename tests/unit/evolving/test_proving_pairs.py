"""Rules of a table whose rows go are those that a search from nothing finds, by few pairs of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.evolving import proving_pairs
from holdfast.evolving.outcome import RulesChange
from holdfast.evolving.proving_pairs import ProvingPairs
from holdfast.evolving.rule_keeper import RuleKeeper
from holdfast.search.find import find
from holdfast.search.limits import SearchLimits
from holdfast.search.options import discover_options
from holdfast.search.space import as_masks

OPTIONS: dict[str, Any] = {"exclude": ("id",), "cross_columns": "off", "max_predicates": 3}


def rows(random: np.random.Generator, ids: list[int]) -> pa.Table:
    """A zip has a city but for few rows, and b mostly rises with a: rules come and go with single rows."""
    size = len(ids)
    zips, a = random.integers(0, 40, size), random.integers(0, 90, size)
    wrong = random.random(size) < 0.007
    city = np.where(wrong, random.integers(0, 9, size), zips // 5)
    return pa.table(
        {
            "id": ids,
            "zip": pa.array(zips, mask=random.random(size) < 0.01),
            "city": [f"c{c}" for c in city.tolist()],
            "a": a,
            "b": a // 3 + np.where(random.random(size) < 0.007, 9, 0),
            "c": random.integers(0, 5, size),
        }
    )


def found(table: pa.Table, nulls: str) -> set[str]:
    names = [name for name in table.column_names if name != "id"]
    types = {name: arrow_column_type(table.schema.field(name).type) for name in names}
    options = discover_options(cross_columns="off", max_predicates=3, nulls=nulls, strategy="all-pairs")
    result = find(table.select(names), types, options)
    return {str(result.space.constraint(mask)) for mask in as_masks(result.masks)}


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize(("seed", "drawn"), [(1, 400_000), (2, 100)])
def test_rows_go_and_come_by_pairs_that_prove_rules(
    monkeypatch: pytest.MonkeyPatch, nulls: str, seed: int, drawn: int
) -> None:
    for name, value in (("_DRAWN", drawn), ("_FEW_ROWS", 50), ("_ORDERED_ROWS", 40), ("_AT_ONCE", 16)):
        monkeypatch.setattr(proving_pairs, name, value)
    random = np.random.default_rng(seed)
    there = dict(enumerate(rows(random, list(range(200))).to_pylist()))
    schema, fresh = rows(random, [0]).schema, len(there)

    def table() -> pa.Table:
        return pa.Table.from_pylist(list(there.values()), schema)

    limits = SearchLimits(most_named=1e9, most_walks=100_000, most_undecided=100_000)
    keeper = RuleKeeper(table(), key="id", strategy="index", limits=limits, nulls=nulls, **OPTIONS)
    changes: list[RulesChange] = []
    for step in range(6):
        chosen = random.permutation(list(there))[: 30 if step % 2 else 3].tolist()
        gone, updated = chosen[::2], chosen[1::2]
        new = list(range(fresh, fresh + step))
        fresh += step
        batch = []
        for kind, ids in (("insert", new), ("update_postimage", updated), ("delete", gone)):
            for row in rows(random, ids).to_pylist():
                batch.append({**row, "_change_type": kind})
                there |= {row["id"]: row}
        there = {i: row for i, row in there.items() if i not in gone}
        kinds = schema.append(pa.field("_change_type", pa.string()))
        changes.append(keeper.apply(pa.Table.from_pylist(batch, kinds)))
        keeper.assert_invariants()
        assert set(keeper.denials) == found(table(), nulls)
    assert all(change.strategy.startswith("index: ") for change in changes), "no search from nothing"
    assert any(change.added for change in changes), "some rules became more general, or others took their place"
    assert any(change.removed for change in changes)


def test_too_many_walks_are_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving_pairs, "_DRAWN", 20)
    monkeypatch.setattr(proving_pairs, "_ORDERED_ROWS", 20)
    table = rows(np.random.default_rng(4), list(range(300)))
    keeper = RuleKeeper(table, key="id", strategy="index", limits=SearchLimits(most_named=1e9, most_walks=0), **OPTIONS)
    assert keeper.delete(list(range(30))).strategy == "rediscover"
    assert set(keeper.denials) == found(table.slice(30), "sql")


def test_of_pairs_that_show_the_same_some_stay() -> None:
    def pairs(*listed: tuple[int, int, int]) -> ProvingPairs:
        words, left, right = zip(*listed, strict=True)
        return ProvingPairs(np.array(words, np.uint64).reshape(-1, 1), np.array(left), np.array(right))

    together = pairs((5, 1, 2), (6, 1, 3)).plus(pairs((5, 3, 4), (5, 5, 6), (5, 7, 8), (7, 1, 4)))
    assert sorted(zip(together.words[:, 0].tolist(), together.left.tolist(), strict=True)) == [
        (5, 1),
        (5, 3),
        (5, 5),
        (6, 1),
        (7, 1),
    ]
    left = together.without(np.array([1]))
    assert list(zip(left.left.tolist(), left.right.tolist(), strict=True)) == [(3, 4), (5, 6)]
    new = pairs((5, -1, 9), (6, -2, -1)).named(np.array([20, 30]))
    assert (new.left.tolist(), new.right.tolist()) == ([20, 30], [9, 20])
