"""Work that an engine does in batches: as large as the time left allows, none when it is up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from holdfast.search.clock import Clock

_Item = TypeVar("_Item")

# A batch takes about such a share of the time left, so that little is missed when it is up.
_SHARE = 0.05


def timed_batches(items: Sequence[_Item], clock: Clock, *, most: int) -> Iterator[Sequence[_Item]]:
    """The items in their order, at most so many at once; the first one alone where there is a limit, and more at once
    while that takes a small share of the time left.

    >>> [list(batch) for batch in timed_batches("abcde", Clock(None), most=4)]
    [['a', 'b', 'c', 'd'], ['e']]
    """
    at, size, before = 0, most if clock.left is None else 1, clock.left
    while at < len(items) and not clock.over:
        yield items[at : at + size]
        at, left = at + size, clock.left
        if before is not None and left is not None:
            quick = before - left <= _SHARE * left
            size, before = min(2 * size, most) if quick else max(size // 2, 1), left
