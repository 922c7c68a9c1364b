"""Time of a search: spent by phase, and left of a limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds spent, by phase, and how many are left of the limit."""

    def __init__(self, limit: float | None) -> None:
        self._end = None if limit is None else time.monotonic() + limit
        self.phases: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.monotonic() - started

    def part(self, share: float) -> Clock:
        """A clock that ends when so large a share of what is left has passed, and counts the same phases."""
        left = self.left
        part = Clock(None if left is None else share * left)
        part.phases = self.phases
        return part

    @property
    def end(self) -> float | None:
        """When the limit is reached, by the monotonic clock."""
        return self._end

    @property
    def left(self) -> float | None:
        return None if self._end is None else self._end - time.monotonic()

    @property
    def over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end
