"""How likely a rule is an accident: no lower than shuffling columns shows, and low for laws."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import exp, inf
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.rules.relation import ANY
from holdfast.search.accident import _Believing, _Said, with_accidents
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import coded_rows
from holdfast.search.find import find
from holdfast.search.invert import allowed_relations
from holdfast.search.options import DiscoverOptions
from holdfast.search.score import scored
from holdfast.search.space import as_masks

TYPES = {name: column_type("bigint") for name in "abc"}
SHUFFLES = 80


def estimates(columns: Mapping[str, Any], **more: object) -> dict[str, float]:
    """Per rule that was found its estimate."""
    types = {name: column_type("bigint") for name in columns}
    options = DiscoverOptions(**{"top": 100, **more})  # type: ignore[arg-type]
    result = find(pa.table(columns), types, options)
    assert result.accidents is not None
    rules = [result.space.constraint(mask) for mask in as_masks(result.masks)]
    return {str(rule): accident for rule, accident in zip(rules, result.accidents.tolist(), strict=True)}


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(5, 9),
    sizes=st.tuples(st.integers(2, 4), st.integers(2, 4), st.integers(2, 4)),
    seed=st.integers(0, 10_000),
    cross=st.sampled_from([None, 0.3]),
)
def test_no_rule_holds_much_more_often_than_is_said(
    rows: int, sizes: tuple[int, int, int], seed: int, cross: float | None
) -> None:
    """For each rule found, each of its columns is shuffled many times, and reference.py says how often it holds."""
    random = np.random.default_rng(seed)
    columns = {name: random.integers(0, size, rows) for name, size in zip(TYPES, sizes, strict=True)}
    options = DiscoverOptions(cross_columns=cross, max_predicates=3)
    coded = coded_rows(pa.table(columns), TYPES, options)
    result = find(pa.table(columns), TYPES, options)
    if not len(result.masks):
        return
    believing = _Believing(coded, result, options, Clock(None))
    allowed, by_score = allowed_relations(result.space, result.masks), scored(result)
    for which in by_score.order[:3].tolist():
        said = [_Said(result.space.pairs[i], int(allowed[which][i])) for i in np.flatnonzero(allowed[which] != ANY)]
        if len(said) == 1:
            continue
        names = sorted(set().union(*(one.columns for one in said)))
        chance = exp(believing._log_chance(said, names, believing.few, holds=True, surely=inf))
        rule = result.space.constraint(as_masks(result.masks)[which])
        held = []
        for name in names:
            count = 0
            for _ in range(SHUFFLES):
                mixed = {**columns, name: random.permutation(columns[name])}
                table = [dict(zip(mixed, map(int, row), strict=True)) for row in zip(*mixed.values(), strict=True)]
                count += not any(
                    reference.violates(rule, t, s, "sql")
                    for i, t in enumerate(table)
                    for j, s in enumerate(table)
                    if i != j
                )
            held.append(count / (SHUFFLES))
        # Sets that share no row are not quite independent in a table of few rows.
        assert chance >= 0.7 * max(held) - 0.15, (rule, chance, held)


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    rows=st.integers(4, 40),
    sizes=st.tuples(st.integers(1, 6), st.integers(2, 8), st.integers(2, 30)),
    seed=st.integers(0, 10_000),
    cross=st.sampled_from([None, 0.3]),
    way=st.sampled_from(["all-pairs", "hybrid"]),
    missing=st.sampled_from([0.0, 0.2]),
)
def test_what_all_pairs_could_tell_is_no_less_than_what_rows_tell(
    rows: int, sizes: tuple[int, int, int], seed: int, cross: float | None, way: Any, missing: float
) -> None:
    """Where a rule is taken for an accident without looking at rows, looking at them would say so."""
    random = np.random.default_rng(seed)
    table = pa.table(
        {
            name: pa.array(random.integers(0, size, rows), mask=random.random(rows) < missing)
            for name, size in zip(TYPES, sizes, strict=True)
        }
    )
    options = DiscoverOptions(cross_columns=cross, max_predicates=3, strategy=way)
    coded, result = coded_rows(table, TYPES, options), find(table, TYPES, options)
    believing = _Believing(coded, result, options, Clock(None))
    for allowed in allowed_relations(result.space, result.masks):
        said = [_Said(result.space.pairs[i], int(allowed[i])) for i in np.flatnonzero(allowed != ANY)]
        if len(said) == 1:
            continue
        names = sorted(set().union(*(one.columns for one in said)))
        least = max(believing._least_log_chance(said, name) for name in names)
        chance = believing._log_chance(said, names, believing.few, holds=True, surely=inf)
        # Beside nulls a column has not quite the values of the rows that are looked at.
        assert least == -inf or chance >= (1 + 2 * missing) * least - 1e-9 - 5 * missing, said


def test_a_law_is_no_accident_and_a_coincidence_is_one() -> None:
    random = np.random.default_rng(1)
    zips = random.integers(0, 12, 200)
    found = estimates({"zip": zips, "city": zips // 3, "noise": random.integers(0, 60, 200)}, cross_columns=None)
    assert found["not(t.zip = s.zip and t.city != s.city)"] < 1e-9
    few = estimates({"a": [1, 1, 2, 3, 4], "b": [1, 1, 0, 2, 0]}, cross_columns=None)
    assert few["not(t.a = s.a and t.b != s.b)"] == 1.0


def test_one_exception_more_makes_an_accident_no_less_likely() -> None:
    """A rule that some pairs break is held against how many shuffles break as few."""
    random = np.random.default_rng(2)
    zips = random.integers(0, 12, 300)
    city = zips // 3
    city[0] = 9
    found = estimates({"zip": zips, "city": city}, cross_columns=None, error=0.01)
    assert found["not(t.zip = s.zip and t.city != s.city)"] < 0.01
    by_rows = estimates({"zip": zips, "city": city}, cross_columns=None, error_rows=Decimal("0.01"))
    assert by_rows["not(t.zip = s.zip and t.city != s.city)"] < 0.01
    nonsense = estimates({"zip": zips, "noise": random.integers(0, 2, 300)}, cross_columns=None, error=0.07)
    assert nonsense["not(t.zip = s.zip and t.noise != s.noise)"] == 1.0


def test_a_key_counts_by_how_many_values_it_could_have_had() -> None:
    numbers = list(range(50))
    assert estimates({"id": numbers})["not(t.id = s.id)"] < 1e-9
    random = np.random.default_rng(3)
    amounts = random.choice(100_000, 20, replace=False).tolist()
    assert 0.1 < estimates({"amount": amounts})["not(t.amount = s.amount)"] <= 1.0
    wide = random.choice(2**60, 20, replace=False).tolist()
    assert estimates({"random": wide})["not(t.random = s.random)"] < 1e-6


def test_what_speaks_of_one_column_or_two_as_wholes_has_no_estimate() -> None:
    found = estimates({"a": [1, 2, 3, 1], "b": [7, 7, 7, 7]}, cross_columns=0.0)
    assert np.isnan(found["not(t.b != s.b)"])


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_rows_beyond_those_looked_at_change_little(nulls: str) -> None:
    random = np.random.default_rng(4)
    zips = random.integers(0, 200, 60_000)
    found = estimates({"zip": zips, "city": zips // 3}, cross_columns=None, nulls=nulls)
    assert found["not(t.zip = s.zip and t.city != s.city)"] < 1e-9


def test_the_estimate_does_not_change_what_was_found() -> None:
    table, options = pa.table({"a": [1, 1, 2], "b": [1, 1, 3]}), DiscoverOptions(cross_columns=None)
    rows = coded_rows(table, {name: TYPES[name] for name in "ab"}, options)
    result = find(table, {name: TYPES[name] for name in "ab"}, options)
    again = with_accidents(rows, result, options, Clock(None))
    assert again.masks is result.masks
    assert again.accidents is not None
    assert again.accidents.tolist() == pytest.approx(result.accidents.tolist(), nan_ok=True)  # type: ignore[union-attr]
