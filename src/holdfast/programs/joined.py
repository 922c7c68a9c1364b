"""Two-row rules as a self-join: equalities become join keys, the rest conditions on the joined pair."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.programs.sql_expression import Encoder
from holdfast.rules.constraint import DenialConstraint


def joined_pairs_sql(constraints: Sequence[DenialConstraint], symmetric: bool, encoder: Encoder, rows: str) -> str:
    """SQL for (left, right) of every violating pair, each once; of a symmetric rule with the smaller key left."""
    parts = [_pairs_sql(constraint, symmetric, encoder, rows) for constraint in _one_of_mirrors(constraints, symmetric)]
    return parts[0] if len(parts) == 1 else "\nUNION\n".join(parts)


def _one_of_mirrors(constraints: Sequence[DenialConstraint], symmetric: bool) -> list[DenialConstraint]:
    kept: list[DenialConstraint] = []
    for constraint in constraints:
        if not (symmetric and constraint.mirrored() in kept):
            kept.append(constraint)
    return kept


def _pairs_sql(constraint: DenialConstraint, symmetric: bool, encoder: Encoder, rows: str) -> str:
    conditions = [encoder.predicate(predicate) for predicate in constraint.predicates]
    left, right, distinct = "t.k", "s.k", ""
    if symmetric and constraint.symmetric:
        conditions.append("t.k < s.k")
    else:
        conditions.append("t.k != s.k")
        if symmetric:  # its mirror is in the rule too: both orders are one pair
            left, right, distinct = "IF(t.k < s.k, t.k, s.k)", "IF(t.k < s.k, s.k, t.k)", "DISTINCT "
    return f"SELECT {distinct}{left} AS `left`, {right} AS `right`\nFROM {rows} t JOIN {rows} s ON " + " AND ".join(
        conditions
    )
