"""The walk over two trees finds exactly the pairs that satisfy all comparisons."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernels.dual_tree import EQUAL, GREATER, LESS, NULL_BESIDE_VALUE, satisfying_pairs
from holdfast.kernels.evidence import NULL

ANYTHING = LESS | EQUAL | GREATER | NULL_BESIDE_VALUE


def relation(a: int, b: int) -> int:
    if NULL in (a, b):
        return EQUAL if a == b else NULL_BESIDE_VALUE
    return LESS if a < b else EQUAL if a == b else GREATER


@st.composite
def walks(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Codes of both sides, what is allowed, and which rows are repeated; enough rows for trees of several levels."""
    lines, n = draw(st.integers(1, 3)), draw(st.integers(0, 90))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = draw(st.integers(1, 12))
    left = random.integers(NULL, values, (lines, n)).astype(np.int32)
    across = draw(st.booleans())
    right = random.integers(NULL, values, (lines, n)).astype(np.int32) if across else left
    order = np.lexsort(left[::-1])
    allowed = np.array(draw(st.lists(st.integers(1, ANYTHING - 1), min_size=lines, max_size=lines)))
    return left[:, order], right[:, order], allowed, random.random(n) < 0.3


@given(walks(), st.integers(0, 5))
def test_it_finds_the_pairs_that_a_double_loop_finds(walk: tuple[np.ndarray, ...], seed: int) -> None:
    left, right, allowed, repeated = walk
    n = left.shape[1]
    wanted = {
        (i, j)
        for i, j in product(range(n), range(n))
        if (i != j or repeated[i])
        and all(relation(a, b) & ways for a, b, ways in zip(left[:, i], right[:, j], allowed, strict=True))
    }
    ids, flag = np.arange(n), np.zeros(1, np.int64)
    one, other, finished = satisfying_pairs(
        left, right, allowed, ids, ids, repeated, limit=n * n + 1, seed=seed, flag=flag
    )
    assert finished
    assert len(one) == len(wanted)
    assert set(zip(one.tolist(), other.tolist(), strict=True)) == wanted

    few = max(len(wanted) // 2, 1)
    one, other, finished = satisfying_pairs(left, right, allowed, ids, ids, repeated, limit=few, seed=seed, flag=flag)
    assert set(zip(one.tolist(), other.tolist(), strict=True)) <= wanted
    assert len(one) == min(few, len(wanted))
    assert finished == (len(wanted) <= few)


def test_a_raised_flag_ends_it() -> None:
    codes = np.arange(1000, dtype=np.int32).reshape(1, 1000)
    ids = np.arange(1000)
    *_, finished = satisfying_pairs(
        codes, codes, np.array([LESS]), ids, ids, ids < 0, limit=10, seed=1, flag=np.ones(1, np.int64)
    )
    assert not finished
