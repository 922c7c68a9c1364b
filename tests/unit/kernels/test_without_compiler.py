"""Where rows are few, numpy alone gives what the compiled kernels give, in the same order."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.kernels import pair_counts, without_compiler
from holdfast.kernels.cover import greedy_cover
from holdfast.kernels.order import order_in_groups, ranks
from holdfast.kernels.pair_counts import count_pairs
from holdfast.kernels.pair_lists import list_pairs
from holdfast.kernels.without_compiler import MOST_STEPS, all_pairs_of_ranges, compiler_pays

SEEDS = st.integers(0, 2**32 - 1)


def both_ways(function: Any, *arguments: Any, **options: Any) -> list[Any]:
    """What the function returns with the compiler and without it, as lists."""
    results = []
    for loaded in (True, False):
        with patch.object(without_compiler, "compiler_loaded", lambda loaded=loaded: loaded):
            result = function(*arguments, **options)
        results.append([np.asarray(array).tolist() for array in result])
    return results


@given(seed=SEEDS, rows=st.integers(0, 30), inequalities=st.integers(0, 4), unequal=st.integers(0, 2))
@settings(deadline=None, max_examples=150)
def test_pairs_are_counted_and_listed_alike(seed: int, rows: int, inequalities: int, unequal: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.integers(-1, 3, (2, rows))
    a, b = rng.integers(-4, 5, (2, inequalities, rows))
    compiled, plain = both_ways(count_pairs, left, right, a, b)
    assert compiled == plain
    x, y = rng.integers(0, 3, (2, unequal, rows))
    for once, limit in ((False, 2**62), (True, 2**62), (True, 3), (False, 0)):
        compiled, plain = both_ways(
            list_pairs, left, right, a, b, unequal=(x, y), wanted=tuple(rng.random((2, rows)) < 0.7),
            order=rng.permutation(rows), once=once, limit=limit,
        )  # fmt: skip
        assert compiled == plain


@given(
    seed=SEEDS,
    rows=st.integers(1, 30),
    windows=st.integers(0, 3),
    inequalities=st.integers(0, 2),
    turned=st.booleans(),
    by_pairs=st.booleans(),
)
@settings(deadline=None, max_examples=300)
def test_windows_are_counted_and_listed_as_two_inequalities_are(
    seed: int, rows: int, windows: int, inequalities: int, turned: bool, by_pairs: bool
) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(-1, 3, (2, rows))
    left, right = groups if rng.random() < 0.5 else (groups[0], groups[0])
    lines = [(rng.integers(-4, 5, rows), rng.integers(-4, 5, rows)) for _ in range(inequalities)]
    for _ in range(windows):
        # Left rows are intervals, of one width or of many, some of them empty; points of right rows may lie at their
        # ends, and several of them be of one value there, as rounded ends are.
        points, rough = rng.integers(-6, 7, rows), int(rng.integers(1, 3))
        middles = points if rng.random() < 0.5 else rng.integers(-6, 7, rows)
        width = rng.integers(-1, 4) if rng.random() < 0.5 else rng.integers(-1, 4, rows)
        ends = [(middles - width, points // rough * rough), (~(middles + width), ~points)]
        lines += [(~b, ~a) for a, b in ends] if turned else ends
    order = rng.permutation(len(lines))
    a, b = (np.array([lines[k][side] for k in order], np.int64).reshape(len(lines), rows) for side in (0, 1))
    with patch.object(pair_counts, "_PAIRS_PER_STEP", 2 if by_pairs else 0):
        compiled, plain = both_ways(count_pairs, left, right, a, b)
    assert compiled == plain
    for once, limit in ((False, 2**62), (False, 3)):
        compiled, plain = both_ways(
            list_pairs, left, right, a, b, unequal=(a[:0], b[:0]), wanted=tuple(rng.random((2, rows)) < 0.7),
            order=rng.permutation(rows), once=once, limit=limit,
        )  # fmt: skip
        assert compiled == plain


@pytest.mark.parametrize("windows", [0, 1, 2])
@pytest.mark.parametrize("seed", [1, 2])
def test_three_ranges_of_many_rows_are_counted_as_pairs_are(seed: int, windows: int) -> None:
    rng = np.random.default_rng(seed)
    rows, values = 700, 300
    group = rng.integers(-1, 2, rows)
    points = rng.integers(0, values, (3, rows))
    a = np.concatenate([points - 60, ~(points[:windows] + 50)])
    b = np.concatenate([points, ~points[:windows]])
    with patch.object(pair_counts, "_PAIRS_PER_STEP", 0):
        divided, plain = both_ways(count_pairs, group, group, a, b)
    assert divided == plain
    assert sum(plain[0]) > rows


@given(seed=SEEDS, rows=st.integers(1, 30), windows=st.integers(0, 3))
@settings(deadline=None)
def test_pairs_that_are_their_own_mirror_are_counted_from_one_side(seed: int, rows: int, windows: int) -> None:
    rng = np.random.default_rng(seed)
    group = rng.integers(-1, 3, rows)
    points, widths = rng.integers(-6, 7, (windows, rows)), rng.integers(0, 4, windows)[:, None]
    a = np.concatenate([points - widths - 1, ~(points + widths) - 1])
    b = np.concatenate([points, ~points])
    compiled, plain = both_ways(count_pairs, group, group, a, b, mirrored=True)
    assert compiled == plain
    assert compiled[0] == compiled[1]


@given(seed=SEEDS, rows=st.integers(0, 40))
@settings(deadline=None)
def test_rows_are_ordered_ranked_and_covered_alike(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    groups, values = rng.integers(0, 3, rows), rng.integers(-(2**63), 2**63 - 1, rows) // rng.integers(1, 2**62)
    for function, arguments in (
        (lambda *given: [order_in_groups(*given)], (groups, values)),
        (lambda *given: [ranks(*given)], (values,)),
        (lambda *given: [greedy_cover(*given)], (groups, groups + 3, 6)),
    ):
        compiled, plain = both_ways(function, *arguments)
        assert compiled == plain


def test_ranges_become_pairs_by_the_left_then_the_right() -> None:
    left, right = all_pairs_of_ranges(np.array([3, 0, 1]), np.array([5, 0, 2]))
    assert (left.tolist(), right.tolist()) == ([0, 0, 2], [3, 4, 1])


@pytest.mark.parametrize(("loaded", "few"), [(True, 1), (False, MOST_STEPS + 1)])
def test_the_compiler_pays_once_it_is_there_or_where_rows_are_many(loaded: bool, few: int) -> None:
    with patch.object(without_compiler, "compiler_loaded", lambda: loaded):
        assert compiler_pays(few)
        assert not compiler_pays(few - 1)
