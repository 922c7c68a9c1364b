"""What can be told of the work of a GPU without one: its units hold every pair once, its text has every comparison."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from holdfast.kernels.evidence import EQUALITY, EQUALITY_SKIP, LEFT_ROW, ORDER, ORDER_MEET, ORDER_SKIP, Layout
from holdfast.kernels.gpu_evidence import _TILES, THREADS, _Kernel


def layout_of(*ways: int) -> Layout:
    states = {EQUALITY: 2, EQUALITY_SKIP: 3, ORDER: 3, ORDER_SKIP: 4, ORDER_MEET: 4, LEFT_ROW: 3}
    places = tuple(range(len(ways)))
    return Layout(places, places, ways, tuple(states[way] for way in ways))


@pytest.mark.parametrize("columns", [1, 20, 60])
@pytest.mark.parametrize("rows", [2, 255, 1024, 1025, 9_000])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_units_of_work_hold_every_pair_once(columns: int, rows: int, share: float) -> None:
    kernel = _Kernel(layout_of(*[EQUALITY] * columns), plain=True)
    lefts = max(1, int(rows * share))
    starts = kernel._starts(rows, lefts)
    wide = THREADS * kernel.rows
    met = np.zeros(rows, np.int64)  # per left row, how many right rows after it its units hold
    for low in range(len(starts) - 1):
        first = low * wide
        covered = np.zeros(rows, np.int64)
        for unit in range(int(starts[low]), int(starts[low + 1])):
            begin = ((first + 1) // kernel.tile + (unit - starts[low]) * _TILES) * kernel.tile
            covered[begin : min(begin + _TILES * kernel.tile, rows)] += 1
        assert covered.max(initial=0) <= 1
        for row in range(first, min(first + wide, rows)):
            met[row] = covered[row + 1 :].sum()
    assert (met == rows - 1 - np.arange(rows))[:lefts].all()
    assert not met[-(-lefts // wide) * wide :].any()


@pytest.mark.parametrize("plain", [True, False])
def test_shared_memory_is_what_every_card_has(plain: bool) -> None:
    for columns in (1, 15, 30, 60, 120):
        kernel = _Kernel(layout_of(*[ORDER_MEET] * columns), plain)
        table = kernel.table * (8 * kernel.words + (4 if kernel.words > 1 else 0) + (4 if plain else 8))
        assert kernel.tile * (4 * kernel.stride + (0 if plain else 8)) + table + 16 <= 48 * 1024
        assert kernel.tile >= 1


def test_the_text_relates_every_operand_pair() -> None:
    text = _Kernel(layout_of(EQUALITY, ORDER, ORDER_MEET, EQUALITY_SKIP, LEFT_ROW), plain=True).source
    assert text.count("+= ") >= 5
    for piece in ("x[r][0] != y0", "x[r][1] >= y1", "x[r][2] == -1 || y2 == -1", "72u * (unsigned)x[r][4]"):
        assert piece in text


def test_nothing_asks_for_cupy_until_a_gpu_is_used() -> None:
    code = "import holdfast.kernels.gpu_evidence, sys; assert 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
