"""States that add up: what the parts of a table, or the changes of it, say one by one, they say together as a sum."""

from __future__ import annotations

from typing import Protocol, Self


class Mergeable(Protocol):
    """A state that can grow. `plus` is associative, so that parts may be added up in any grouping.

    Where the order of the parts does not matter either, the type says so.
    """

    def plus(self, other: Self, /) -> Self:
        """Returns what both say together, this one first."""


class Reversible(Mergeable, Protocol):
    """A state that can also take parts back: `a.plus(b).minus(b)` is `a`."""

    def minus(self, other: Self, /) -> Self:
        """Returns what is left without the other, which is a part of this one."""
