"""discover --conditional finds exactly the patterns that reference.py finds by trying them all."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast import reference
from holdfast.discovery.conditional_rules import conditional_rules
from holdfast.encode.column_type import column_type
from holdfast.rules.dependency import CFD
from holdfast.rules.rule import RuleSet
from holdfast.search.options import DiscoverOptions
from random_frames import frame_of
from strategies import ARROW, RandomTable, tables

supports = st.sampled_from([Decimal(text) for text in ("0.01", "0.3", "0.5", "2", "3", "4")])
confidences = st.sampled_from([Decimal(text) for text in ("1", "1", "0.9", "0.75", "0.67", "0.5")])
slowly = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


@st.composite
def repeating(draw: st.DrawFn) -> RandomTable:
    """Tables without a key, in which rows may repeat."""
    table = draw(tables(max_rows=9))
    rows = [{name: row[name] for name in table.types if name != "id"} for row in table.rows]
    rows += draw(st.lists(st.sampled_from(rows), max_size=3)) if rows else []
    return RandomTable({name: kind for name, kind in table.types.items() if name != "id"}, tuple(rows))


@st.composite
def narrow(draw: st.DrawFn) -> RandomTable:
    """Three or four columns of few values and more rows: free columns agree often, and differ where values do."""
    names = draw(st.lists(st.sampled_from(["a", "zip code", "d.ot", "A", "not"]), min_size=3, max_size=4, unique=True))
    kinds = {name: draw(st.sampled_from(["bigint", "string", "double", "boolean"])) for name in names}
    values: dict[str, list[Any]] = {
        "bigint": [1, 2, 3],
        "string": ["a", "o'x", ""],
        "double": [0.5, -0.0, 1e30],
        "boolean": [True, False],
    }
    size = draw(st.integers(4, 12))
    columns = {}
    for name, kind in kinds.items():
        some = values[kind][: draw(st.integers(1, 3))] + ([None] if draw(st.integers(0, 3)) == 0 else [])
        columns[name] = draw(st.lists(st.sampled_from(some), min_size=size, max_size=size))
    return RandomTable(kinds, tuple({name: columns[name][i] for name in names} for i in range(size)))


def same(body: CFD) -> tuple[object, ...]:
    """A conditional dependency without the order of its columns."""
    (pattern,) = body.patterns
    left = zip(body.left, map(str, pattern.left), strict=True)
    return (*sorted(left), "->", body.right[0], str(pattern.right[0]))


@settings(slowly, max_examples=200)
@given(
    table=repeating() | narrow() | narrow(),
    support=supports,
    confidence=confidences,
    nulls=st.sampled_from(["sql", "equal"]),
    most=st.sampled_from([None, None, 2, 3]),
)
def test_patterns_match_reference(
    table: RandomTable, support: Decimal, confidence: Decimal, nulls: str, most: int | None
) -> None:
    limits = {"min_support": support, "min_confidence": confidence, "nulls": nulls, "max_predicates": most}
    columns = {name: pa.array([row[name] for row in table.rows], ARROW[kind]) for name, kind in table.types.items()}
    types = {name: column_type(kind) for name, kind in table.types.items()}
    found = conditional_rules(pa.table(columns), types, DiscoverOptions(conditional=True, **limits))  # type: ignore[arg-type]
    wanted = reference.conditional(table.rows, list(table.types), **limits)  # type: ignore[arg-type]
    rules = list(found.ranked())
    assert found.complete
    assert sorted(str(same(one.rule.body)) for one in rules) == sorted(str(same(body)) for body in wanted)  # type: ignore[arg-type]
    checked = reference.check(table.rows, RuleSet(tuple(one.rule for one in rules), nulls=nulls))  # type: ignore[arg-type]
    for one, told in zip(rules, checked, strict=True):
        assert told.holds, one.rule
        assert one.suspect_rows == len(told.suspects)
        pairs = None if told.pairs is None else len(told.pairs)
        assert one.violating_pairs == (pairs if told.suspects else 0)
        assert 0 <= one.score <= 1
    assert [one.score for one in rules] == sorted((one.score for one in rules), reverse=True)


@settings(slowly, max_examples=5)
@given(table=repeating() | narrow(), support=supports, confidence=confidences)
def test_discover_on_spark_matches_reference(
    spark: SparkSession, table: RandomTable, support: Decimal, confidence: Decimal
) -> None:
    frame = frame_of(spark, table)
    limits: dict[str, Any] = {"min_support": support, "min_confidence": confidence}
    found = hf.discover(frame, top="all", conditional=True, **limits)
    wanted = reference.conditional(table.rows, list(table.types), **limits)
    assert sorted(str(same(rule.body)) for rule in found.rules) == sorted(str(same(body)) for body in wanted)  # type: ignore[arg-type]
    if len(found.rules):
        assert hf.check(frame, found).holds


def test_a_dependency_that_holds_where_a_value_is_given() -> None:
    """The example of every paper: zip gives street in one country, not in the other; and a value gives a value."""
    lines = [
        (44, "E1", "Mayfield", "EDI", 131), (44, "E1", "Mayfield", "EDI", 131), (44, "E2", "Crichton", "EDI", 131),
        (44, "E2", "Crichton", "EDI", 131), (1, "E1", "Tree", "MH", 908), (1, "E1", "Elm", "MH", 908),
        (1, "E2", "High", "NYC", 212), (1, "E2", "Low", "NYC", 212),
    ]  # fmt: skip
    names = ("CC", "zip", "street", "city", "AC")
    types = {name: column_type("string" if name in ("zip", "street", "city") else "bigint") for name in names}
    table = pa.table({name: [line[i] for line in lines] for i, name in enumerate(names)})
    options = DiscoverOptions(conditional=True, min_support=Decimal(4), max_predicates=3)
    found = {str(one.rule) for one in conditional_rules(table, types, options).ranked()}
    assert {"CC = 44, zip -> street", "CC = 44 -> city = 'EDI'", "AC = 131 -> CC = 44"} <= found
    assert "CC = 1, zip -> street" not in found
