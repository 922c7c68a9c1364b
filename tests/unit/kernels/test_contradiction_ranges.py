"""Where values lie decides comparisons that could hold otherwise."""

from __future__ import annotations

import numpy as np

from holdfast.kernels.contradiction import ANYWHERE, contradictory
from holdfast.rules.relation import ANY, GE, LE, LT

LEFT, RIGHT = np.array([0, 0]), np.array([1, 2])


def test_a_value_between_two_that_never_meet_is_contradictory() -> None:
    # flight >= year and flight <= minute, where year is 2013 and minute below 60.
    allowed = np.array([[GE, LE], [GE, ANY], [LE, LE]], np.uint8)
    ranges = np.array([ANYWHERE, (2013, 2013), (0, 59)], np.int64)
    assert contradictory(allowed, LEFT, RIGHT, ranges).tolist() == [True, False, False]
    assert not contradictory(allowed, LEFT, RIGHT).any()


def test_ranges_that_touch_contradict_only_what_is_strict() -> None:
    allowed = np.array([[GE, LE], [GE, LT]], np.uint8)
    ranges = np.array([ANYWHERE, (5, 9), (0, 5)], np.int64)
    assert contradictory(allowed, LEFT, RIGHT, ranges).tolist() == [False, True]
