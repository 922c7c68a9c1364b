"""Which dependencies share a grouping: those with the same left side, and those whose left side is part of another's.

This is MATCH of the one-pass papers, with counts in place of sets of row ids. Rows are counted once by all forms that
the dependencies of a grouping compare; each then adds up the counts by its own. Where the dependencies hold, their
right sides follow from the left one, so that counting by all of them makes hardly more lines than one would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.programs.program import GroupProgram, forms_and_flags


@dataclass(frozen=True)
class Grouping:
    """Rows counted by these forms and flags, for the rules at the positions `which`.

    `left` are the forms of the left side that contains those of all its rules.
    """

    left: tuple[int, ...]
    forms: tuple[int, ...]
    flags: tuple[int, ...]
    which: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether it serves several rules; one alone counts by its own columns at once."""
        return len(self.which) > 1

    def counts_sql(self) -> str:
        """(f.., b.., n): the rows of {rows}, counted."""
        columns = ", ".join([*(f"f{i}" for i in self.forms), *(f"b{i}" for i in self.flags)])
        return f"SELECT {columns}, count(*) AS n FROM {{rows}} GROUP BY {columns}"


def make_groupings(programs: Mapping[int, GroupProgram]) -> tuple[Grouping, ...]:
    """The groupings of these dependencies, by position, each in exactly one, in order of first use.

    A key takes in no smaller left sides: when it holds it has as many groups as rows, and adding those up is no less
    work than counting the rows.
    """
    members: dict[frozenset[int], list[int]] = {}
    sides = {i: frozenset(program.left) for i, program in programs.items()}
    wide = [sides[i] for i, program in programs.items() if program.right]
    for i, side in sides.items():
        containing = [other for other in wide if side <= other]
        host = max(containing, key=len, default=side)
        members.setdefault(host, []).append(i)
    groupings = []
    for host, which in members.items():
        first = next(i for i, side in sides.items() if side == host)
        left = programs[first].left
        forms: dict[int, None] = dict.fromkeys(left)
        flags: dict[int, None] = {}
        for i in which:
            own_forms, own_flags = forms_and_flags(programs[i])
            forms |= dict.fromkeys(own_forms)
            flags |= dict.fromkeys(own_flags)
        groupings.append(Grouping(left, tuple(forms), tuple(flags), tuple(which)))
    return tuple(groupings)
