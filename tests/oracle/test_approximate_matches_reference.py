"""discover with an error finds exactly what reference.py finds by trying every constraint and counting its pairs."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.rule import RuleSet
from holdfast.search.find import find
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult
from holdfast.search.space import as_masks
from random_frames import frame_of
from strategies import ARROW, Discovery, RandomTable, discoveries

# Shares that some number of pairs of a few rows is exactly, and shares between.
ERRORS = [Decimal(text) for text in ("0.02", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.5", "0.75", "0.99")]
errors = st.sampled_from(ERRORS)
slowly = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


def found_in(case: Discovery, error: Decimal, threads: int = 1) -> SearchResult:
    columns = {n: pa.array([row[n] for row in case.table.rows], ARROW[kind]) for n, kind in case.table.types.items()}
    types = {name: column_type(kind) for name, kind in case.table.types.items()}
    return find(pa.table(columns), types, DiscoverOptions(**case.options, error=error), threads=threads)


def constraints(found: SearchResult) -> list[DenialConstraint]:
    return [found.space.constraint(mask) for mask in as_masks(found.masks)]


def as_texts(some: Iterable[DenialConstraint]) -> list[list[list[str]]]:
    """One of each constraint and its mirror, whichever it is, and whatever its order."""
    return sorted(sorted(sorted(map(str, one.predicates)) for one in (c, c.mirrored())) for c in some)


ONE_ROW = Discovery(
    RandomTable({"a": "bigint", "b": "bigint"}, tuple({"a": a, "b": a + (a != 2)} for a in (0, 1, 2, 3, 4))),
    {"cross_columns": 0.3, "one_row": True, "order_text": False, "nulls": "sql", "max_predicates": 2},
)


@settings(slowly, max_examples=100)
@given(case=discoveries(), error=errors, threads=st.sampled_from([1, 2]))
@example(case=ONE_ROW, error=Decimal("0.2"), threads=1)
def test_find_matches_reference(case: Discovery, error: Decimal, threads: int) -> None:
    found = found_in(case, error, threads)
    wanted = reference.discover(case.table.rows, case.kinds, **case.options, error=error)
    assert as_texts(constraints(found)) == as_texts(wanted), (case, error)
    assert found.complete


@settings(slowly, max_examples=40)
@given(case=discoveries(), smaller=errors | st.just(Decimal(0)), larger=errors)
def test_every_rule_at_a_smaller_error_is_implied_by_one_at_a_larger(
    case: Discovery, smaller: Decimal, larger: Decimal
) -> None:
    few, many = sorted((smaller, larger))
    tight, loose = (constraints(found_in(case, error)) for error in (few, many))
    for rule in tight:
        assert any(other.implies(rule) for other in loose), (case, few, many, str(rule))


@settings(slowly, max_examples=40)
@given(case=discoveries(), error=errors)
def test_rules_are_counted_and_accepted_as_check_does(case: Discovery, error: Decimal) -> None:
    found = ranked(found_in(case, error))[:40]
    rules = RuleSet(tuple(one.rule for one in found), nulls=case.options["nulls"])
    for one, checked in zip(found, reference.check(case.table.rows, rules), strict=True):
        assert checked.holds, (case, error, str(one.rule))
        pairs = None if checked.pairs is None else len(checked.pairs)
        if one.rule.kind == "row":
            assert one.suspect_rows == len(checked.suspects)
            assert (one.violating_pairs is None) == bool(checked.suspects)
        else:
            assert one.violating_pairs == pairs, (case, error, str(one.rule))
            assert (one.rule.allow_pairs is not None) == bool(pairs)


@settings(slowly, max_examples=6)
@given(case=discoveries(), error=errors)
def test_discover_on_spark_matches_reference(spark: SparkSession, case: Discovery, error: Decimal) -> None:
    frame = frame_of(spark, case.table)
    found = hf.discover(frame, top=10, error=error, **case.options)
    wanted = reference.discover(case.table.rows, case.kinds, **case.options, error=error)
    assert as_texts(one.constraint for one in found.outcome.found) == as_texts(wanted), (case, error)
    checked = reference.check(case.table.rows, found.rules)
    assert [one.suspect_rows for one in found.outcome.shown] == [len(one.suspects) for one in checked]
    assert all(one.holds for one in checked)
