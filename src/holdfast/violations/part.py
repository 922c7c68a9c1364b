"""Rows as arrays: the forms and flags that programs refer to, coded, for one part of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.codes import Coded, shared_codes
from holdfast.programs.program import PairProgram, Program, Programs
from holdfast.rules.rule import Nulls

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# The parts that a row plays in a pair.
LEFT, RIGHT, BOTH = 1, 2, 3


@dataclass(frozen=True)
class Roles:
    """Which rows of a part may be left rows and which right rows; `twin` where the same row plays both parts there."""

    left: Bools
    right: Bools
    twin: Bools


@dataclass(frozen=True)
class Part:
    """Rows as arrays: coded forms, flags, and the order of their keys. Without `roles` every row plays both parts."""

    size: int
    forms: Sequence[Coded]
    flags: Sequence[Bools]
    order: Ints
    nulls: Nulls
    roles: Roles | None = None

    def flag(self, number: int | None) -> Bools:
        return np.ones(self.size, np.bool_) if number is None else self.flags[number]


def part_of(table: pa.Table, programs: Programs, roles: Roles | None = None) -> Part:
    """The rows as arrays; forms and flags that did not arrive are empty."""
    order = shared_codes([table.column("k")])[0].codes
    present = set(table.column_names)
    nobody = np.zeros(0, np.bool_)
    flags = [
        table.column(f"b{i}").to_numpy().astype(np.bool_) if f"b{i}" in present else nobody
        for i in range(len(programs.flags))
    ]
    return Part(table.num_rows, _coded(table, programs), flags, order, programs.nulls, roles)


def _coded(table: pa.Table, programs: Programs) -> list[Coded]:
    """Every form as codes; forms that some program compares with each other share theirs."""
    nothing = Coded(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    coded = [nothing] * len(programs.forms)
    for family in families(programs.programs, len(programs.forms)):
        present = [i for i in family if f"f{i}" in table.column_names]
        if present:
            for i, codes in zip(present, shared_codes([table.column(f"f{i}") for i in present]), strict=True):
                coded[i] = codes
    return coded


def families(programs: Sequence[Program], size: int) -> list[list[int]]:
    """The forms, divided into those that are compared with each other, directly or through others."""
    root = list(range(size))

    def find(i: int) -> int:
        while root[i] != i:
            i = root[i]
        return i

    for program in programs:
        if isinstance(program, PairProgram):
            for compare in (c for denial in program.denials for c in denial.compares):
                root[find(compare.left)] = find(compare.right)
    members: dict[int, list[int]] = {}
    for i in range(size):
        members.setdefault(find(i), []).append(i)
    return list(members.values())
