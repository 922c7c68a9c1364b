"""Both strategies of a discovery find the same constraints on tables too large for the reference."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from holdfast.encode.column_type import ColumnType, column_type
from holdfast.rules.rule import Nulls
from holdfast.search.find import find
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import SearchResult

TYPES: dict[str, ColumnType] = {
    "zip": column_type("bigint"),
    "city": column_type("string"),
    "state": column_type("string"),
    "code": column_type("int"),
    "salary": column_type("bigint"),
    "rate": column_type("double"),
    "child": column_type("boolean"),
    "exempt": column_type("bigint"),
}


def tax_records(n: int, seed: int, *, missing: float) -> pa.Table:
    """Zip determines city and state but for an error or two, code is state by another name, rate rises with salary
    within a state, only those with a child are exempt; some rows occur twice."""
    random = np.random.default_rng(seed)
    zips = random.integers(0, 300, n)
    state = zips % 7
    salary = random.integers(10, 90, n)
    child = random.integers(0, 2, n)
    city = zips // 2
    city[random.integers(0, n, 2)] = 1
    columns = {
        "zip": zips,
        "city": np.array([f"c{v}" for v in city]),
        "state": np.array([f"s{v}" for v in state]),
        "code": state + 100,
        "salary": salary,
        "rate": salary // 10 + state / 10,
        "child": child.astype(bool),
        "exempt": np.where(child == 1, state * 5 % 20, 0),
    }
    kinds = (pa.int64(), pa.string(), pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.int64())
    table = pa.table(
        {
            name: pa.array(values, kind, mask=random.random(n) < missing)
            for (name, values), kind in zip(columns.items(), kinds, strict=True)
        }
    )
    return pa.concat_tables([table, table.slice(0, n // 10)])


def found(table: pa.Table, strategy: str, nulls: Nulls, **options: object) -> SearchResult:
    asked = DiscoverOptions(strategy=strategy, nulls=nulls, **options)  # type: ignore[arg-type]
    return find(table, TYPES, asked, threads=2)


@pytest.mark.parametrize("walk", [0, 10**9], ids=["walks", "meetings"])
@pytest.mark.parametrize(("nulls", "missing"), [("sql", 0.0), ("sql", 0.02), ("equal", 0.02)])
@pytest.mark.parametrize("cross", [None, 0.3])
def test_the_hybrid_finds_what_all_pairs_find(walk: int, nulls: Nulls, missing: float, cross: float | None) -> None:
    # A sample so small that candidates are mostly wrong at first, and each way of completing them on its own.
    small = SearchLimits(
        sampled_rows=30, windowed_rows=60, cheap_pairs_per_row=-1, walk_pairs_per_row=walk, pairs_per_candidate=8,
        first_rows=20, more_rows=3,
    )  # fmt: skip
    table = tax_records(400, 3, missing=missing)
    options = {"cross_columns": cross, "max_predicates": 4 if cross is None else 3, "limits": small}
    exact, completed = (found(table, strategy, nulls, **options) for strategy in ("all-pairs", "hybrid"))
    assert len(exact.masks) > 10
    assert exact.space == completed.space
    assert exact.complete
    assert completed.complete
    np.testing.assert_array_equal(exact.masks, completed.masks)
    assert exact.exact
    assert not completed.exact
    assert completed.evidence.pairs > 0


def test_a_search_out_of_time_returns_only_what_holds() -> None:
    table = tax_records(3_000, 5, missing=0.0)
    everything = {line.tobytes() for line in found(table, "all-pairs", "sql", cross_columns=None).masks}
    for strategy in ("all-pairs", "hybrid"):
        stopped = found(table, strategy, "sql", cross_columns=None, time_limit=1e-6)
        assert not stopped.complete
        assert stopped.why is not None
        assert "time limit" in stopped.why
        assert {line.tobytes() for line in stopped.masks} <= everything
