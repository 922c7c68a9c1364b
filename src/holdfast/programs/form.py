"""Forms and flags: what a program reads of one row.

A form is a value that is compared with a value of another row. A flag is a condition on the row alone. Both are data:
`sql_forms` and `arrow_forms` compute them, and are the only places that know how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from holdfast.encode.column_type import SAME, Encoding
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.predicate import Constant, Predicate


@dataclass(frozen=True)
class Form:
    """A column, encoded so that it compares exactly with the columns it is compared with."""

    column: str
    encoding: Encoding = SAME


@dataclass(frozen=True)
class Satisfies:
    """The row satisfies the predicate, which mentions `t` only."""

    predicate: Predicate


@dataclass(frozen=True)
class Where:
    """The row satisfies a SQL condition, as a rule's `where` has it; null is no."""

    condition: str


@dataclass(frozen=True)
class AllOf:
    """All flags are true; there is at least one."""

    flags: tuple[Flag, ...]


@dataclass(frozen=True)
class AnyOf:
    """One of the flags is true; there is at least one."""

    flags: tuple[Flag, ...]


@dataclass(frozen=True)
class LeavesFree:
    """Some pattern that the row's left side matches leaves the right-hand column free."""

    dependency: CFD
    column: str

    @property
    def lines(self) -> list[Pattern]:
        """The patterns that leave the column free."""
        place = self.dependency.right.index(self.column)
        return [line for line in self.dependency.patterns if line.right[place] is None]


@dataclass(frozen=True)
class BreaksConstant:
    """Some pattern that the row's left side matches has another constant on the right than the row."""

    dependency: CFD


Flag: TypeAlias = Satisfies | Where | AllOf | AnyOf | LeavesFree | BreaksConstant

BoundPattern: TypeAlias = tuple[Pattern, tuple[Constant, ...]]


def by_bound_columns(dependency: CFD, lines: list[Pattern]) -> dict[tuple[str, ...], list[BoundPattern]]:
    """The patterns, by the left-hand columns that have constants in them, each with these constants.

    Patterns with constants in the same columns are one look-up, however many they are.
    """
    shapes: dict[tuple[str, ...], list[BoundPattern]] = {}
    for line in lines:
        bound = [(name, value) for name, value in zip(dependency.left, line.left, strict=True) if value is not None]
        names, constants = tuple(name for name, _ in bound), tuple(value for _, value in bound)
        shapes.setdefault(names, []).append((line, constants))
    return shapes
