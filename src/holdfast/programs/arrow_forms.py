"""Forms and flags over rows in this process: columns as codes, conditions on one row as truth values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.codes import dense_ids
from holdfast.encode.live_codes import BoundCode
from holdfast.programs.condition import Condition, parsed_condition
from holdfast.programs.form import AllOf, AnyOf, BreaksConstant, Flag, LeavesFree, Satisfies, Where, by_bound_columns
from holdfast.rules.dependency import CFD
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, NullTest, Predicate, TextTest
from holdfast.rules.relation import EQ, GT, LT, NE
from holdfast.rules.rule import Nulls

Bools = NDArray[np.bool_]

_NO_TEXT = pa.array([], pa.string()).dictionary_encode()
# A row, for conditions that speak of no column.
_NO_COLUMNS = pa.table({"": [0]})


class CodedColumns(Protocol):
    """Rows as codes and validity by column name, the places of constants among the codes, and the values themselves."""

    @property
    def nulls(self) -> Nulls: ...

    def __len__(self) -> int: ...

    def codes(self, name: str) -> NDArray[np.int64]: ...

    def valid(self, name: str) -> Bools: ...

    def compared_codes(self, a: str, b: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The codes of two columns, such that they compare as the values do."""

    def bound(self, name: str, constant: Constant) -> BoundCode | None:
        """The constant's place among the column's codes; None where the column has no values yet."""

    def values(self, names: Sequence[str]) -> pa.Table:
        """The values of these columns, as Arrow columns of their own types."""

    def lookups(self, flag: Flag, make: Callable[[], Sequence[SideLookup]]) -> Sequence[SideLookup]:
        """What `make` makes for the flag of the places of constants; again and again, or kept as long as these stay."""


@dataclass(frozen=True)
class SideLookup:
    """Left sides of a tableau as codes of these columns, each with its place among them.

    `wanted` are the codes that the right-hand column is to have, by place, unless no value is right there.
    """

    names: tuple[str, ...]
    places: Mapping[tuple[int, ...], int]
    right: str = ""
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    possible: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))

    def of(self, rows: CodedColumns) -> NDArray[np.int64]:
        """Per row, the place of its values in the columns; -1 where they are no left side, or null."""
        if not self.places:
            return np.full(len(rows), -1, np.int64)
        if not self.names:
            return np.zeros(len(rows), np.int64)
        valid = np.logical_and.reduce([rows.valid(name) for name in self.names])
        if len(rows) * _FEW < len(self.places):
            own_sides = zip(*(rows.codes(name).tolist() for name in self.names), strict=True)
            places = np.array([self.places.get(side, -1) for side in own_sides], np.int64)
            return np.where(valid, places, -1)
        sides = np.array(list(self.places), np.int64)
        everything = [np.concatenate([rows.codes(name), sides[:, i]]) for i, name in enumerate(self.names)]
        ids = dense_ids(everything, len(everything[0]))
        own, of_sides = ids[: len(rows)], ids[len(rows) :]
        order = np.argsort(of_sides)
        places = order[np.minimum(np.searchsorted(of_sides[order], own), len(sides) - 1)]
        return np.where(valid & (of_sides[places] == own), places, -1)


# Rows are looked up one by one where there are so many times as many left sides.
_FEW = 16


def flag_values(flag: Flag, rows: CodedColumns) -> Bools:
    """Which rows have the flag."""
    match flag:
        case Satisfies(predicate):
            return _satisfied(predicate, rows)
        case Where(condition):
            return _holds(parsed_condition(condition), rows)
        case AllOf(flags):
            values = [flag_values(part, rows) for part in flags]
            return np.asarray(np.logical_and.reduce(values), np.bool_)
        case AnyOf(flags):
            values = [flag_values(part, rows) for part in flags]
            return np.asarray(np.logical_or.reduce(values), np.bool_)
        case LeavesFree():
            return _leaves_free(flag, rows)
        case BreaksConstant():
            return _breaks_constant(flag, rows)


def _satisfied(predicate: Predicate, rows: CodedColumns) -> Bools:
    if isinstance(predicate, NullTest):
        valid = rows.valid(predicate.column.name)
        return ~valid if predicate.is_null else valid.copy()
    if isinstance(predicate, Membership):
        name = predicate.column.name
        inside = np.logical_or.reduce([with_constant(rows, name, EQ, value) for value in predicate.values])
        if predicate.inside:
            return np.asarray(inside)
        return np.asarray(~inside if rows.nulls == "equal" else ~inside & rows.valid(name))
    if isinstance(predicate, TextTest):
        return _text_test(predicate, rows)
    if isinstance(predicate.right, Constant):
        return with_constant(rows, predicate.left.name, predicate.allowed, predicate.right)
    assert isinstance(predicate.right, Column), "expressions are computed columns here"
    return _within_row(rows, predicate, predicate.right)


