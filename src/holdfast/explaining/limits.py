"""How many rows are tried, how many changes of each, and how many of them are told."""

from __future__ import annotations

from holdfast.programs.plan import Plan
from holdfast.programs.program import PairProgram, shared_equalities

# Of each row, so many changes are told, and so many rows that it is in conflict with.
CHANGES_PER_ROW, OTHERS = 3, 5
# Candidates that are tried for one row: those that most speaks for.
TRIED_PER_ROW = 20
# No more suspect rows than these are tried, and fewer where each has to be compared with very many.
MOST_ROWS, MOST_COMPARED, AGREEING = 100_000, 2_000_000_000, 20


def most_rows(plan: Plan, rows: int) -> int:
    """How many suspect rows of a table of so many rows are tried: the first, by key."""
    most = MOST_ROWS
    for program in plan.programs.programs:
        if isinstance(program, PairProgram):
            compared = MOST_COMPARED * (AGREEING if shared_equalities(program.denials) else 1)
            most = min(most, max(100, compared // max(rows, 1)))
    return most
