"""Rules as what a monitor compares: columns by number, and conditions on one row as numbered truth values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.programs.program import Compare, PairDenial, PairProgram, RowProgram
from holdfast.programs.row_test import AllOf, AnyOf, BreaksConstant, FreeFor, RowTest, Satisfies
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import CFD, FD, Key, as_dependency, is_symmetric
from holdfast.rules.predicate import Column, Comparison, differs, equals
from holdfast.rules.rule import Rule, RuleSet


@dataclass(frozen=True)
class RulePrograms:
    """The programs of a rule set in order, the columns they compare by number, and the truth values they refer to."""

    programs: tuple[PairProgram | RowProgram, ...]
    columns: tuple[str, ...]
    tests: tuple[RowTest, ...]


@dataclass
class _Tests:
    numbers: dict[RowTest, int] = field(default_factory=dict)

    def number(self, tests: Sequence[RowTest]) -> int | None:
        """The number of what all of them say; None where there are none."""
        if not tests:
            return None
        test = tests[0] if len(tests) == 1 else AllOf(tuple(tests))
        return self.numbers.setdefault(test, len(self.numbers))


def rule_programs(rules: RuleSet, key: Sequence[str], where: Mapping[str, RowTest]) -> RulePrograms:
    """The programs of all rules; the key's columns come first. `where` has the conditions of rules by name."""
    columns = {name: number for number, name in enumerate(key)}
    for rule in rules:
        for name in rule.body.columns:
            columns.setdefault(name, len(columns))
    tests = _Tests()
    programs = tuple(_program(rule, columns.__getitem__, tests, where.get(rule.name)) for rule in rules)
    return RulePrograms(programs, tuple(columns), tuple(tests.numbers))


def _program(
    rule: Rule, number: Callable[[str], int], tests: _Tests, scope: RowTest | None
) -> PairProgram | RowProgram:
    base = [] if scope is None else [scope]
    two_row = [c for c in rule.body.denials if c.two_rows]
    one_row = [c for c in rule.body.denials if not c.two_rows]
    alone = None
    if one_row:
        if isinstance(rule.body, CFD):
            broken: RowTest = BreaksConstant(rule.body)
        else:
            broken = AnyOf(tuple(AllOf(tuple(map(Satisfies, c.predicates))) for c in one_row))
        alone = tests.number([*base, broken])
    if not two_row:
        assert alone is not None, "a rule has at least one denial"
        return RowProgram(alone)
    dependency = as_dependency(rule.body)
    if dependency is not None:
        denials = _dependency(dependency, number, tests, base)
    else:
        denials = tuple(_denial(c, number, tests, base) for c in two_row)
    return PairProgram(denials, is_symmetric(rule.body), alone)


def _dependency(
    dependency: Key | FD | CFD, number: Callable[[str], int], tests: _Tests, base: Sequence[RowTest]
) -> tuple[PairDenial, ...]:
    """One denial per right-hand column. Rows that agree on the left side match the same patterns."""
    if isinstance(dependency, Key):
        flag = tests.number(base)
        return (PairDenial(flag, flag, _agreeing(dependency.columns, number), True),)
    denials = []
    for at, name in enumerate(dependency.right):
        conditions = list(base)
        if isinstance(dependency, CFD):
            if all(line.right[at] is not None for line in dependency.patterns):
                continue
            conditions.append(FreeFor(dependency, name))
        flag = tests.number(conditions)
        differ = _compare(differs(Column("t", name), Column("s", name)), number)
        denials.append(PairDenial(flag, flag, (*_agreeing(dependency.left, number), differ), True))
    return tuple(denials)


def _agreeing(columns: Sequence[str], number: Callable[[str], int]) -> tuple[Compare, ...]:
    return tuple(_compare(equals(Column("t", name), Column("s", name)), number) for name in columns)


def _compare(predicate: Comparison, number: Callable[[str], int]) -> Compare:
    assert isinstance(predicate.right, Column), "constants speak of one row"
    return Compare(number(predicate.left.name), number(predicate.right.name), predicate.allowed)


def _denial(
    constraint: DenialConstraint, number: Callable[[str], int], tests: _Tests, base: Sequence[RowTest]
) -> PairDenial:
    compares = []
    conditions: dict[str, list[RowTest]] = {"t": list(base), "s": list(base)}
    for predicate in constraint.predicates:
        rows = {column.row for column in predicate.columns()}
        if len(rows) == 1:
            row = rows.pop()
            conditions[row].append(Satisfies(predicate if row == "t" else predicate.mirrored()))
        else:
            assert isinstance(predicate, Comparison), "only a comparison speaks of two rows"
            compares.append(_compare(predicate, number))
    left, right = (tests.number(conditions[row]) for row in ("t", "s"))
    return PairDenial(left, right, tuple(compares), constraint.symmetric)
