"""The work of a GPU: its units hold every pair once, its text has every comparison; and, where there is one, it counts
as the cores do."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from holdfast.kernels import gpu_evidence
from holdfast.kernels.evidence import (
    EQUALITY,
    EQUALITY_SKIP,
    LEFT_ROW,
    ORDER,
    ORDER_MEET,
    ORDER_SKIP,
    Packing,
    all_pairs,
    listed_pairs,
    merged,
)
from holdfast.kernels.gpu_evidence import _TILES, THREADS, _Kernel, missing

STATES = {EQUALITY: 2, EQUALITY_SKIP: 3, ORDER: 3, ORDER_SKIP: 4, ORDER_MEET: 4, LEFT_ROW: 3}


def packing_of(*ways: int) -> Packing:
    places = tuple(range(len(ways)))
    return Packing(places, places, ways, tuple(STATES[way] for way in ways))


@pytest.mark.parametrize("columns", [1, 20, 60])
@pytest.mark.parametrize("rows", [2, 255, 1024, 1025, 9_000])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_units_of_work_hold_every_pair_once(columns: int, rows: int, share: float) -> None:
    kernel = _Kernel(packing_of(*[EQUALITY] * columns), plain=True)
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
        kernel = _Kernel(packing_of(*[ORDER_MEET] * columns), plain)
        table = kernel.table * (8 * kernel.words + (4 if kernel.words > 1 else 0) + (4 if plain else 8))
        assert kernel.tile * (4 * kernel.stride + (0 if plain else 8)) + table + 16 <= 48 * 1024
        assert kernel.tile >= 1


def test_the_text_relates_every_operand_pair() -> None:
    text = _Kernel(packing_of(EQUALITY, ORDER, ORDER_MEET, EQUALITY_SKIP, LEFT_ROW), plain=True).source
    assert text.count("+= ") >= 5
    for piece in ("x[r][0] != y0", "x[r][1] >= y1", "x[r][2] == -1 || y2 == -1", "72u * (unsigned)x[r][4]"):
        assert piece in text


def test_nothing_asks_for_cupy_until_a_gpu_is_used() -> None:
    code = "import holdfast.kernels.gpu_evidence, sys; assert 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


needs_gpu = pytest.mark.skipif(missing() is not None, reason=f"the CUDA kernel needs an NVIDIA GPU: {missing()}")
NULLABLE = (EQUALITY_SKIP, ORDER_SKIP, ORDER_MEET)


def random_case(rng: np.random.Generator, pairs: int, rows: int, *, weighted: bool) -> tuple[np.ndarray, ...]:
    """Codes of each kind of column, weights, and operand pairs of every way, also of two columns."""
    plain, nullable = rng.integers(0, 4, (3, rows)), rng.integers(-1, 4, (3, rows))
    alone = rng.integers(0, 3, (1, rows))
    weights = rng.integers(1, 4, rows) if weighted else np.ones(rows)
    chosen = rng.choice([EQUALITY, ORDER, *NULLABLE, LEFT_ROW], pairs)
    first = {EQUALITY: 0, ORDER: 0, LEFT_ROW: 6, **dict.fromkeys(NULLABLE, 3)}
    left, right = (
        np.array([first[way] + (0 if way == LEFT_ROW else int(rng.integers(0, 3))) for way in chosen.tolist()])
        for _ in range(2)
    )
    codes = np.concatenate([plain, nullable, alone]).astype(np.int32)
    return codes, weights.astype(np.int64), left, right, chosen


@needs_gpu
@pytest.mark.parametrize("weighted", [False, True], ids=["rows that differ", "rows that repeat"])
@pytest.mark.parametrize("pairs", [1, 5, 12, 30, 100])
@pytest.mark.parametrize("rows", [1, 2, 300, 2_500])
def test_a_gpu_counts_as_the_cores_do(rows: int, pairs: int, weighted: bool) -> None:
    codes, weights, left, right, ways = random_case(np.random.default_rng(pairs), pairs, rows, weighted=weighted)
    states = tuple(STATES[way] for way in ways.tolist())
    packing = Packing(tuple(left.tolist()), tuple(right.tolist()), tuple(ways.tolist()), states)
    wanted = merged([all_pairs(codes, weights, packing)])
    found = gpu_evidence.all_pairs(codes, weights, packing)
    assert np.array_equal(found.packed, wanted.packed)
    assert np.array_equal(found.counts, wanted.counts)
    shares = merged([gpu_evidence.all_pairs(codes, weights, packing, share=share, shares=3) for share in range(3)])
    assert np.array_equal(shares.packed, wanted.packed)
    assert np.array_equal(shares.counts, wanted.counts)


@needs_gpu
def test_a_gpu_counts_the_pairs_of_the_first_rows() -> None:
    codes, weights, left, right, ways = random_case(np.random.default_rng(2), 12, 700, weighted=False)
    states = tuple(STATES[way] for way in ways.tolist())
    packing = Packing(tuple(left.tolist()), tuple(right.tolist()), tuple(ways.tolist()), states)
    first, later = np.nonzero(np.triu(np.ones((40, 700), np.bool_), 1))
    wanted = listed_pairs(codes, first, later, packing)
    found = gpu_evidence.all_pairs(codes, weights, packing, first=40)
    assert np.array_equal(found.packed, wanted.packed)
    assert np.array_equal(found.counts, wanted.counts)
