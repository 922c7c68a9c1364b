"""Rows counted on a grid are in as many pairs as rows counted all at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from holdfast.checking.grid import BandTask, BlockTask, Decided, grid_compares
from holdfast.programs.form import Form, Where
from holdfast.programs.program import Compare, PairDenial, PairProgram, Programs
from holdfast.rules.relation import EQ, GE, GT, LE, LT
from holdfast.violations.evaluate import pair_counts
from holdfast.violations.part import part_of

ROWS = 400


def programs_of(first: int, second: int, nulls: str = "sql") -> Programs:
    """Form 0 and form 1 compared; only rows with flag 0 are left rows."""
    denial = PairDenial(0, None, (Compare(0, 0, first), Compare(1, 1, second)), False)
    return Programs((PairProgram((denial,), False),), (Form("a"), Form("b")), (Where("flag"),), nulls)  # type: ignore[arg-type]


@pytest.mark.parametrize("first", [LT, GE])
@pytest.mark.parametrize("second", [LE, GT])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_bands_and_what_they_decide_are_all_pairs(first: int, second: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 60, ROWS), rng.integers(0, 50, ROWS)
    flag = rng.random(ROWS) < 0.7
    block, band = np.searchsorted([10, 30, 45], a, side="right"), np.searchsorted([5, 20], b, side="right")
    table = pa.table({"k": np.arange(ROWS), "f0": a, "f1": b, "b0": flag, "f2": block, "band": band})
    programs = programs_of(first, second)
    compares = grid_compares(programs, 0)
    assert compares is not None

    cells = Counter(zip(block.tolist(), band.tolist(), strict=True))
    left_cells = Counter(zip(block[flag].tolist(), band[flag].tolist(), strict=True))
    lines = [{"block": p, "band": q, "lefts": left_cells[p, q], "rights": n} for (p, q), n in cells.items()]
    decided = Decided.of(compares, lines, (4, 3))
    assert decided.as_left.sum() > 0
    banded = with_work(table, band)
    passed_on = pa.Table.from_batches(list(BandTask(programs, 0, 2)(iter(banded.to_batches()))))
    assert passed_on.num_rows == ROWS
    blocked = with_work(passed_on.drop_columns(["work"]), passed_on.column("f2").to_numpy())

    found = pa.Table.from_batches(list(BlockTask(programs, 0, 2, decided, "rows")(iter(blocked.to_batches()))))
    as_left, as_right = pair_counts(programs.programs[0], part_of(table, programs))  # type: ignore[arg-type]
    conflicts = as_left + as_right
    expected = {row: int(conflicts[row]) for row in np.flatnonzero(conflicts).tolist()}
    assert dict(zip(found.column("key").to_pylist(), found.column("n").to_pylist(), strict=True)) == expected

    told = list(BlockTask(programs, 0, 2, decided, "summary")(iter(blocked.to_batches())))
    lines_told = [line for batch in told for line in batch.to_pylist()]
    assert sum(line["n"] for line in lines_told if line["what"] == "pairs") == as_left.sum()
    assert sum(line["n"] for line in lines_told if line["what"] == "rows") == len(expected)


def with_work(table: pa.Table, work: np.ndarray) -> pa.Table:
    return table.append_column("work", pa.array(work))


def test_a_grid_takes_two_inequalities_of_one_column_each_and_nothing_else() -> None:
    assert grid_compares(programs_of(LT, GT), 0) is not None
    assert grid_compares(programs_of(LT, EQ), 0) is None
    assert grid_compares(programs_of(LT, GT, "equal"), 0) is not None
    assert grid_compares(programs_of(LE, GT, "equal"), 0) is None  # two nulls satisfy <=, and are in no block
    crossed = PairDenial(None, None, (Compare(0, 1, LT), Compare(1, 1, LT)), False)
    assert grid_compares(Programs((PairProgram((crossed,), False),), (Form("a"), Form("b")), (), "sql"), 0) is None
