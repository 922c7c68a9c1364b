"""Programs run by kernels find what reference.py finds, without Spark: thousands of small tables in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.encode.codes import Coded
from holdfast.encode.column_type import ColumnType, column_type
from holdfast.kernels import without_compiler
from holdfast.programs.compile import compile_rules
from holdfast.programs.form import AllOf, AnyOf, BreaksConstant, Flag, LeavesFree, Satisfies, Where
from holdfast.programs.lower import Computed, lower_rules
from holdfast.programs.program import Compare, GroupProgram, PairDenial, PairProgram, Program
from holdfast.programs.shifted import call_value
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.predicate import Column, Constant, Operand, equals
from holdfast.rules.relation import EQ, GT, LT
from holdfast.violations import evaluate as evaluating
from holdfast.violations.evaluate import UNLIMITED, evaluate, pairs_of
from holdfast.violations.part import Part
from strategies import NUMBERS, TIMES, RandomRules, RandomTable, rule_sets, tables


def _kind(kind: ColumnType) -> str:
    """A type of the same family, as `_coded` sorts values by."""
    return "bigint" if kind.numeric else "string" if kind.family == "text" else kind.sql


class ByHand:
    """Forms and flags of compiled rules, computed by the reference's own comparisons."""

    def __init__(self, table: RandomTable, random: RandomRules) -> None:
        self.rows, self.random = table.rows, random
        types = {name: column_type(kind) for name, kind in table.types.items()}
        lowered = lower_rules(random.rules, types)
        self.programs = compile_rules(random.rules, lowered=lowered)
        computed = {name: self._computed(column) for name, column in lowered.computed.items()}
        self.rows = tuple({**row, **{n: v[i] for n, v in computed.items()}} for i, row in enumerate(table.rows))
        kinds = {name: _kind(column.kind) for name, column in lowered.computed.items()}
        coded = self._coded(RandomTable({**table.types, **kinds}, self.rows))
        self.forms = [coded[form.column] for form in self.programs.forms]
        self.flags = [np.array([self._holds(flag, row) for row in self.rows], bool) for flag in self.programs.flags]

    def _computed(self, column: Computed) -> list[Any]:
        def value(operand: Operand, row: Mapping[str, Any]) -> Any:
            if isinstance(operand, Constant):
                return operand.value
            if isinstance(operand, Column):
                return row[operand.name]
            return call_value(operand.function, [value(argument, row) for argument in operand.arguments])

        return [value(column.call, row) for row in self.rows]

    def _coded(self, table: RandomTable) -> dict[str, Coded]:
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
        return coded

    def _holds(self, flag: Flag, row: Mapping[str, Any]) -> bool:
        nulls = self.random.rules.nulls
        match flag:
            case Satisfies(predicate):
                return reference.satisfied(predicate, row, row, nulls)
            case Where(condition):
                named = next(rule.name for rule in self.random.rules if rule.where == condition)
                return self.random.conditions[named](row)
            case AllOf(flags):
                return all(self._holds(part, row) for part in flags)
            case AnyOf(flags):
                return any(self._holds(part, row) for part in flags)
            case LeavesFree():
                return any(self._fits(flag.dependency, line, row) for line in flag.lines)
            case BreaksConstant(dependency):
                denials = [constraint for constraint in dependency.denials if not constraint.two_rows]
                return any(reference.violates(constraint, row, row, nulls) for constraint in denials)

    def _fits(self, dependency: CFD, line: Pattern, row: Mapping[str, Any]) -> bool:
        return all(
            value is None or reference.satisfied(equals(Column("t", name), value), row, row, self.random.rules.nulls)
            for name, value in zip(dependency.left, line.left, strict=True)
        )


def programs_over_part(table: RandomTable, random: RandomRules) -> tuple[tuple[Program, ...], Part]:
    """The compiled rules, and the rows as what they are run on."""
    hand = ByHand(table, random)
    order = np.array([row["id"] for row in table.rows], np.int64)
    return hand.programs.programs, Part(len(table.rows), hand.forms, hand.flags, order, random.rules.nulls)


def _order(a: Any, b: Any) -> int:
    return {LT: -1, GT: 1}.get(reference.relation(a, b), 0)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables(max_rows=8))
    return table, draw(rule_sets(table, size=3))


