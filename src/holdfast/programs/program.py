"""Programs: what rules ask of rows and pairs of rows, over numbered forms and flags, and nothing else.

Whoever runs a program gives it the forms `f0`, `f1`, ... and the flags `b0`, `b1`, ... of rows; column names do not
matter to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.programs.form import Flag, Form
from holdfast.rules.relation import EQ, NE, swapped
from holdfast.rules.rule import Nulls


@dataclass(frozen=True)
class Compare:
    """Form `left` of the left row and form `right` of the right row are in an allowed relation."""

    left: int
    right: int
    allowed: int

    def mirrored(self) -> Compare:
        return Compare(self.right, self.left, swapped(self.allowed))


@dataclass(frozen=True)
class PairDenial:
    """No two rows, the left one with flag `left`, the right one with flag `right`, satisfy all comparisons.

    Denials of a program with the same `origin` have no pair in common: they are the ways to satisfy one constraint.
    """

    left: int | None
    right: int | None
    compares: tuple[Compare, ...]
    symmetric: bool
    origin: int | None = None

    def is_mirror_of(self, other: PairDenial) -> bool:
        """Whether (t, s) violates this exactly where (s, t) violates the other."""
        turned = {compare.mirrored() for compare in other.compares}
        return (self.left, self.right, set(self.compares)) == (other.right, other.left, turned)


@dataclass(frozen=True)
class PairProgram:
    """Violating pairs are those of any denial; with `alone`, rows with that flag violate by themselves."""

    denials: tuple[PairDenial, ...]
    symmetric: bool
    alone: int | None = None


@dataclass(frozen=True)
class RightSide:
    """A form on which rows of a group must agree: those with flag `free`, or all where that is None."""

    form: int
    free: int | None = None


@dataclass(frozen=True)
class GroupProgram:
    """Rows with flag `scope` that agree on `left` must agree on each of `right`; without `right`, must not be two.

    Rows that agree on `left` have the same flags `free`: a group is free in a right side, or it is not.
    """

    scope: int | None
    left: tuple[int, ...]
    right: tuple[RightSide, ...]
    alone: int | None = None

    def as_pairs(self) -> PairProgram:
        """The program as what it denies: two rows that agree on the left and differ somewhere on the right."""
        agree = tuple(Compare(form, form, EQ) for form in self.left)
        if not self.right:
            return PairProgram((PairDenial(self.scope, self.scope, agree, True),), True, self.alone)
        denials = []
        for side in self.right:
            flag = self.scope if side.free is None else side.free
            denials.append(PairDenial(flag, flag, (*agree, Compare(side.form, side.form, NE)), True))
        return PairProgram(tuple(denials), True, self.alone)


@dataclass(frozen=True)
class RowProgram:
    """No row has flag `alone`."""

    alone: int


Program = PairProgram | GroupProgram | RowProgram


@dataclass(frozen=True)
class Programs:
    """The programs of a rule set, in order, and the forms and flags that they refer to by number."""

    programs: tuple[Program, ...]
    forms: tuple[Form, ...]
    flags: tuple[Flag, ...]
    nulls: Nulls

    def as_pairs(self) -> Programs:
        """The same with every dependency as what it denies."""
        pairs = (p.as_pairs() if isinstance(p, GroupProgram) else p for p in self.programs)
        return replace(self, programs=tuple(pairs))


def is_symmetric(program: Program) -> bool:
    """Whether (t, s) violates the program exactly where (s, t) does, so that each pair is listed once."""
    return isinstance(program, GroupProgram) or (isinstance(program, PairProgram) and program.symmetric)


def forms_and_flags(program: Program) -> tuple[list[int], list[int]]:
    """The forms and the flags that two rows are compared by, in order; not the flag of rows that violate alone."""
    forms: set[int] = set()
    flags: set[int | None] = set()
    if isinstance(program, GroupProgram):
        forms = {*program.left, *(side.form for side in program.right)}
        flags = {program.scope, *(side.free for side in program.right)}
    elif isinstance(program, PairProgram):
        forms = {form for d in program.denials for c in d.compares for form in (c.left, c.right)}
        flags = {flag for d in program.denials for flag in (d.left, d.right)}
    return sorted(forms), sorted(flag for flag in flags if flag is not None)


def one_of_mirrors(denials: Sequence[PairDenial]) -> list[PairDenial]:
    """The denials, without those whose mirror image is among them already."""
    kept: list[PairDenial] = []
    for denial in denials:
        if not any(denial.is_mirror_of(other) for other in kept):
            kept.append(denial)
    return kept


def shared_equalities(denials: Sequence[PairDenial]) -> list[Compare]:
    """The equalities that every denial has."""
    first, *others = denials
    return [c for c in first.compares if c.allowed == EQ and all(c in other.compares for other in others)]
