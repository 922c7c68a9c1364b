"""Which rules share a table of a state: those whose rows meet by the same equalities.

Such a table holds, for every row that can be in a pair, its key and what the rules of the group compare, under the hash
of the equalities. A row that is left row under one hash and right row under another is entered under both.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from holdfast.programs.plan import Plan
from holdfast.programs.program import GroupProgram, PairProgram, Programs, RowProgram
from holdfast.rules.relation import EQ, NE
from holdfast.rules.rule import Nulls
from holdfast.violations.part import BOTH, LEFT, RIGHT, Bools, Ints
from holdfast.violations.route import Meeting, meeting, needed_columns

# Groups of rows that are in no table: those that break a rule alone, and notes from one task to the next.
ALONE, NOTES = -1, -2


@dataclass(frozen=True)
class PairGroup:
    """Rules, by position, whose rows meet by the same equalities, and what of a row they read."""

    meets: Meeting
    rules: tuple[int, ...]
    forms: tuple[int, ...]
    flags: tuple[int, ...]
    sorted_by: int | None
    zoned: tuple[int, ...]

    @property
    def columns(self) -> list[str]:
        return [*(f"f{i}" for i in self.forms), *(f"b{i}" for i in self.flags)]


@dataclass(frozen=True)
class GroupedPrograms:
    """The programs of a rule set as pairs and as single rows, and the groups of those that speak of pairs.

    Of the rules in `absent`, by position, it is rows that violate: the left rows that are in no pair of the program.
    """

    programs: Programs
    groups: tuple[PairGroup, ...]
    absent: frozenset[int] = frozenset()

    def program(self, rule: int) -> PairProgram:
        program = self.programs.programs[rule]
        assert isinstance(program, PairProgram), "groups have rules over pairs only"
        return program

    @cached_property
    def alone(self) -> dict[int, int]:
        """The flag of rows that break the rule by themselves, by the rule's position."""
        flags = {i: p.alone for i, p in enumerate(self.programs.programs) if not isinstance(p, GroupProgram)}
        return {i: flag for i, flag in flags.items() if flag is not None}

    def speaks_of_pairs(self, rule: int) -> bool:
        return rule not in self.absent and not isinstance(self.programs.programs[rule], RowProgram)

    def about(self, number: int, plan: Plan) -> str:
        """A fingerprint of what the group's table holds when forms and flags are computed as the plan says."""
        group = self.groups[number]
        content = [
            [plan.forms[i] for i in group.meets.left],
            [plan.forms[i] for i in group.meets.right],
            {f"f{i}": plan.forms[i] for i in group.forms},
            {f"b{i}": plan.flags[i] for i in group.flags},
            group.sorted_by,
            group.zoned,
            self.programs.nulls,
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:24]

    def routes_sql(self, which: Sequence[int] | None = None, *, alone: bool = True) -> str:
        """SQL for the array of (g, h, role) of a row: the groups it belongs to, its hash there, the parts it plays.

        Of all groups and the one of rows alone, or only of those given.
        """
        numbers = range(len(self.groups)) if which is None else which
        parts = [self._route(number) for number in numbers]
        flags = sorted(set(self.alone.values()))
        if alone and flags:
            parts.append(
                f"IF({' OR '.join(f'b{flag}' for flag in flags)}, array({_place(ALONE, '0L', BOTH)}), array())"
            )
        return f"concat({', '.join(parts)})" if parts else f"slice(array({_place(NOTES, '0L', BOTH)}), 1, 0)"

    def _route(self, number: int) -> str:
        meets = self.groups[number].meets
        left, right = meets.hashes_sql
        if meets.in_one_place:
            return _unless_null(meets.left + meets.right, self.programs.nulls, _place(number, left, BOTH))
        both = f"IF({left} = {right}, array({_place(number, left, BOTH)}), array({_place(number, left, LEFT)}, "
        both += f"{_place(number, right, RIGHT)}))"
        if self.programs.nulls == "equal":
            return both
        as_left = _unless_null(meets.left, "sql", _place(number, left, LEFT))
        as_right = _unless_null(meets.right, "sql", _place(number, right, RIGHT))
        known = " AND ".join(f"f{i} IS NOT NULL" for i in sorted({*meets.left, *meets.right}))
        return f"IF({known}, {both}, concat({as_left}, {as_right}))"

    def routes(self, rows: pa.Table, which: Sequence[int] | None = None, *, alone: bool = True) -> list[Route]:
        """Where each of the rows, with forms `f0`, ... and flags `b0`, ..., goes: the twin of `routes_sql`."""
        numbers = range(len(self.groups)) if which is None else which
        routes = [route for number in numbers for route in self._routes(number, rows)]
        flags = sorted(set(self.alone.values()))
        if alone and flags:
            broken = np.logical_or.reduce([rows.column(f"b{flag}").to_numpy().astype(np.bool_) for flag in flags])
            routes.append(_route(ALONE, broken, np.zeros(rows.num_rows, np.int64), BOTH))
        return [route for route in routes if len(route.rows)]

    def _routes(self, number: int, rows: pa.Table) -> list[Route]:
        meets, nulls = self.groups[number].meets, self.programs.nulls
        left, right = meets.hashes(rows)
        if meets.in_one_place:
            return [_route(number, _able_to_meet(rows, meets.left + meets.right, nulls), left, BOTH)]
        as_left, as_right = _able_to_meet(rows, meets.left, nulls), _able_to_meet(rows, meets.right, nulls)
        both = as_left & as_right & (left == right)
        return [
            _route(number, both, left, BOTH),
            _route(number, as_left & ~both, left, LEFT),
            _route(number, as_right & ~both, right, RIGHT),
        ]