@settings(max_examples=400)
@given(case=cases())
def test_programs_match_reference_on_compiled_kernels(case: tuple[RandomTable, RandomRules]) -> None:
    with patch.object(without_compiler, "compiler_loaded", lambda: True):
        assert_programs_match_reference(*case)


@settings(max_examples=400)
@given(case=cases())
def test_programs_match_reference_without_the_compiler(case: tuple[RandomTable, RandomRules]) -> None:
    with patch.object(without_compiler, "compiler_loaded", lambda: False):
        assert_programs_match_reference(*case)


@settings(max_examples=120)
@given(case=cases())
def test_a_cover_needs_no_list_of_pairs(case: tuple[RandomTable, RandomRules]) -> None:
    table, random = case
    expected = reference.check(table.rows, random.rules, where=random.conditions)
    programs, part = programs_over_part(table, random)
    with patch.object(evaluating, "LISTED_PAIRS", 0), patch.object(evaluating, "LOOKED_AT", UNLIMITED):
        for program, wanted in zip(programs, expected, strict=True):
            found = evaluate(program, part, limit=1)
            # Of several constraints a pair may violate more than one, and would be met more than once.
            one = not isinstance(program, PairProgram) or len(evaluating.by_constraint(program.denials)) == 1
            assert one or found.suspects is None or (found.pairs or 0) <= 1
            if one or found.suspects is not None:
                assert found.suspects is not None
                assert {int(part.order[r]) for r in found.suspects} == wanted.suspects, f"{wanted.rule} {table.rows}"


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_cover_of_many_rows_leaps_over_those_without_a_partner(symmetric: bool) -> None:
    rng, rows = np.random.default_rng(1), 12_000
    salary = rng.permutation(rows)
    wrong = rng.random(rows) < 0.002
    rate = np.where(wrong, rng.integers(0, rows, rows), salary // 100 * 100)
    forms = [Coded(codes, np.ones(rows, np.bool_)) for codes in (rng.integers(0, 2, rows), salary, rate)]
    compares = (Compare(0, 0, EQ), Compare(1, 1, GT), Compare(2, 2, LT))
    denials = [PairDenial(None, None, compares, symmetric=False, origin=0)]
    if symmetric:
        denials.append(PairDenial(None, None, tuple(c.mirrored() for c in compares), symmetric=False, origin=0))
    part = Part(rows, forms, [], rng.permutation(rows), "sql")
    program = PairProgram(tuple(denials), symmetric)
    listed = evaluate(program, part, limit=UNLIMITED)
    with patch.object(evaluating, "LISTED_PAIRS", 0):
        looked_up = evaluate(program, part, limit=(listed.pairs or 0) - 1)
    assert (listed.pairs or 0) > 2 * rows
    assert listed.suspects is not None
    assert looked_up.suspects is not None
    assert listed.suspects.tolist() == looked_up.suspects.tolist()


def test_a_cover_that_takes_too_long_is_not_made() -> None:
    values = np.arange(60)
    form = Coded(values, np.ones(60, np.bool_))
    program = PairProgram((PairDenial(None, None, (Compare(0, 0, LT),), symmetric=False),), symmetric=False)
    part = Part(60, [form], [], values, "sql")
    with patch.object(evaluating, "LISTED_PAIRS", 0):
        assert evaluate(program, part, limit=20).suspects is None
        listed, looked_up = (evaluate(program, part, limit=limit).suspects for limit in (UNLIMITED, 100))
    assert listed is not None
    assert looked_up is not None
    assert listed.tolist() == looked_up.tolist()


def assert_programs_match_reference(table: RandomTable, random: RandomRules) -> None:
    expected = reference.check(table.rows, random.rules, where=random.conditions)
    programs, part = programs_over_part(table, random)
    order = part.order
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
        if isinstance(program, GroupProgram):
            as_pairs = pairs_of(program.as_pairs(), part, limit=UNLIMITED)
            assert sorted(zip(*(order[ends].tolist() for ends in as_pairs), strict=True)) == listed, told
        if found.witness is not None and found.witness[1] is not None:
            ends = tuple(int(order[r]) for r in found.witness)
            assert ends in (wanted.pairs or ()), told
