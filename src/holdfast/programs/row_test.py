"""What a row must be by itself: conditions on one row, over its codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.live_codes import BoundCode
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, NullTest, Predicate
from holdfast.rules.relation import EQ, GT, LT, NE
from holdfast.rules.rule import Nulls

Bools = NDArray[np.bool_]


class Rows(Protocol):
    """Rows that have come: codes and validity by column name, their constants, and the values themselves."""

    nulls: Nulls

    def __len__(self) -> int: ...

    def codes(self, name: str) -> NDArray[np.int64]: ...

    def valid(self, name: str) -> Bools: ...

    def bound(self, name: str, constant: Constant) -> BoundCode | None:
        """The constant's place among the column's codes; None where the column has no values yet."""

    def values(self) -> pa.Table: ...


class RowTest(Protocol):
    """A condition on one row."""

    def __call__(self, rows: Rows) -> Bools: ...


@dataclass(frozen=True)
class AllOf:
    """All conditions hold; of none, always."""

    tests: tuple[RowTest, ...]

    def __call__(self, rows: Rows) -> Bools:
        held = np.ones(len(rows), np.bool_)
        for test in self.tests:
            held &= test(rows)
        return held


@dataclass(frozen=True)
class AnyOf:
    """One of the conditions holds."""

    tests: tuple[RowTest, ...]

    def __call__(self, rows: Rows) -> Bools:
        held = np.zeros(len(rows), np.bool_)
        for test in self.tests:
            held |= test(rows)
        return held


@dataclass(frozen=True)
class Satisfies:
    """The row satisfies the predicate, which speaks of one row."""

    predicate: Predicate

    def __call__(self, rows: Rows) -> Bools:
        predicate = self.predicate
        if isinstance(predicate, NullTest):
            valid = rows.valid(predicate.column.name)
            return ~valid if predicate.is_null else valid.copy()
        if isinstance(predicate, Membership):
            name = predicate.column.name
            equal = [with_constant(rows, name, EQ, value) for value in predicate.values]
            inside = np.logical_or.reduce(equal)
            if predicate.inside:
                return np.asarray(inside)
            return np.asarray(~inside if rows.nulls == "equal" else ~inside & rows.valid(name))
        if isinstance(predicate.right, Constant):
            return with_constant(rows, predicate.left.name, predicate.allowed, predicate.right)
        return _within_row(rows, predicate, predicate.right)


def _within_row(rows: Rows, predicate: Comparison, right: Column) -> Bools:
    a, b = predicate.left.name, right.name
    x, y, va, vb = rows.codes(a), rows.codes(b), rows.valid(a), rows.valid(b)
    held = va & vb & _allowed(predicate.allowed, x < y, x == y)
    if rows.nulls == "equal":
        if predicate.allowed & EQ:
            held |= ~va & ~vb
        if predicate.allowed == NE:
            held |= va != vb
    return held


def with_constant(rows: Rows, name: str, allowed: int, constant: Constant) -> Bools:
    """Which rows have, in the named column, a value in an allowed relation to the constant."""
    valid, bound = rows.valid(name), rows.bound(name, constant)
    if bound is None:
        held = np.zeros(len(rows), np.bool_)
    elif bound.code is None:
        held = valid & bool(allowed & bound.all_are)
    else:
        codes = rows.codes(name)
        equal = codes == bound.code
        below = codes < bound.code
        held = valid & (
            _allowed(allowed, below, equal) if bound.exact else _allowed(allowed, below | equal, equal & False)
        )
    return held | ~valid if rows.nulls == "equal" and allowed == NE else held


def _allowed(allowed: int, below: Bools, equal: Bools) -> Bools:
    held = np.zeros(len(below), np.bool_)
    if allowed & LT:
        held |= below
    if allowed & EQ:
        held |= equal
    if allowed & GT:
        held |= ~(below | equal)
    return held


@dataclass(frozen=True)
class FreeFor:
    """Some pattern that the row's left side matches leaves the right-hand column free."""

    dependency: CFD
    column: str

    def __call__(self, rows: Rows) -> Bools:
        place = self.dependency.right.index(self.column)
        lines = [line for line in self.dependency.patterns if line.right[place] is None]
        held = np.zeros(len(rows), np.bool_)
        for names, members in _by_shape(self.dependency, lines).items():
            wanted = {code for code in (_codes_of(rows, names, given) for _, given in members) if code is not None}
            held |= np.fromiter((side in wanted for side in _sides(rows, names)), np.bool_, len(rows))
        return held


@dataclass(frozen=True)
class BreaksConstant:
    """Some pattern that the row's left side matches wants another constant on the right."""

    dependency: CFD

    def __call__(self, rows: Rows) -> Bools:
        held = np.zeros(len(rows), np.bool_)
        for place, column in enumerate(self.dependency.right):
            lines = [line for line in self.dependency.patterns if line.right[place] is not None]
            for names, members in _by_shape(self.dependency, lines).items():
                held |= self._breaks(rows, names, column, [(given, line.right[place]) for line, given in members])
        return held

    def _breaks(
        self,
        rows: Rows,
        names: tuple[str, ...],
        column: str,
        members: Sequence[tuple[tuple[Constant, ...], Constant | None]],
    ) -> Bools:
        wanted: dict[tuple[int, ...], set[int | None]] = {}
        for given, value in members:
            code = _codes_of(rows, names, given)
            if code is not None:
                assert value is not None, "only lines with a constant there"
                right = _codes_of(rows, (column,), (value,))
                wanted.setdefault(code, set()).add(None if right is None else right[0])
        valid, codes = rows.valid(column), rows.codes(column)
        held = np.zeros(len(rows), np.bool_)
        for at, side in enumerate(_sides(rows, names)):
            asked = wanted.get(side) if side is not None else None
            if asked is not None:
                held[at] = not valid[at] or asked != {int(codes[at])}
        if rows.nulls == "sql":
            held &= valid
            if not self.dependency.inline:
                for name in self.dependency.left:  # `_` matches no null
                    held &= rows.valid(name)
        return held


def _by_shape(
    dependency: CFD, lines: Sequence[Pattern]
) -> Mapping[tuple[str, ...], list[tuple[Pattern, tuple[Constant, ...]]]]:
    """The lines by which left columns have constants, so that each shape is one look-up."""
    shapes: dict[tuple[str, ...], list[tuple[Pattern, tuple[Constant, ...]]]] = {}
    for line in lines:
        bound = [(n, v) for n, v in zip(dependency.left, line.left, strict=True) if v is not None]
        shapes.setdefault(tuple(n for n, _ in bound), []).append((line, tuple(v for _, v in bound)))
    return shapes


def _codes_of(rows: Rows, names: Sequence[str], constants: Sequence[Constant]) -> tuple[int, ...] | None:
    """The codes that equal the constants; None where no value does."""
    found = []
    for name, constant in zip(names, constants, strict=True):
        bound = rows.bound(name, constant)
        if bound is None or bound.code is None or not bound.exact:
            return None
        found.append(bound.code)
    return tuple(found)


def _sides(rows: Rows, names: Sequence[str]) -> list[tuple[int, ...] | None]:
    """Per row its codes in the columns, or None where one is null."""
    if not names:
        return [()] * len(rows)
    valid = np.logical_and.reduce([rows.valid(name) for name in names])
    columns = [rows.codes(name).tolist() for name in names]
    return [side if ok else None for side, ok in zip(zip(*columns, strict=True), valid.tolist(), strict=True)]
