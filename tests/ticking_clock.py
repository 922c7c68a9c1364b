"""A clock for tests: a second passes at each look at it, and at no other time."""

from __future__ import annotations

from itertools import count

from holdfast.search.clock import Clock


def clock_of_looks(looks: int | None) -> Clock:
    """A clock that is over after so many looks; never without them."""
    seconds = count()
    return Clock(looks, now=lambda: float(next(seconds)))
