"""discover --constants finds exactly the constraints with values that reference.py finds by trying them all."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast import reference
from holdfast.discovery.with_constants import find_with_constants, ranked_with_constants
from holdfast.encode.column_type import column_type
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.rule import RuleSet
from holdfast.search.options import DiscoverOptions
from random_frames import frame_of
from strategies import ARROW, Discovery, RandomTable, discoveries

supports = st.sampled_from([Decimal(text) for text in ("0.1", "0.3", "0.5", "2", "3")])
errors = st.sampled_from([Decimal(text) for text in ("0", "0", "0.05", "0.1", "0.3")])
slowly = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


@st.composite
def narrow(draw: st.DrawFn) -> Discovery:
    """Two or three columns of few values and several rows: rules among the rows with a value are common."""
    names = draw(st.lists(st.sampled_from(["a", "zip code", "not"]), min_size=2, max_size=3, unique=True))
    kinds = {name: draw(st.sampled_from(["bigint", "string", "boolean"])) for name in names}
    values: dict[str, list[Any]] = {"bigint": [1, 2, 3], "string": ["a", "o'x", "b"], "boolean": [True, False]}
    size = draw(st.integers(3, 8))
    columns = {}
    for name, kind in kinds.items():
        some = values[kind][: draw(st.integers(2, 3))] + ([None] if draw(st.integers(0, 3)) == 0 else [])
        columns[name] = draw(st.lists(st.sampled_from(some), min_size=size, max_size=size))
    options: dict[str, Any] = {"cross_columns": None, "one_row": False, "order_text": False}
    if len(names) == 2 and draw(st.booleans()):
        options = {"cross_columns": 0.0, "one_row": kinds[names[0]] != "bigint", "order_text": False}
    more = {"nulls": draw(st.sampled_from(["sql", "equal"])), "max_predicates": draw(st.sampled_from([None, 2, 3]))}
    rows = tuple({name: columns[name][i] for name in names} for i in range(size))
    return Discovery(RandomTable(kinds, rows), {**options, **more})


def as_texts(some: Iterable[DenialConstraint]) -> list[list[list[str]]]:
    """One of each constraint and its mirror, whichever it is, and whatever its order."""
    return sorted(sorted(sorted(map(str, one.predicates)) for one in (c, c.mirrored())) for c in some)


@settings(slowly, max_examples=60)
@given(case=discoveries(most_bits=8, max_rows=6) | narrow() | narrow(), support=supports, error=errors)
def test_find_matches_reference(case: Discovery, support: Decimal, error: Decimal) -> None:
    columns = {n: pa.array([row[n] for row in case.table.rows], ARROW[kind]) for n, kind in case.table.types.items()}
    types = {name: column_type(kind) for name, kind in case.table.types.items()}
    options = DiscoverOptions(**case.options, constants=True, min_support=support, error=error)
    found, within = find_with_constants(pa.table(columns), types, options)
    rules = list(ranked_with_constants(found, within.parts))
    wanted = reference.discover(case.table.rows, case.kinds, **case.options, error=error, constants=support)
    assert as_texts(one.constraint for one in rules) == as_texts(wanted), (case, support, error)
    assert within.complete
    named = RuleSet(tuple(one.rule for one in rules), nulls=case.options["nulls"])
    for one, checked in zip(rules, reference.check(case.table.rows, named), strict=True):
        assert checked.holds, (case, support, error, str(one.rule))
        assert one.violating_pairs is None or one.violating_pairs == len(checked.pairs or ())


@settings(slowly, max_examples=4)
@given(case=narrow(), support=supports)
def test_discover_on_spark_matches_reference(spark: SparkSession, case: Discovery, support: Decimal) -> None:
    frame = frame_of(spark, case.table)
    found = hf.discover(frame, top="all", constants=True, min_support=support, **case.options)
    wanted = reference.discover(case.table.rows, case.kinds, **case.options, constants=support)
    assert as_texts(one.constraint for one in found.outcome.found) == as_texts(wanted), (case, support)
    assert all(one.holds for one in reference.check(case.table.rows, found.rules))


def test_an_order_rule_that_holds_in_one_country() -> None:
    """Within one country more salary is no lower rate; in the other it may be."""
    lines = [("UK", i, i // 3) for i in range(12)] + [("US", i, (i * 5) % 7) for i in range(12)]
    table = pa.table({name: [line[i] for line in lines] for i, name in enumerate(("country", "salary", "rate"))})
    types = {"country": column_type("string"), "salary": column_type("bigint"), "rate": column_type("bigint")}
    found, within = find_with_constants(table, types, DiscoverOptions(constants=True, cross_columns=None))
    (uk, *_) = [part for part in within.parts if [str(value) for _, value in part.given] == ["'UK'"]]
    rules = {str(one.rule): one for one in ranked_with_constants(found, [uk])}
    rule = rules["not(t.country = 'UK' and s.country = 'UK' and t.salary <= s.salary and t.rate > s.rate)"]
    assert rule.rule.description == "where country = 'UK', a higher salary never has a lower rate" or rule.score > 0
    assert rule.violating_pairs == 0


def test_too_many_rows_for_all_pairs_are_said() -> None:
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 2, 3, 4]})
    types = {name: column_type("bigint") for name in ("a", "b")}
    options = DiscoverOptions(constants=True, cross_columns=None, strategy="hybrid")
    found, within = find_with_constants(table, types, options)
    assert found.complete
    assert not within.complete
    assert "all pairs" in str(within.why)
