"""What is missing is what a set of the values that are there does not have, however codes lie."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.encode.codes import Coded
from holdfast.rules.rule import Nulls
from holdfast.violations.inclusion import missing_values
from holdfast.violations.part import Bools


@pytest.mark.parametrize("step", [1, 10**12], ids=["close", "far apart"])
@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("columns", [1, 2])
def test_missing_values_are_those_that_no_row_has(step: int, nulls: Nulls, columns: int) -> None:
    rng, many = np.random.default_rng(1), 280_000
    wanted = [rng.integers(-40, 1_000, many) * step for _ in range(columns)]
    offered = [rng.integers(0, 900, many // 2) * step for _ in range(columns)]
    valid: list[tuple[Bools, Bools]] = [
        (rng.random(many) < 0.999, rng.random(many // 2) < 0.999) for _ in range(columns)
    ]
    scope = rng.random(many) < 0.9
    sides = [(Coded(a, v), Coded(b, w)) for a, b, (v, w) in zip(wanted, offered, valid, strict=True)]
    found = missing_values(sides, nulls, scope)

    def values(parts: list[np.ndarray], masks: list[Bools]) -> list[tuple[int | None, ...]]:
        null = np.iinfo(np.int64).min  # under sql no row with one is asked, so that it may be there
        listed = [np.where(mask, part, null).tolist() for part, mask in zip(parts, masks, strict=True)]
        return list(zip(*listed, strict=True))

    asked, speaks = values(wanted, [v for v, _ in valid]), scope.copy()
    if nulls == "sql":
        speaks &= np.logical_and.reduce([v for v, _ in valid])
    there = set(values(offered, [w for _, w in valid]))
    rows = [at for at in np.flatnonzero(speaks).tolist() if asked[at] not in there]
    assert found.rows.tolist() == rows
    assert found.distinct == len({asked[at] for at in rows}) > 30
    numbers = dict(zip((asked[at] for at in rows), found.values.tolist(), strict=True))
    assert [numbers[asked[at]] for at in rows] == found.values.tolist()


def test_nothing_is_missing_where_nothing_is_asked() -> None:
    nobody = Coded(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    some = Coded(np.array([3, 5]), np.ones(2, np.bool_))
    assert len(missing_values([(nobody, nobody)], "sql").rows) == 0
    assert len(missing_values([(nobody, some)], "sql").rows) == 0
    assert missing_values([(some, nobody)], "sql").rows.tolist() == [0, 1]
