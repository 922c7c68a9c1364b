"""Which blocks of a table's rows a change can meet, by the bounds of what they hold.

A run of rows that agree on the equalities may be long. Its rows lie in order of one column, in blocks whose least and
greatest values are known. A block is left out when no changed row can satisfy the comparisons with any row inside the
bounds: such a block has no partner, so counts without it are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from holdfast.encode.codes import dense_codes, shared_codes
from holdfast.programs.program import Compare, PairDenial, PairProgram
from holdfast.rules.relation import EQ, GE, GT, LE, NE
from holdfast.rules.rule import Nulls
from holdfast.violations.part import LEFT, RIGHT, Bools, Ints

_NEVER, _ALWAYS = -(2**62), 2**62


def feasible(
    programs: Sequence[PairProgram],
    changed: pa.Table,
    changed_run: Ints,
    zones: pa.Table,
    zone_run: Ints,
    nulls: Nulls,
) -> Bools:
    """Which of the blocks some changed row of the same run can meet in some rule.

    `changed_run` and `zone_run` number the runs that changed rows and blocks belong to, from 0 and in order.
    """
    runs = int(max(changed_run.max(initial=-1), zone_run.max(initial=-1))) + 1
    beside = _Beside(changed, changed_run, zones, zone_run, runs, nulls)
    mask = np.zeros(len(zone_run), np.bool_)
    for program in programs:
        for denial in program.denials:
            for part in (LEFT, RIGHT):
                mask |= beside.fits(denial, part)
    return mask


@dataclass(frozen=True)
class _Test:
    """A comparison of changed rows with blocks: their values, -1 for null, the blocks' bounds, -1 for none.

    `always` are the blocks that fit for the sake of a null, in them or in a changed row.
    """

    compare: Compare
    values: Ints
    low: Ints
    high: Ints
    always: Bools
    null_rows: Bools

    def as_less(self, part: int) -> tuple[Ints, Ints]:
        """The comparison as `value < bound`, strictly."""
        less = self.compare.allowed not in (GT, GE)
        upward = less == (part == LEFT)  # the changed row is to be the smaller one
        value, bound = (2 * self.values, 2 * self.high) if upward else (-2 * self.values, -2 * self.low)
        bound = np.where(self.low < 0, _NEVER, bound + (self.compare.allowed in (LE, GE)))
        return value, np.where(self.always, _ALWAYS, bound)


@dataclass(frozen=True)
class _Beside:
    changed: pa.Table
    changed_run: Ints
    zones: pa.Table
    zone_run: Ints
    runs: int
    nulls: Nulls

    def fits(self, denial: PairDenial, part: int) -> Bools:
        """Which blocks fit some row of their run that plays this part; further comparisons than two are not asked."""
        rows = (self.changed.column("role").to_numpy() & part) > 0
        flag = denial.left if part == LEFT else denial.right
        if flag is not None:
            rows = rows & self.changed.column(f"b{flag}").to_numpy().astype(np.bool_)
        tests = [self._test(compare, part) for compare in denial.compares if compare.allowed != EQ]
        for test in tests:
            rows = rows & ~test.null_rows
        mask = np.isin(self.zone_run, self.changed_run[rows])
        if not mask.any():
            return mask
        ordered = []
        for test in tests:
            if test.compare.allowed == NE:
                mask &= self._differ(test, rows)
            else:
                ordered.append(test.as_less(part))
        return mask & self._below(ordered, rows)

    def _test(self, compare: Compare, part: int) -> _Test:
        own, met = (compare.left, compare.right) if part == LEFT else (compare.right, compare.left)
        columns = [self.changed.column(f"f{own}")]
        kind = columns[0].type
        for bound in (self.zones.column(f"f{met}_low"), self.zones.column(f"f{met}_high")):
            columns.append(bound if bound.type == kind else bound.cast(kind))
        values, low, high = (codes.astype(np.int64) for codes in dense_codes(shared_codes(columns)))
        if self.nulls == "equal" and compare.allowed in (LE, GE, NE):
            # A null may meet nulls, or differ from values: nothing is left out for its sake.
            always = np.isin(self.zone_run, self.changed_run[values < 0])
            always |= self.zones.column(f"f{met}_nulls").to_numpy()
            return _Test(compare, values, low, high, always, np.zeros(len(values), np.bool_))
        return _Test(compare, values, low, high, np.zeros(len(low), np.bool_), values < 0)

    def _differ(self, test: _Test, rows: Bools) -> Bools:
        least = np.full(self.runs, _ALWAYS)
        most = np.full(self.runs, _NEVER)
        known = rows & (test.values >= 0)
        np.minimum.at(least, self.changed_run[known], test.values[known])
        np.maximum.at(most, self.changed_run[known], test.values[known])
        same = (test.low == test.high) & (test.low == least[self.zone_run]) & (test.low == most[self.zone_run])
        return np.asarray(test.always | ((test.low >= 0) & ~same), np.bool_)

    def _below(self, ordered: Sequence[tuple[Ints, Ints]], rows: Bools) -> Bools:
        """Blocks for which one row of their run has values below the first two bounds at once."""
        if not ordered:
            return np.ones(len(self.zone_run), np.bool_)
        run = self.changed_run[rows]
        values, bounds = ordered[0][0][rows], ordered[0][1]
        if len(ordered) == 1:
            least = np.full(self.runs, _ALWAYS)
            np.minimum.at(least, run, values)
            return np.asarray(bounds > least[self.zone_run], np.bool_)
        # Runs one after the other on one line: rows by their first value, and the least second value up to each.
        width = np.int64(4 * (len(self.changed_run) + 2 * len(self.zone_run)) + 8)
        line = run * 2 * width + values
        order = np.argsort(line, kind="stable")
        second, second_bounds = ordered[1][0][rows][order], ordered[1][1]
        least = np.minimum.accumulate(second - run[order] * 2 * width) + run[order] * 2 * width
        below = np.searchsorted(line[order], self.zone_run * 2 * width + np.clip(bounds, -width, width), "left")
        from_run = np.searchsorted(run[order], self.zone_run, "left")
        return np.asarray((below > from_run) & (least[np.maximum(below - 1, 0)] < second_bounds), np.bool_)