def _holds(condition: Condition, rows: CodedColumns) -> Bools:
    if not condition.columns:
        return np.full(len(rows), condition.holds(_NO_COLUMNS)[0], np.bool_)
    return condition.holds(rows.values(condition.columns))


def _text_test(test: TextTest, rows: CodedColumns) -> Bools:
    column = rows.values([test.column.name]).column(test.column.name)
    if pa.types.is_null(column.type):
        return np.full(len(rows), rows.nulls == "equal" and not test.positive, np.bool_)
    values = pa.concat_arrays([chunk.dictionary_encode() for chunk in column.chunks] or [_NO_TEXT])
    # Each distinct value is tested once; the last place is that of nulls.
    passed = [value is not None and test.holds(value) for value in values.dictionary.to_pylist()]
    null_passes = rows.nulls == "equal" and not test.positive
    places = pc.fill_null(values.indices, len(passed)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*passed, null_passes], np.bool_)[places], np.bool_)


def _within_row(rows: CodedColumns, predicate: Comparison, right: Column) -> Bools:
    a, b = predicate.left.name, right.name
    (x, y), va, vb = rows.compared_codes(a, b), rows.valid(a), rows.valid(b)
    held = va & vb & _allowed(predicate.allowed, x < y, x == y)
    if rows.nulls == "equal":
        if predicate.allowed & EQ:
            held |= ~va & ~vb
        if predicate.allowed == NE:
            held |= va != vb
    return held


def with_constant(rows: CodedColumns, name: str, allowed: int, constant: Constant) -> Bools:
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


def _leaves_free(flag: LeavesFree, rows: CodedColumns) -> Bools:
    def make() -> list[SideLookup]:
        lookups = []
        for names, patterns in by_bound_columns(flag.dependency, flag.lines).items():
            codes = (_codes_of(rows, names, constants) for _, constants in patterns)
            sides = dict.fromkeys(side for side in codes if side is not None)
            lookups.append(SideLookup(names, {side: place for place, side in enumerate(sides)}))
        return lookups

    free = np.zeros(len(rows), np.bool_)
    for lookup in rows.lookups(flag, make):
        free |= lookup.of(rows) >= 0
    return free


def _breaks_constant(flag: BreaksConstant, rows: CodedColumns) -> Bools:
    dependency = flag.dependency

    def make() -> list[SideLookup]:
        lookups = []
        for place, column in enumerate(dependency.right):
            lines = [line for line in dependency.patterns if line.right[place] is not None]
            for names, patterns in by_bound_columns(dependency, lines).items():
                required = [(constants, line.right[place]) for line, constants in patterns]
                lookups.append(_required_sides(rows, names, column, required))
        return lookups

    broken = np.zeros(len(rows), np.bool_)
    for lookup in rows.lookups(flag, make):
        broken |= _breaks(dependency, rows, lookup)
    return broken


def _required_sides(
    rows: CodedColumns,
    names: tuple[str, ...],
    column: str,
    required: Sequence[tuple[tuple[Constant, ...], Constant | None]],
) -> SideLookup:
    by_side: dict[tuple[int, ...], set[int | None]] = {}
    for constants, value in required:
        left = _codes_of(rows, names, constants)
        if left is not None:
            assert value is not None, "only patterns with a constant there"
            right = _codes_of(rows, (column,), (value,))
            by_side.setdefault(left, set()).add(None if right is None else right[0])
    # Of sides with several required values, or with one that no row can have, every value is wrong.
    wanted = [next(iter(values)) if len(values) == 1 else None for values in by_side.values()]
    return SideLookup(
        names,
        {side: place for place, side in enumerate(by_side)},
        column,
        np.array([code or 0 for code in wanted], np.int64),
        np.array([code is not None for code in wanted], np.bool_),
    )


def _breaks(dependency: CFD, rows: CodedColumns, lookup: SideLookup) -> Bools:
    """The left side is one of those with a required value, and the column does not have it."""
    side = lookup.of(rows)
    held = np.flatnonzero(side >= 0)
    valid, codes = rows.valid(lookup.right), rows.codes(lookup.right)
    broken = np.zeros(len(rows), np.bool_)
    broken[held] = ~(valid[held] & lookup.possible[side[held]] & (codes[held] == lookup.wanted[side[held]]))
    if rows.nulls == "sql":
        broken &= valid
        if not dependency.inline:
            for name in dependency.left:  # `_` matches no null
                broken &= rows.valid(name)
    return broken


def _codes_of(rows: CodedColumns, names: Sequence[str], constants: Sequence[Constant]) -> tuple[int, ...] | None:
    """The codes that equal the constants; None where no value does."""
    codes = []
    for name, constant in zip(names, constants, strict=True):
        bound = rows.bound(name, constant)
        if bound is None or bound.code is None or not bound.exact:
            return None
        codes.append(bound.code)
    return tuple(codes)
