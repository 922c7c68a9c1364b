"""check in this process says of random tables and rules what reference.py says."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast import reference
from holdfast.engines.local.check import plan_check, run_check
from holdfast.tables.local_table import LocalTable
from matching_checks import assert_check_matches
from strategies import RandomRules, RandomTable, arrow_of, rule_sets, tables


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules, bool]:
    table = draw(tables())
    return table, draw(rule_sets(table, size=6)), draw(st.booleans())


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases())
def test_check_in_this_process_matches_reference(case: tuple[RandomTable, RandomRules, bool]) -> None:
    table, random, dictionaries = case
    expected = reference.check(table.rows, random.rules, where=random.conditions)
    source = LocalTable(arrow_of(table, dictionaries=dictionaries), "random")
    result = run_check(source, plan_check(source, random.rules, ("id",)), limit=None)
    listed = [list(part) for part in (result.pairs, result.rows, result.groups, result.suspects)]
    assert_check_matches((table, random), expected, result.outcome.rules, listed)
    clean, quarantined = result.split()
    assert clean.count() + quarantined.count() == len(table.rows)
    assert {row["id"] for row in quarantined} == {row["key"] for row in listed[3] if row["rule"] in counted(result)}
    result.shown  # noqa: B018 (whatever the values are, a report can be made of them)
    assert result.summary()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases())
def test_a_check_of_some_rows_is_one_of_the_table_that_these_are(
    case: tuple[RandomTable, RandomRules, bool],
) -> None:
    table, random, dictionaries = case
    some = RandomTable(table.types, tuple(row for row in table.rows if row["id"] > 2))
    rows = arrow_of(table, dictionaries=dictionaries)
    result = hf.check(rows, random.rules, where="id > 2", limit=None, engine="local")
    expected = reference.check(some.rows, random.rules, where=random.conditions)
    listed = [list(part) for part in (result.pairs, result.rows, result.groups, result.suspects)]
    assert_check_matches((some, random), expected, result.outcome.rules, listed)
    assert result.outcome.rows == result.annotated().count() == len(some.rows)


def counted(result: Any) -> set[str]:
    return {outcome.rule.name for outcome in result.outcome.rules if result.outcome.counts(outcome)}
