"""Which dependencies share a grouping: those with the same left side, and those whose left side is part of another's.

This is MATCH of the one-pass papers, with counts in place of sets of row ids. Rows are counted once by all columns that
the dependencies of a grouping name; each then adds up the counts by its own columns. Where the dependencies hold, their
right sides follow from the left one, so that counting by all of them makes hardly more lines than one would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.rules.dependency import CFD, FD, Key


@dataclass(frozen=True)
class Grouping:
    """Rows counted by `columns` and the truth values `scopes`, for the rules at the positions `which`.

    `left` is the left side that contains those of all its rules.
    """

    left: tuple[str, ...]
    columns: tuple[str, ...]
    scopes: tuple[str, ...]
    which: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether it serves several rules; one alone counts by its own columns at once."""
        return len(self.which) > 1


def make_groupings(
    dependencies: Mapping[int, Key | FD | CFD], scopes: Mapping[int, str | None]
) -> tuple[Grouping, ...]:
    """The groupings of these dependencies, each in exactly one, in order of first use.

    A key takes in no smaller left sides: when it holds it has as many groups as rows, and adding those up is no less
    work than counting the rows.
    """
    members: dict[frozenset[str], list[int]] = {}
    sides = {i: frozenset(left_side(dependency)) for i, dependency in dependencies.items()}
    wide = [sides[i] for i, dependency in dependencies.items() if not isinstance(dependency, Key)]
    for i, side in sides.items():
        containing = [other for other in wide if side <= other]
        host = max(containing, key=len, default=side)
        members.setdefault(host, []).append(i)
    found = []
    for host, which in members.items():
        first = next(i for i, side in sides.items() if side == host)
        left = left_side(dependencies[first])
        named = [name for i in which for name in (*left_side(dependencies[i]), *right_side(dependencies[i]))]
        held = [scope for i in which if (scope := scopes[i]) is not None]
        found.append(Grouping(left, tuple(dict.fromkeys([*left, *named])), tuple(dict.fromkeys(held)), tuple(which)))
    return tuple(found)


def left_side(dependency: Key | FD | CFD) -> tuple[str, ...]:
    return dependency.columns if isinstance(dependency, Key) else dependency.left


def right_side(dependency: Key | FD | CFD) -> tuple[str, ...]:
    """Right-hand columns that are left free: by some pattern, where there are patterns."""
    if isinstance(dependency, Key):
        return ()
    if isinstance(dependency, FD):
        return dependency.right
    lines = dependency.patterns
    return tuple(c for i, c in enumerate(dependency.right) if any(line.right[i] is None for line in lines))
