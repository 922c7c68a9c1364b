"""The kernel finds contradictory exactly the constraints that rules/constraint.py calls trivial."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import TrivialRuleError
from holdfast.kernels.contradiction import contradictory
from holdfast.rules.constraint import denial
from holdfast.rules.predicate import Column, Comparison
from holdfast.rules.relation import ANY

OPERANDS = tuple(Column(row, name) for row in ("t", "s") for name in ("a", "b", "c"))
# Each pair of operands once, the way comparisons are oriented.
PAIRS = tuple((i, j) for i in range(6) for j in range(i + 1, 6))

LINES = st.lists(st.lists(st.sampled_from(range(8)), min_size=15, max_size=15), max_size=6)
# Most pairs say nothing, so that some constraints are not contradictory.
SPARSE = st.lists(
    st.dictionaries(st.integers(0, 14), st.sampled_from(range(1, 8)), max_size=6).map(
        lambda some: [some.get(i, ANY) for i in range(15)]
    ),
    min_size=1,
    max_size=20,
)


def trivial(allowed: list[int]) -> bool:
    try:
        denial(Comparison(OPERANDS[i], a, OPERANDS[j]) for (i, j), a in zip(PAIRS, allowed, strict=True) if a != ANY)
    except TrivialRuleError:
        return True
    return False


@settings(max_examples=300)
@given(st.one_of(LINES, SPARSE))
@example([[ANY] * 15])
@example([[0, *[ANY] * 14], [ANY] * 15])
def test_contradictory_are_the_trivial_constraints(lines: list[list[int]]) -> None:
    left, right = (np.array(side) for side in zip(*PAIRS, strict=True))
    found = contradictory(np.array(lines, np.uint8).reshape(-1, 15), left, right)
    assert found.tolist() == [trivial(line) for line in lines]


def test_both_answers_are_common_among_random_constraints() -> None:
    rng = np.random.default_rng(1)
    lines = np.where(rng.random((2_000, 15)) < 0.3, rng.integers(1, 7, (2_000, 15)), ANY).astype(np.uint8)
    left, right = (np.array(side) for side in zip(*PAIRS, strict=True))
    found = contradictory(lines, left, right)
    assert 200 < found.sum() < 1_800
    assert found.tolist() == [trivial(line) for line in lines.tolist()]
