"""Waiting for something to be so, with a deadline: the one place where tests pass time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str, *, seconds: float = 120.0) -> T:
    """Returns the first true value of the condition. Raises AssertionError, with what was waited for, at the deadline.

    >>> wait_until(iter([0, 0, 3]).__next__, "a number")
    3
    >>> wait_until(lambda: False, "the end of time", seconds=0.01)
    Traceback (most recent call last):
        ...
    AssertionError: waited 0.01 s in vain for the end of time
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.01)
