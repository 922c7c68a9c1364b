"""Rules as programs for the kernels: which columns to compare, over columns of one type each, and nothing else.

Spark SQL computes each compared column in the form in which it compares exactly (`f0`, `f1`, ...), and each condition
on one row alone as a truth value (`b0`, `b1`, ...). A program refers to these by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.programs.bind import Schema
from holdfast.programs.grouped import GroupedSql
from holdfast.programs.sql_expression import Encoder
from holdfast.programs.tableau import LookupBook, TableauSql
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import CFD, FD, Key, as_dependency, is_symmetric
from holdfast.rules.predicate import Column, Comparison
from holdfast.rules.rule import Nulls, Rule, RuleSet


@dataclass(frozen=True)
class Compare:
    """Form `left` of the left row and form `right` of the right row are in an allowed relation."""

    left: int
    right: int
    allowed: int


@dataclass(frozen=True)
class PairDenial:
    """No two rows, the left one with flag `left`, the right one with flag `right`, satisfy all comparisons."""

    left: int | None
    right: int | None
    compares: tuple[Compare, ...]
    symmetric: bool


@dataclass(frozen=True)
class PairProgram:
    """Violating pairs are those of any denial; with `alone`, rows with that flag violate by themselves."""

    denials: tuple[PairDenial, ...]
    symmetric: bool
    alone: int | None = None


@dataclass(frozen=True)
class GroupProgram:
    """Rows with flag `scope` that agree on `left` must agree on each of `right`; without `right`, must not be two."""

    scope: int | None
    left: tuple[int, ...]
    right: tuple[int, ...]
    alone: int | None = None


@dataclass(frozen=True)
class RowProgram:
    """No row has flag `alone`."""

    alone: int


Program = PairProgram | GroupProgram | RowProgram


@dataclass(frozen=True)
class Programs:
    """The programs of a rule set, in order, with the SQL of the forms and flags they refer to."""

    programs: tuple[Program, ...]
    forms: tuple[str, ...]
    flags: tuple[str, ...]
    nulls: Nulls


@dataclass
class _Book:
    """Numbers SQL texts in order of first use."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def make_programs(rules: RuleSet, schema: Schema, scopes: Mapping[str, str], lookups: LookupBook) -> Programs:
    """The programs of all rules. `scopes` names the truth value of each `where` condition."""
    forms, flags = _Book(), _Book()
    place = {name: f"c{i}" for i, name in enumerate(schema.types)}

    def naming(column: Column) -> str:
        return place[column.name]

    encoder = Encoder(schema.types, rules.nulls, naming)
    compiler = _Compiler(schema, encoder, lookups, forms, flags)
    programs = tuple(compiler.program(rule, scopes.get(rule.where or "")) for rule in rules)
    return Programs(programs, tuple(forms.numbers), tuple(flags.numbers), rules.nulls)


@dataclass(frozen=True)
class _Compiler:
    schema: Schema
    encoder: Encoder
    lookups: LookupBook
    forms: _Book
    flags: _Book

    def program(self, rule: Rule, scope: str | None) -> Program:
        two_row = [c for c in rule.body.denials if c.two_rows]
        one_row = [c for c in rule.body.denials if not c.two_rows]
        alone = None
        if one_row:
            broken = broken_alone(rule, one_row, self.encoder, self.lookups)
            alone = self.flags.number(broken if scope is None else f"{scope} AND ({broken})")
        if not two_row:
            assert alone is not None, "a rule has at least one denial"
            return RowProgram(alone)
        dependency = as_dependency(rule.body)
        if dependency is not None:
            return self._group(dependency, scope, alone)
        return PairProgram(tuple(self._denial(c, scope) for c in two_row), is_symmetric(rule.body), alone)

    def _group(self, dependency: Key | FD | CFD, scope: str | None, alone: int | None) -> GroupProgram:
        grouped = GroupedSql(dependency, self.schema, self.encoder.nulls, "", self.encoder, self.lookups)
        conditions = [scope, grouped.match_any()]
        return GroupProgram(
            scope=self._flag([c for c in conditions if c is not None]),
            left=tuple(self.forms.number(self._form(name)) for name in grouped.left),
            right=tuple(self.forms.number(grouped.right_value(name)) for name in grouped.right),
            alone=alone,
        )

    def _denial(self, constraint: DenialConstraint, scope: str | None) -> PairDenial:
        compares = []
        conditions: dict[str, list[str]] = {"t": [], "s": []}
        for predicate in constraint.predicates:
            rows = {column.row for column in predicate.columns()}
            if len(rows) == 1:
                conditions[rows.pop()].append(self.encoder.predicate(predicate))
            else:
                assert isinstance(predicate, Comparison), "only a comparison speaks of two rows"
                compares.append(self._compare(predicate))
        left, right = ([*([scope] if scope else []), *conditions[row]] for row in ("t", "s"))
        return PairDenial(self._flag(left), self._flag(right), tuple(compares), constraint.symmetric)

    def _compare(self, predicate: Comparison) -> Compare:
        assert isinstance(predicate.right, Column), "constants speak of one row"
        left, right = self.encoder.operands(predicate.left, predicate.right)
        return Compare(self.forms.number(left), self.forms.number(right), predicate.allowed)

    def _form(self, name: str) -> str:
        return self.encoder.operands(Column("t", name), Column("t", name))[0]

    def _flag(self, conditions: Sequence[str]) -> int | None:
        return self.flags.number(" AND ".join(f"({c})" for c in conditions)) if conditions else None


def broken_alone(rule: Rule, one_row: Sequence[DenialConstraint], encoder: Encoder, lookups: LookupBook) -> str:
    """When a row breaks the rule by itself: one of its one-row denials, or a constant of its tableau."""
    if isinstance(rule.body, CFD):
        broken = TableauSql(rule.body, encoder, lookups).broken()
        assert broken is not None, "a CFD has one-row denials where it has constants on the right"
        return broken
    return " OR ".join(f"({' AND '.join(map(encoder.predicate, c.predicates))})" for c in one_row)