@dataclass(frozen=True)
class Route:
    """Rows, by position, that go to a group in one role, and their hashes there."""

    group: int
    rows: Ints
    hashes: Ints
    role: int


def _route(group: int, chosen: Bools, hashes: Ints, role: int) -> Route:
    rows = np.flatnonzero(chosen)
    return Route(group, rows, hashes[rows], role)


def _able_to_meet(rows: pa.Table, forms: Sequence[int], nulls: Nulls) -> Bools:
    """Which rows can meet another by these forms: the twin of `_unless_null`."""
    able = np.ones(rows.num_rows, np.bool_)
    if nulls == "sql":
        for form in set(forms):
            able &= np.asarray(rows.column(f"f{form}").is_valid().to_numpy(), np.bool_)
    return able


def _place(group: int, hash_sql: str, role: int) -> str:
    return f"named_struct('g', {group}, 'h', {hash_sql}, 'role', {role})"


def _unless_null(forms: Sequence[int], nulls: Nulls, place: str) -> str:
    """The one place, or none for a row that can meet no other."""
    if nulls == "equal" or not forms:
        return f"array({place})"
    return f"IF({' AND '.join(f'f{i} IS NOT NULL' for i in sorted(set(forms)))}, array({place}), array())"


def pair_groups(programs: Programs, absent: frozenset[int] = frozenset()) -> GroupedPrograms:
    """The groups of the rules, in order of first use; `absent` are those that want every left row to be in a pair."""
    paired = programs.as_pairs()
    members: dict[Meeting, list[int]] = {}
    for i, program in enumerate(paired.programs):
        if isinstance(program, PairProgram):
            members.setdefault(meeting(program), []).append(i)
    groups = tuple(
        _group(meets, rules, [p for p in (paired.programs[i] for i in rules) if isinstance(p, PairProgram)])
        for meets, rules in members.items()
    )
    return GroupedPrograms(paired, groups, absent)


def _group(meets: Meeting, rules: Sequence[int], programs: Sequence[PairProgram]) -> PairGroup:
    forms: set[int] = {*meets.left, *meets.right}
    flags: set[int] = set()
    for program in programs:
        for denial in program.denials:
            flags |= {flag for flag in (denial.left, denial.right) if flag is not None}
        forms |= needed_columns(program)[0]
    compares = [c for program in programs for denial in program.denials for c in denial.compares if c.allowed != EQ]
    ordered = Counter(form for c in compares if c.allowed != NE for form in {c.left, c.right})
    unequal = Counter(form for c in compares for form in {c.left, c.right})
    favourite = (ordered or unequal).most_common(1)
    return PairGroup(
        meets=meets,
        rules=tuple(rules),
        forms=tuple(sorted(forms)),
        flags=tuple(sorted(flags)),
        sorted_by=favourite[0][0] if favourite else None,
        zoned=tuple(sorted(unequal)),
    )
