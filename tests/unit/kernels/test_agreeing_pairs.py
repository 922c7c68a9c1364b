"""Rows that agree in several orders are counted as looking at all pairs counts them."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.kernels import without_compiler
from holdfast.kernels.agreeing_pairs import agreeing_pairs
from holdfast.kernels.pair_counts import count_either_way, count_pairs
from holdfast.kernels.without_compiler import MOST_STEPS


@given(seed=st.integers(0, 2**32), rows=st.integers(0, 40), lines=st.integers(2, 3), values=st.integers(1, 12))
@example(seed=0, rows=40, lines=3, values=1)  # all values are equal
@settings(deadline=None)
def test_rows_that_agree_are_counted_as_all_pairs_are(seed: int, rows: int, lines: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    groups, points = rng.integers(-1, 3, rows), rng.integers(0, values, (lines, rows))
    below = (points[:, :, None] < points[:, None, :]).all(axis=0)
    below &= (groups[:, None] == groups) & (groups >= 0)
    assert agreeing_pairs(groups, points).tolist() == (below | below.T).sum(axis=1).tolist()


@pytest.mark.parametrize("lines", [2, 3])
def test_many_rows_that_agree_are_counted_as_left_and_right_rows_apart(lines: int) -> None:
    rng = np.random.default_rng(lines)
    rows = 20_000
    groups, points = rng.integers(-1, 4, rows), rng.integers(-(2**62), 2**62, (lines, rows))
    points[1] = points[0] // 2**50 + rng.integers(0, 200, rows)
    with patch.object(without_compiler, "compiler_loaded", lambda: True):
        left, right = count_pairs(groups, groups, points, points)
        together = count_either_way(groups, points)
    assert together is not None
    assert together.tolist() == (left + right).tolist()
    assert together.sum() > rows


def test_few_rows_and_other_numbers_of_orders_are_counted_apart() -> None:
    groups = np.zeros(MOST_STEPS // 2, np.int64)
    with patch.object(without_compiler, "compiler_loaded", lambda: False):
        assert count_either_way(groups, np.tile(groups, (2, 1))) is None
    with patch.object(without_compiler, "compiler_loaded", lambda: True):
        assert count_either_way(groups[:2], np.tile(groups[:2], (2, 1))) is not None
        for lines in (0, 1, 4):
            assert count_either_way(groups[:2], np.tile(groups[:2], (lines, 1))) is None
