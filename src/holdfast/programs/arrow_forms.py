"""Forms and flags over rows in this process: columns as codes, conditions on one row as truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.live_codes import BoundCode
from holdfast.programs.condition import parsed_condition
from holdfast.programs.form import AllOf, AnyOf, BreaksConstant, Flag, LeavesFree, Satisfies, Where, by_bound_columns
from holdfast.rules.dependency import CFD
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, NullTest, Predicate, TextTest
from holdfast.rules.relation import EQ, GT, LT, NE
from holdfast.rules.rule import Nulls

Bools = NDArray[np.bool_]


class CodedColumns(Protocol):
    """CodedColumns that have come: codes and validity by column name, their constants, and the values themselves."""

    nulls: Nulls

    def __len__(self) -> int: ...

    def codes(self, name: str) -> NDArray[np.int64]: ...

    def valid(self, name: str) -> Bools: ...

    def bound(self, name: str, constant: Constant) -> BoundCode | None:
        """The constant's place among the column's codes; None where the column has no values yet."""

    def values(self) -> pa.Table: ...


def flag_values(flag: Flag, rows: CodedColumns) -> Bools:
    """Which rows have the flag."""
    match flag:
        case Satisfies(predicate):
            return _satisfied(predicate, rows)
        case Where(condition):
            return parsed_condition(condition).holds(rows.values())
        case AllOf(flags):
            values = [flag_values(part, rows) for part in flags]
            return np.asarray(np.logical_and.reduce(values), np.bool_)
        case AnyOf(flags):
            values = [flag_values(part, rows) for part in flags]
            return np.asarray(np.logical_or.reduce(values), np.bool_)
        case LeavesFree():
            return _leaves_free(flag, rows)
        case BreaksConstant():
            return _breaks_constant(flag.dependency, rows)


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
    return _within_row(rows, predicate, predicate.right)


def _text_test(test: TextTest, rows: CodedColumns) -> Bools:
    values = rows.values().column(test.column.name).combine_chunks().dictionary_encode()
    # Each distinct value is tested once; the last place is that of nulls.
    passed = [value is not None and test.holds(value) for value in values.dictionary.to_pylist()]
    null_passes = rows.nulls == "equal" and not test.positive
    places = pc.fill_null(values.indices, len(passed)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*passed, null_passes], np.bool_)[places], np.bool_)


def _within_row(rows: CodedColumns, predicate: Comparison, right: Column) -> Bools:
    a, b = predicate.left.name, right.name
    x, y, va, vb = rows.codes(a), rows.codes(b), rows.valid(a), rows.valid(b)
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
    free = np.zeros(len(rows), np.bool_)
    for names, patterns in by_bound_columns(flag.dependency, flag.lines).items():
        codes = {code for code in (_codes_of(rows, names, constants) for _, constants in patterns) if code is not None}
        free |= np.fromiter((side in codes for side in _sides(rows, names)), np.bool_, len(rows))
    return free


def _breaks_constant(dependency: CFD, rows: CodedColumns) -> Bools:
    broken = np.zeros(len(rows), np.bool_)
    for place, column in enumerate(dependency.right):
        lines = [line for line in dependency.patterns if line.right[place] is not None]
        for names, patterns in by_bound_columns(dependency, lines).items():
            required = [(constants, line.right[place]) for line, constants in patterns]
            broken |= _breaks(dependency, rows, names, column, required)
    return broken


def _breaks(
    dependency: CFD,
    rows: CodedColumns,
    names: tuple[str, ...],
    column: str,
    required: Sequence[tuple[tuple[Constant, ...], Constant | None]],
) -> Bools:
    """The left side is one of those with a required value, and the column does not have it."""
    by_side: dict[tuple[int, ...], set[int | None]] = {}
    for constants, value in required:
        side = _codes_of(rows, names, constants)
        if side is not None:
            assert value is not None, "only patterns with a constant there"
            right = _codes_of(rows, (column,), (value,))
            by_side.setdefault(side, set()).add(None if right is None else right[0])
    valid, codes = rows.valid(column), rows.codes(column)
    broken = np.zeros(len(rows), np.bool_)
    for at, own_side in enumerate(_sides(rows, names)):
        wanted = by_side.get(own_side) if own_side is not None else None
        if wanted is not None:
            broken[at] = not valid[at] or wanted != {int(codes[at])}
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


def _sides(rows: CodedColumns, names: Sequence[str]) -> list[tuple[int, ...] | None]:
    """Per row its codes in the columns, or None where one is null."""
    if not names:
        return [()] * len(rows)
    valid = np.logical_and.reduce([rows.valid(name) for name in names])
    columns = [rows.codes(name).tolist() for name in names]
    return [side if ok else None for side, ok in zip(zip(*columns, strict=True), valid.tolist(), strict=True)]
