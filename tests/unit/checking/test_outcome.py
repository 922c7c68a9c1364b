"""Verdicts: what a rule allows, against what was found."""

from __future__ import annotations

import pyarrow as pa
import pytest

import holdfast as hf
from holdfast import reference
from holdfast.rules.rule_file import parse_rules

ROWS = [{"id": i, "a": 1, "b": b} for i, b in enumerate((1, 1, 2))]


@pytest.mark.parametrize(
    ("rule", "allowed", "holds"),
    [
        # Two pairs are listed, which are four of the six ordered ones: 66.7 %.
        ("a -> b", "60%", False),
        ("a -> b", "70%", True),
        ("a -> b", "1", False),
        ("a -> b", "2", True),
        # Of a rule that tells left from right, each pair that is listed is one: two of six.
        ("not(t.b < s.b)", "30%", False),
        ("not(t.b < s.b)", "34%", True),
    ],
)
def test_pairs_that_are_allowed_are_a_share_of_the_ordered_ones(rule: str, allowed: str, holds: bool) -> None:
    rules = parse_rules(f"key: id\nrules:\n  - {{rule: '{rule}', name: r, allow_pairs: '{allowed}'}}\n")
    with hf.check(pa.Table.from_pylist(ROWS), rules) as result:
        assert result.outcome.rules[0].violating_pairs == 2
        assert result.holds is holds
    assert reference.check(ROWS, rules)[0].holds is holds
