"""discover over several tables finds the inclusions that reference.py finds by trying them all, and what it shows
holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast import reference
from holdfast.discovery.inclusions import ColumnValues, inclusions
from holdfast.discovery.reference_score import scored
from holdfast.encode.column_type import column_type
from holdfast.search.clock import Clock
from strategies import ARROW, NUMBERS, RandomTable, tables

slowly = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def kinds_of(table: RandomTable) -> dict[str, str]:
    """The columns that may refer or be referred to, with what their values are."""
    compared = {name: "number" if kind in NUMBERS else kind for name, kind in table.types.items()}
    return {name: kind for name, kind in compared.items() if kind not in ("boolean", "binary")}


def arrow_of(table: RandomTable) -> pa.Table:
    return pa.table(
        {name: pa.array([row[name] for row in table.rows], ARROW[kind]) for name, kind in table.types.items()}
    )


@st.composite
def related(draw: st.DrawFn) -> RandomTable:
    """Numbers and texts in few values: pairs of them are keys at times."""
    size = draw(st.integers(1, 6))
    columns: dict[str, tuple[str, list[Any]]] = {}
    for name in ("a", "zip code", "not", "d")[: draw(st.integers(2, 4))]:
        kind = draw(st.sampled_from(["bigint", "bigint", "string", "double"]))
        domains: dict[str, list[Any]] = {"bigint": [1, 2, 3], "string": ["x", "y", ""], "double": [1.0, 2.0, 0.5]}
        values = domains[kind]
        some = values + ([None] if draw(st.integers(0, 3)) == 0 else [])
        columns[name] = (kind, draw(st.lists(st.sampled_from(some), min_size=size, max_size=size)))
    rows = tuple({name: column[i] for name, (_, column) in columns.items()} for i in range(size))
    return RandomTable({name: kind for name, (kind, _) in columns.items()}, rows)


@settings(slowly, max_examples=250)
@given(
    first=tables(max_rows=6) | related() | related(),
    second=tables(max_rows=6) | related() | related(),
    error=st.sampled_from([0.0, 0.0, 0.2, 0.5]),
)
def test_inclusions_match_reference(first: RandomTable, second: RandomTable, error: float) -> None:
    made: Mapping[str, RandomTable] = {"alpha": first, "beta": second}
    columns = {
        name: [
            ColumnValues.of(name, column, column_type(kind), arrow_of(table).column(column))
            for column, kind in table.types.items()
        ]
        for name, table in made.items()
    }
    found = inclusions(columns, error=error, clock=Clock(None))
    kinds = {name: kinds_of(table) for name, table in made.items()}
    wanted = reference.inclusions({name: table.rows for name, table in made.items()}, kinds, error=error)
    assert found.complete
    assert sorted(str(one.body) for one in found.inclusions) == sorted(map(str, wanted))
    for one in found.inclusions:
        rows = made[one.left[0].table].rows
        known = [row for row in rows if all(row[column.name] is not None for column in one.left)]
        assert one.known == len(known)
        assert one.missing <= error * len(rows)
    scores = [score for score, _ in scored(columns, found.inclusions)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@settings(slowly, max_examples=60)
@given(
    first=tables(max_rows=6) | related(), second=tables(max_rows=6) | related(), share=st.sampled_from([None, 0.2, 0.5])
)
def test_all_that_is_shown_holds_in_a_check(first: RandomTable, second: RandomTable, share: float | None) -> None:
    data = {"alpha": arrow_of(first), "beta": arrow_of(second)}
    found = hf.discover(data, error_rows=share, top="all")
    result = hf.check(data, found)
    assert result.holds
    for entry, outcome in zip(found.outcome, result.outcome.rules, strict=True):
        assert entry.missing == outcome.violating_rows


@pytest.mark.parametrize("shift", [0, 1])
def test_comparisons_along_a_reference_are_those_that_hold(shift: int) -> None:
    """Of each two columns the strictest comparison that a check accepts, where rows at random would break it."""
    people = pa.table(
        {"id": list(range(50)), "since": [i * 7 % 40 for i in range(50)], "town": [i % 5 for i in range(50)]}
    )
    who = [i * 13 % 50 for i in range(600)]
    visits = pa.table(
        {
            "person_id": [None if i % 50 == 3 else who[i] for i in range(600)],
            "day": [who[i] * 7 % 40 + i % 9 + shift for i in range(600)],
            "town": [None if i % 70 == 5 else who[i] % 5 for i in range(600)],
            "any": [i * 31 % 40 for i in range(600)],
        }
    )
    data = {"visits": visits, "people": people}
    found = hf.discover(data)
    rules = [str(rule) for rule in found.rules if rule.kind != "ind"]
    start = "if visits.person_id = people.id then"
    assert f"{start} visits.day {'>' if shift else '>='} people.since" in rules
    assert f"{start} visits.town = people.town" in rules
    assert not [rule for rule in rules if "visits.any" in rule]
    assert hf.check(data, found).holds
