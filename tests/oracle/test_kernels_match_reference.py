"""Programs run by kernels find what reference.py finds, without Spark: thousands of small tables in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.encode.codes import Coded
from holdfast.programs.program import Compare, GroupProgram, PairDenial, PairProgram, Program, RowProgram
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import CFD, Key, Pattern, as_dependency, is_symmetric
from holdfast.rules.predicate import Column, Comparison, equals
from holdfast.rules.relation import GT, LT
from holdfast.rules.rule import Rule
from holdfast.violations.evaluate import UNLIMITED, evaluate, pairs_of
from holdfast.violations.part import Part
from strategies import NUMBERS, TIMES, RandomRules, RandomTable, rule_sets, tables


class ByHand:
    """Forms and flags as Spark SQL would compute them, by the reference's own comparisons."""

    def __init__(self, table: RandomTable, random: RandomRules) -> None:
        self.rows, self.random = table.rows, random
        self.flags: list[np.ndarray] = []
        self.numbers = {name: i for i, name in enumerate(table.types)}
        self.forms = self._forms(table)

    def _forms(self, table: RandomTable) -> list[Coded]:
        families: dict[str, list[str]] = {}
        for name, kind in table.types.items():
            families.setdefault("number" if kind in NUMBERS else "time" if kind in TIMES else kind, []).append(name)
        coded: dict[str, Coded] = {}
        for names in families.values():
            values = [r[n] for n in names for r in table.rows]
            ordered = sorted((v for v in values if v is not None), key=cmp_to_key(_order))
            codes = [0 if v is None else next(i for i, w in enumerate(ordered) if _order(v, w) == 0) for v in values]
            for i, name in enumerate(names):
                part = slice(i * len(table.rows), (i + 1) * len(table.rows))
                valid = np.array([v is not None for v in values[part]], bool)
                coded[name] = Coded(np.array(codes[part], np.int64), valid)
        return [coded[name] for name in table.types]

    def flag(self, held: list[bool]) -> int:
        self.flags.append(np.array(held, bool))
        return len(self.flags) - 1

    def program(self, rule: Rule) -> Program:
        condition = self.random.conditions.get(rule.name, lambda row: True)
        one_row = [c for c in rule.body.denials if not c.two_rows]
        two_row = [c for c in rule.body.denials if c.two_rows]
        alone = None
        if one_row:
            nulls = self.random.rules.nulls
            held = [condition(r) and any(reference.violates(c, r, r, nulls) for c in one_row) for r in self.rows]
            alone = self.flag(held)
        if not two_row:
            assert alone is not None
            return RowProgram(alone)
        dependency = as_dependency(rule.body)
        if isinstance(dependency, Key):
            names = dependency.columns
            return GroupProgram(self.flag([condition(r) for r in self.rows]), self._numbers(names), (), alone)
        if dependency is not None:
            return self._group(dependency, condition, alone)
        denials = tuple(self._denial(c, condition) for c in two_row)
        return PairProgram(denials, is_symmetric(rule.body), alone)

    def _numbers(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self.numbers[name] for name in names)

    def _group(self, dependency: Any, condition: Any, alone: int | None) -> GroupProgram:
        """A right-hand column counts as null on rows whose left side no pattern leaves it free for."""
        right = []
        matched = [False] * len(self.rows)
        for at, name in enumerate(dependency.right):
            every: Sequence[Pattern | None] = dependency.patterns if isinstance(dependency, CFD) else [None]
            lines = [line for line in every if line is None or line.right[at] is None]
            if not lines:
                continue
            fits = [any(self._fits(dependency, line, row) for line in lines) for row in self.rows]
            matched = [a or b for a, b in zip(matched, fits, strict=True)]
            form = self.forms[self.numbers[name]]
            self.forms.append(Coded(form.codes, form.valid & np.array(fits, bool)))
            right.append(len(self.forms) - 1)
        scope = self.flag([m and condition(r) for m, r in zip(matched, self.rows, strict=True)])
        return GroupProgram(scope, self._numbers(dependency.left), tuple(right), alone)

    def _fits(self, dependency: Any, line: Any, row: Mapping[str, Any]) -> bool:
        if line is None:
            return True
        return all(
            value is None or reference.satisfied(equals(Column("t", name), value), row, row, self.random.rules.nulls)
            for name, value in zip(dependency.left, line.left, strict=True)
        )

    def _denial(self, constraint: DenialConstraint, condition: Any) -> PairDenial:
        flags = {"t": [condition(r) for r in self.rows], "s": [condition(r) for r in self.rows]}
        compares = []
        for predicate in constraint.predicates:
            rows = {column.row for column in predicate.columns()}
            if len(rows) == 2:
                assert isinstance(predicate, Comparison)
                assert isinstance(predicate.right, Column)
                left, right = self.numbers[predicate.left.name], self.numbers[predicate.right.name]
                compares.append(Compare(left, right, predicate.allowed))
            else:
                (row,) = rows
                nulls = self.random.rules.nulls
                held = [reference.satisfied(predicate, r, r, nulls) for r in self.rows]
                flags[row] = [a and b for a, b in zip(flags[row], held, strict=True)]
        return PairDenial(self.flag(flags["t"]), self.flag(flags["s"]), tuple(compares), constraint.symmetric)


def _order(a: Any, b: Any) -> int:
    return {LT: -1, GT: 1}.get(reference.relation(a, b), 0)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables(max_rows=8))
    return table, draw(rule_sets(table, size=3))


@settings(max_examples=600)
@given(case=cases())
def test_programs_match_reference(case: tuple[RandomTable, RandomRules]) -> None:
    table, random = case
    expected = reference.check(table.rows, random.rules, where=random.conditions)
    hand = ByHand(table, random)
    programs = [hand.program(rule) for rule in random.rules]
    order = np.array([row["id"] for row in table.rows], np.int64)
    part = Part(len(table.rows), hand.forms, hand.flags, order, random.rules.nulls)
    for program, wanted in zip(programs, expected, strict=True):
        told = f"{wanted.rule} {random.rules.nulls} {table.rows}"
        found = evaluate(program, part, limit=UNLIMITED)
        left, right = pairs_of(program, part, limit=UNLIMITED)
        listed = sorted(zip(order[left].tolist(), order[right].tolist(), strict=True))
        assert listed == sorted(wanted.pairs or ()), told
        assert found.pairs == (None if wanted.pairs is None else len(wanted.pairs)), told
        violating = np.flatnonzero(found.violating)
        assert {int(order[r]): int(found.conflicts[r]) for r in violating} == wanted.conflicts, told
        assert found.suspects is not None
        assert {int(order[r]) for r in found.suspects} == wanted.suspects, told
        assert found.groups == wanted.violating_groups, told
        if found.witness is not None and found.witness[1] is not None:
            ends = tuple(int(order[r]) for r in found.witness)
            assert ends in (wanted.pairs or ()), told
