"""The violations that one row is in, by the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast import reference
from strategies import RandomRules


def violations(rows: Sequence[Mapping[str, Any]], random: RandomRules, key: int) -> dict[str, int]:
    """By rule, the pairs that the row is in, and one more where it breaks the rule by itself."""
    (row,) = (row for row in rows if row["id"] == key)
    counted = {}
    for found in reference.check(rows, random.rules, where=random.conditions):
        rule, condition = found.rule, random.conditions.get(found.rule.name)
        in_scope = condition is None or condition(row)
        one_row = [constraint for constraint in rule.body.denials if not constraint.two_rows]
        alone = in_scope and any(reference.violates(c, row, row, random.rules.nulls) for c in one_row)
        n = sum((key in pair) for pair in found.pairs or ()) + alone
        if n:
            counted[rule.name] = n
    return counted
