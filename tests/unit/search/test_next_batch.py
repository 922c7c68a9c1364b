"""The chances that the next rows break a rule are not too low: compared with what follows from known laws, exactly."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import pytest

from holdfast.search.next_batch import below_zero_chance, exception_chance, limit_chance, new_value_chance

ROWS = 5
LAWS = ((0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5), (0.6, 0.3, 0.1), (0.85, 0.1, 0.05))


@pytest.mark.parametrize("law", LAWS)
def test_a_limit_is_overtaken_no_more_often_than_is_said(law: tuple[float, ...]) -> None:
    said = happens = 0.0
    for rows in product(range(len(law)), repeat=ROWS):
        chance = prod(law[value] for value in rows)
        said += chance * limit_chance(rows.count(max(rows)))
        happens += chance * (1 - sum(law[: max(rows) + 1]) ** ROWS)
    assert happens <= said
    assert said < 1


@pytest.mark.parametrize("law", LAWS)
def test_a_new_value_comes_no_more_often_than_is_said(law: tuple[float, ...]) -> None:
    expected = happens = 0.0
    for rows in product(range(len(law)), repeat=ROWS):
        chance = prod(law[value] for value in rows)
        counts = Counter(rows)
        # Without the limit of 1, which only makes it lower: what is promised is that the mean is not too low.
        expected += chance * sum(2.0 ** (1 - count) for count in counts.values())
        happens += chance * (1 - sum(law[value] for value in counts) ** ROWS)
    assert happens <= expected


def test_more_rows_leave_less_doubt() -> None:
    chances = [exception_chance(count) for count in (9, 10, 30, 100, 10**6)]
    assert chances == sorted(chances, reverse=True)
    assert chances[1] < 0.05 < chances[0]
    seen = [new_value_chance(np.array([50, times])) for times in (50, 5, 1)]
    assert seen == sorted(seen)
    assert new_value_chance(np.array([1] * 9)) == 1


def test_exceptions_are_as_rare_as_the_prior_says() -> None:
    """Half of all laws have no exceptions, in the others their share is drawn; of those some kept the rule so far."""
    random = np.random.default_rng(7)
    shares = np.where(random.random(400_000) < 0.5, 0.0, random.beta(0.2, 1, 400_000))
    for count in (10, 60):
        kept = shares[random.random(len(shares)) < (1 - shares) ** count]
        breaks = np.mean(1 - (1 - kept) ** count)
        assert breaks == pytest.approx(exception_chance(count), rel=0.08)


def test_numbers_that_thin_out_towards_zero_may_fall_below_it() -> None:
    random = np.random.default_rng(1)
    near = np.abs(random.normal(5, 2, 200)) + 0.1
    assert below_zero_chance(near) > 0.05
    assert below_zero_chance(random.normal(500, 2, 200)) < 0.04
    assert below_zero_chance(random.lognormal(0, 1, 200)) < 0.04
