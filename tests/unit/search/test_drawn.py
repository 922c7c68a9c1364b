"""What drawn pairs say of all pairs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from holdfast.encode.column_type import column_type
from holdfast.kernels.evidence import CountingEnded, CountingLimits, all_pairs
from holdfast.rules.relation import EQ
from holdfast.search.coded_rows import CodedRows, coded_rows
from holdfast.search.drawn import drawn_evidence
from holdfast.search.find import find
from holdfast.search.invert import allowed_relations
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions

TYPES = {name: column_type("bigint") for name in ("key", "place", "region", "level")}


def rows_of(n: int, *, missing: float = 0.0, seed: int = 3) -> tuple[pa.Table, CodedRows]:
    random = np.random.default_rng(seed)
    place = random.integers(0, n // 4, n)
    values = {"key": np.arange(n), "place": place, "region": place % 5, "level": random.integers(0, 30, n)}
    table = pa.table({name: pa.array(v, mask=random.random(n) < missing) for name, v in values.items()})
    return table, coded_rows(table, TYPES, DiscoverOptions(cross_columns=None))


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_drawn_pairs_count_as_all_pairs_do(missing: float) -> None:
    _, rows = rows_of(600, missing=missing)
    exact = rows.evidence(all_pairs(rows.codes, rows.weights, rows.packing))
    drawn = drawn_evidence(rows, range(4), pairs=40_000, seed=1)
    assert abs(drawn.pairs / exact.pairs - 1) < 0.02

    def agreeing(words: np.ndarray, counts: np.ndarray, pair: int) -> int:
        return int(counts[allowed_relations(rows.space, words)[:, pair] == EQ].sum())

    # Two rows in six hundred pairs share a place: of pairs drawn from all alone, too few would.
    for pair in (1, 2, 3):
        estimated, counted = (agreeing(e.words, e.counts, pair) for e in (drawn, exact))
        assert abs(estimated / counted - 1) < 0.05
    assert {word.tobytes() for word in drawn.words} <= {word.tobytes() for word in exact.words}


def test_a_table_of_one_row_has_no_pairs_to_draw() -> None:
    _, rows = rows_of(8)
    one = CodedRows(rows.space, rows.packing, rows.shown, rows.codes[:, :1], rows.weights[:1])
    assert len(drawn_evidence(one, range(4), pairs=100, seed=1)) == 0


def test_counting_ends_with_too_many_kinds_and_when_time_is_up() -> None:
    _, rows = rows_of(600)
    for limits, out_of_time in (
        (CountingLimits(most_kinds=3, keys=16), False),
        (CountingLimits(over=lambda: True), True),
    ):
        with pytest.raises(CountingEnded) as ended:
            all_pairs(rows.codes, rows.weights, rows.packing, limits=limits)
        assert ended.value.out_of_time == out_of_time


def test_many_kinds_of_evidence_are_drawn_and_few_are_all_counted() -> None:
    table, _ = rows_of(600)
    few = SearchLimits(evidence_words=20, small_work=0)
    assert find(table, TYPES, DiscoverOptions(top=5, limits=few)).strategy == "hybrid"
    assert find(table, TYPES, DiscoverOptions(top=5)).strategy == "all-pairs"
    assert find(table, TYPES, DiscoverOptions(limits=few)).strategy == "all-pairs"


def test_too_many_pairs_of_columns_are_cut_and_told() -> None:
    table, _ = rows_of(200)
    limits = SearchLimits(compared_pairs=1)
    options = DiscoverOptions(top=5, limits=limits, cross_columns=0.3)
    found = find(table, TYPES, options)
    assert sum(not pair.same_column for pair in found.space.pairs) == 2
    assert not found.complete
    assert found.why is not None
    assert "pairs of columns that share values" in found.why
    everything = find(table, TYPES, DiscoverOptions(limits=limits, cross_columns=0.3))
    assert sum(not pair.same_column for pair in everything.space.pairs) > 2
    assert everything.complete
