"""What a check found, against what reference.py says of the same table and rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.checking.outcome import RuleOutcome
from strategies import RandomRules, RandomTable

Rows = Sequence[Mapping[str, Any]]


def assert_check_matches(
    case: tuple[RandomTable, RandomRules],
    expected: Sequence[Any],
    outcomes: Sequence[RuleOutcome],
    listed: Sequence[Rows],
) -> None:
    """Counts and verdicts are those expected, and so are all of the listed pairs, rows, groups and suspects."""
    table, random = case
    pairs, rows, groups, suspects = listed
    for wanted, found in zip(expected, outcomes, strict=True):
        name, told = wanted.rule.name, f"{wanted.rule} {random.rules.nulls} {table.rows}"
        assert Counter((r["left"], r["right"]) for r in pairs if r["rule"] == name) == Counter(wanted.pairs or ()), told
        assert {r["key"]: r["conflicts"] for r in rows if r["rule"] == name} == wanted.conflicts, told
        assert {r["key"] for r in suspects if r["rule"] == name} == wanted.suspects, told
        assert Counter((r["column"], r["rows"], tuple(r["keys"])) for r in groups if r["rule"] == name) == Counter(
            (g.column, g.rows, g.keys) for g in wanted.groups or ()
        ), told
        assert found.violating_pairs == (None if wanted.pairs is None else len(wanted.pairs)), told
        assert found.violating_rows == len(wanted.conflicts), told
        assert found.suspect_rows == len(wanted.suspects), told
        assert found.violating_groups == wanted.violating_groups, told
        assert found.holds == wanted.holds, told
        assert found.severity == wanted.severity, told
