"""Which blocks of a table's rows a change can meet, by the bounds of what they hold.

A group of rows that agree on the equalities may be long. Its rows lie in order of one column, in blocks whose least and
greatest values are known. A block is left out when no changed row can satisfy the comparisons with any row inside the
bounds: such a block has no partner, so counts without it are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from holdfast.detect.evaluate import Bools, Ints
from holdfast.detect.program import Compare, PairDenial, PairProgram
from holdfast.detect.task import LEFT, RIGHT
from holdfast.encode.codes import dense_codes, shared_codes
from holdfast.rules.relation import EQ, GE, GT, LE, NE
from holdfast.rules.rule import Nulls


@dataclass(frozen=True)
class Zoned:
    """Changed rows beside blocks of rows, as numbers that compare as their values do; -1 for null.

    `fits` are, per comparison that is not an equality and per part that the changed row plays in it, the values of the
    changed rows, and the lows and highs of the blocks.
    """

    programs: Sequence[PairProgram]
    changed: pa.Table
    nulls: Nulls
    values: dict[tuple[Compare, int], tuple[Ints, Ints, Ints]]
    with_nulls: dict[int, Bools]

    def feasible(self, rows: Ints, blocks: slice) -> Bools:
        """Which of the blocks some of the changed rows, given by position, can meet in some rule."""
        found = np.zeros(blocks.stop - blocks.start, np.bool_)
        for program in self.programs:
            for denial in program.denials:
                for part in (LEFT, RIGHT):
                    found |= self._fits(denial, part, rows, blocks)
        return found

    def _fits(self, denial: PairDenial, part: int, rows: Ints, blocks: slice) -> Bools:
        size = blocks.stop - blocks.start
        rows = rows[(self.changed.column("role").to_numpy()[rows] & part) > 0]
        flag = denial.left if part == LEFT else denial.right
        if flag is not None:
            rows = rows[self.changed.column(f"b{flag}").to_numpy().astype(np.bool_)[rows]]
        found = np.ones(size, np.bool_)
        ordered: list[tuple[Ints, Ints]] = []
        for compare in denial.compares:
            if compare.allowed == EQ:
                continue
            values, low, high = self.values[compare, part]
            low, high = low[blocks], high[blocks]
            met = compare.right if part == LEFT else compare.left
            nulls_meet = self.nulls == "equal" and compare.allowed in (LE, GE, NE)
            if nulls_meet and (values[rows] < 0).any():
                continue  # a null may meet nulls or differ from values: nothing is left out for its sake
            rows = rows[values[rows] >= 0]
            always = self.with_nulls[met][blocks] if nulls_meet else np.zeros(size, np.bool_)
            if len(rows) == 0:
                break
            if compare.allowed == NE:
                same = (low == high) & (low == values[rows].min()) & (low == values[rows].max())
                found &= always | ((low >= 0) & ~same)
            else:
                ordered.append(_as_less(compare, part, values, low, high, always))
        if len(rows) == 0:
            return np.zeros(size, np.bool_)
        return found & _dominated([(values[rows], bounds) for values, bounds in ordered], size)


def _as_less(compare: Compare, part: int, values: Ints, low: Ints, high: Ints, always: Bools) -> tuple[Ints, Ints]:
    """The comparison as `value < bound`, strictly; no bound is greater than that of a block that always fits."""
    less = compare.allowed not in (GT, GE)
    upward = less == (part == LEFT)  # the changed row is to be the smaller one
    or_equal = compare.allowed in (LE, GE)
    value, bound = (2 * values, 2 * high) if upward else (-2 * values, -2 * low)
    bound = np.where(low < 0, np.iinfo(np.int64).min, bound + 1 if or_equal else bound)
    return value, np.where(always, np.iinfo(np.int64).max, bound)


def _dominated(ordered: Sequence[tuple[Ints, Ints]], size: int) -> Bools:
    """Blocks for which one row has values below the first two bounds at once; further ones are not asked."""
    if not ordered:
        return np.ones(size, np.bool_)
    first, bounds = ordered[0]
    if len(ordered) == 1:
        return np.asarray(bounds > first.min(), np.bool_)
    second, second_bounds = ordered[1]
    order = np.argsort(first, kind="stable")
    least = np.minimum.accumulate(second[order])
    below = np.searchsorted(first[order], bounds, "left")
    return np.asarray((below > 0) & (least[np.maximum(below - 1, 0)] < second_bounds), np.bool_)


def zoned(programs: Sequence[PairProgram], changed: pa.Table, zones: pa.Table, nulls: Nulls) -> Zoned:
    """The changed rows beside all blocks that `zones` has the bounds of."""
    values: dict[tuple[Compare, int], tuple[Ints, Ints, Ints]] = {}
    with_nulls: dict[int, Bools] = {}
    for compare in dict.fromkeys(c for program in programs for d in program.denials for c in d.compares):
        if compare.allowed == EQ:
            continue
        for part, own, met in ((LEFT, compare.left, compare.right), (RIGHT, compare.right, compare.left)):
            columns = [changed.column(f"f{own}"), zones.column(f"f{met}_low"), zones.column(f"f{met}_high")]
            columns = [c if c.type == columns[0].type else c.cast(columns[0].type) for c in columns]
            value, low, high = (codes.astype(np.int64) for codes in dense_codes(shared_codes(columns)))
            values[compare, part] = value, low, high
            with_nulls[met] = zones.column(f"f{met}_nulls").to_numpy()
    return Zoned(programs, changed, nulls, values, with_nulls)
