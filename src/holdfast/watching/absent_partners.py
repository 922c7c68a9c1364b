"""What a batch of changes does to the rows that refer to what is not there.

The twin of `violations/inclusion`, which says of whole tables which rows those are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.encode.codes import Coded, compacted, dense_ids
from holdfast.programs.program import PairProgram
from holdfast.violations.part import LEFT, RIGHT, Bools, Ints
from holdfast.watching.changed_pairs import ChangedRows


@dataclass(frozen=True)
class AbsenceChange:
    """The rows, by position, that now are without a partner and were not, and those that were and are not."""

    come: Ints
    go: Ints


def absence_change(program: PairProgram, rows: ChangedRows) -> AbsenceChange:
    """Which left rows are in no pair of the program that were, and the other way round.

    All rows that a changed row can meet are among `rows`: whether a row has a partner is known of all of them. The
    program is of equalities alone. Cost: a pass per equality.
    """
    (ways,) = program.denials
    part = rows.part
    left, right = ((rows.role & side) > 0 for side in (LEFT, RIGHT))
    asking, offering = left & part.flag(ways.left), right & part.flag(ways.right)
    if part.nulls == "sql":
        for compare in ways.compares:
            asking, offering = asking & part.forms[compare.left].valid, offering & part.forms[compare.right].valid
    sides = [(part.forms[compare.left], part.forms[compare.right]) for compare in ways.compares]
    ids = compacted(dense_ids([codes for pair in sides for codes in _together(*pair)], 2 * part.size))
    wanted, offered = ids[: part.size], ids[part.size :]
    size = int(ids.max(initial=-1)) + 1

    def lonely(now: Bools) -> Ints:
        there = np.zeros(size, np.bool_)
        there[offered[now & offering]] = True
        return np.flatnonzero(now & asking & ~there[wanted])

    before, after = lonely(rows.before | rows.rest), lonely(rows.after | rows.rest)
    come = after[~np.isin(part.order[after], part.order[before])]
    go = before[~np.isin(part.order[before], part.order[after])]
    return AbsenceChange(come, go)


def _together(left: Coded, right: Coded) -> tuple[Ints, Ints]:
    """The codes of both sides, one after the other, and whether there is a value: a null is a value of its own."""
    valid = np.concatenate([left.valid, right.valid])
    return np.where(valid, np.concatenate([left.codes, right.codes]), 0), valid.astype(np.int64)
