"""discover by rows finds exactly the keys and dependencies that reference.py finds by trying them all."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.rules.dependency import FD, Key
from holdfast.rules.rule import RuleSet
from holdfast.search.find import find
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult
from random_frames import frame_of
from strategies import ARROW, RandomTable, tables

errors = st.sampled_from([Decimal(text) for text in ("0", "0.1", "0.12", "0.2", "0.25", "0.34", "0.5", "0.8", "0.99")])
nulls = st.sampled_from(["sql", "equal"])
most = st.sampled_from([None, None, 1, 2, 3])
slowly = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


@st.composite
def repeating(draw: st.DrawFn) -> RandomTable:
    """Tables without a key, in which rows may repeat."""
    table = draw(tables(max_rows=8))
    rows = [{name: row[name] for name in table.types if name != "id"} for row in table.rows]
    rows += draw(st.lists(st.sampled_from(rows), max_size=3)) if rows else []
    return RandomTable({name: kind for name, kind in table.types.items() if name != "id"}, tuple(rows))


def found_in(table: RandomTable, options: DiscoverOptions) -> SearchResult:
    columns = {name: pa.array([row[name] for row in table.rows], ARROW[kind]) for name, kind in table.types.items()}
    return find(pa.table(columns), {name: column_type(kind) for name, kind in table.types.items()}, options)


def same(body: Key | FD) -> tuple[frozenset[str], str | None]:
    """A dependency without the order of its columns."""
    return (frozenset(body.columns), None) if isinstance(body, Key) else (frozenset(body.left), body.right[0])


@settings(slowly, max_examples=100)
@given(table=repeating(), error=errors, nulls=nulls, most=most)
def test_find_matches_reference(table: RandomTable, error: Decimal, nulls: str, most: int | None) -> None:
    options = DiscoverOptions(error_rows=error, nulls=nulls, max_predicates=most)  # type: ignore[arg-type]
    found = found_in(table, options)
    wanted = reference.dependencies(
        table.rows, list(table.types), error_rows=error, nulls=options.nulls, max_predicates=most
    )
    rules = [one.rule for one in ranked(found)]
    assert sorted(map(str, map(same, (rule.body for rule in rules)))) == sorted(map(str, map(same, wanted)))  # type: ignore[arg-type]
    assert found.complete
    told = reference.check(table.rows, RuleSet(tuple(rules), nulls=options.nulls))
    for one, checked in zip(ranked(found), told, strict=True):
        assert (one.suspect_rows, one.violating_pairs) == (len(checked.suspects), len(checked.pairs or ()))
        assert checked.holds
        assert 0 <= one.score <= 1


@settings(slowly, max_examples=40)
@given(table=repeating(), some=errors, other=errors, nulls=nulls)
def test_every_rule_at_a_smaller_error_is_implied_by_one_at_a_larger(
    table: RandomTable, some: Decimal, other: Decimal, nulls: str
) -> None:
    tight, loose = (
        [one.constraint for one in ranked(found_in(table, DiscoverOptions(error_rows=error, nulls=nulls)))]  # type: ignore[arg-type]
        for error in sorted((some, other))
    )
    for rule in tight:
        assert any(wider.implies(rule) for wider in loose)


@settings(slowly, max_examples=5)
@given(table=repeating(), error=errors)
def test_discover_on_spark_matches_reference(spark: SparkSession, table: RandomTable, error: Decimal) -> None:
    frame = frame_of(spark, table)
    found = hf.discover(frame, top="all", error_rows=error)
    wanted = reference.dependencies(table.rows, list(table.types), error_rows=error)
    assert sorted(str(same(rule.body)) for rule in found.rules) == sorted(str(same(body)) for body in wanted)  # type: ignore[arg-type]
    assert all(one.holds for one in reference.check(table.rows, found.rules))
