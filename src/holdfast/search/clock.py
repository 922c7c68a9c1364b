"""Time of a discovery: spent by phase, and left of the limit that all its steps share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Clock:
    """Seconds spent, by phase, and how many are left of the limit, which counts from when the job `started`.

    A step that may take longer than a fraction of a second looks whether the clock is over, ends with what it has, and
    says so. `now` tells the time: the monotonic clock's, unless a test has another one.

    >>> seconds = iter(range(10))
    >>> clock = Clock(2, now=lambda: next(seconds))
    >>> clock.is_over(), clock.is_over(), clock.is_over()
    (False, True, True)
    """

    def __init__(
        self, limit: float | None, *, started: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._end = None if limit is None else (now() if started is None else started) + limit
        self.phases: dict[str, float] = {}
        self.whole = self

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = self._now()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + self._now() - started

    def part(self, share: float) -> Clock:
        """A clock that ends when so large a share of what is left has passed, and counts the same phases; this one is
        its `whole`, which what comes after may look at."""
        left = self.left
        part = Clock(None if left is None else share * left, now=self._now)
        part.phases, part.whole = self.phases, self
        return part

    @property
    def left(self) -> float | None:
        return None if self._end is None else self._end - self._now()

    @property
    def over(self) -> bool:
        return self._end is not None and self._now() >= self._end

    def is_over(self) -> bool:
        """As `over`, for what knows no clock and is told how to look."""
        return self.over
