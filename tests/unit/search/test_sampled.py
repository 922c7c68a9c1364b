"""Evidence of pairs drawn at random stands for that of all pairs."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from holdfast.encode.column_type import column_type
from holdfast.kernels.evidence import all_pairs
from holdfast.search.coded_rows import CodedRows, coded_rows
from holdfast.search.find import find
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult
from holdfast.search.sampled import interval, sampled_evidence
from ticking_clock import clock_of_looks

TYPES = {name: column_type("bigint") for name in ("zip", "city", "salary")}


def table(rows: int = 400, wrong: int = 4) -> pa.Table:
    """zip gives city but for a few rows, and rows repeat."""
    rng = np.random.default_rng(2)
    zips = rng.integers(0, 12, rows)
    city = zips // 2
    city[:wrong] = 9
    return pa.table({"zip": zips, "city": city, "salary": rng.integers(0, 5, rows)})


def options(**more: object) -> DiscoverOptions:
    return DiscoverOptions(cross_columns=None, **more)  # type: ignore[arg-type]


def rows_of(made: pa.Table) -> CodedRows:
    return coded_rows(made, TYPES, options())


def test_pairs_are_drawn_as_they_are_in_the_table() -> None:
    rows = rows_of(table())
    assert len(rows.weights) < rows.rows
    few, drawn = sampled_evidence(rows, seed=1, threads=2, limits=SearchLimits(sampled_pairs=600_000))
    assert (drawn, few.pairs) == (600_000, 1_200_000)
    everything = rows.evidence(all_pairs(rows.codes, rows.weights, rows.packing))
    assert np.array_equal(few.words, everything.words)
    ratio = (few.counts / few.pairs) / (everything.counts / everything.pairs)
    assert ((ratio > 0.85) & (ratio < 1.15))[everything.counts > 500].all()


def test_what_drawn_pairs_support_is_said_of_all_pairs() -> None:
    """Every pair differs in the key, so that every pair supports that it is one."""
    rows, limits = 400, SearchLimits(sampled_pairs=5_000)
    made = pa.table({"zip": np.arange(rows)})
    result = find(made, {"zip": TYPES["zip"]}, options(strategy="hybrid", error=Decimal("0.01"), limits=limits))
    (key,) = [found for found in ranked(result) if str(found.constraint) == "not(t.zip = s.zip)"]
    assert result.sampled == 5_000
    assert (key.support, key.coverage) == (rows * (rows - 1), 1.0)


def test_the_seed_decides_not_the_threads() -> None:
    limits = SearchLimits(sampled_pairs=5_000, drawn_at_once=1_000)
    one, two, other = (
        sampled_evidence(rows_of(table()), seed=s, threads=t, limits=limits)[0] for s, t in ((1, 1), (1, 2), (2, 1))
    )
    assert np.array_equal(one.counts, two.counts)
    assert not np.array_equal(one.counts, other.counts)


@pytest.fixture
def found() -> SearchResult:
    limits = SearchLimits(sampled_pairs=60_000)
    return find(table(), TYPES, options(error=Decimal("0.01"), strategy="hybrid", limits=limits))


def test_a_sampled_search_says_so_and_gives_intervals(found: SearchResult) -> None:
    assert (found.strategy, found.sampled, found.exact, found.complete) == ("sample", 60_000, False, False)
    assert "60,000 of 79,800 pairs" in str(found.why)
    rules = {str(one.rule): one for one in ranked(found)}
    exact = find(table(), TYPES, options(error=Decimal("0.01")))
    assert exact.complete
    wanted = {str(one.rule): one for one in ranked(exact)}
    city = rules["zip -> city"]
    assert city.interval is not None
    assert city.suspect_rows is None
    low, high = city.interval
    assert low < 2 * (wanted["zip -> city"].violating_pairs or 0) / (400 * 399) < high
    assert city.support == pytest.approx(wanted["zip -> city"].support, rel=0.1)
    assert city.rule.allow_pairs is not None
    assert str(city.rule.allow_pairs) == "1%"


def test_small_tables_are_not_sampled() -> None:
    found = find(table(), TYPES, options(error=Decimal("0.01"), strategy="hybrid"))
    assert (found.strategy, found.sampled, found.complete) == ("all-pairs", None, True)


def test_intervals_hold_the_truth_most_of_the_time() -> None:
    rng = np.random.default_rng(3)
    for share in (0.0005, 0.02, 0.5):
        shown = rng.binomial(10_000, share, 1_000) / 10_000
        inside = [low <= share <= high for low, high in (interval(s, 10_000) for s in shown.tolist())]
        assert 0.92 < sum(inside) / 1_000 < 0.98
    assert interval(0.0, 1_000)[0] == 0.0
    assert 0.003 < interval(0.0, 1_000)[1] < 0.005


def test_with_little_time_fewer_pairs_are_drawn_the_first_ones_of_all() -> None:
    rows = rows_of(table())
    wanted = SearchLimits(sampled_pairs=20_000, drawn_at_once=1_000)
    few, drawn = sampled_evidence(rows, seed=1, threads=2, limits=wanted, clock=clock_of_looks(16))
    assert 1_000 < drawn < 20_000
    assert few.pairs == 2 * drawn
    limits = SearchLimits(sampled_pairs=drawn, drawn_at_once=1_000)
    same, pairs = sampled_evidence(rows, seed=1, threads=1, limits=limits)
    assert pairs == drawn
    assert np.array_equal(few.words, same.words)
    assert np.array_equal(few.counts, same.counts)
    _, least = sampled_evidence(rows, seed=1, threads=1, limits=wanted, clock=clock_of_looks(1))
    assert least == 1_000, "some are needed to say anything"
