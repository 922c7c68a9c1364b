"""Rules become programs: the one place that decides what a rule asks of a row or of a pair of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

from holdfast.programs.form import AllOf, AnyOf, BreaksConstant, Flag, Form, LeavesFree, Satisfies, Where
from holdfast.programs.lower import LoweredRules, calculates, lower_rules
from holdfast.programs.program import (
    Compare,
    GroupProgram,
    PairDenial,
    PairProgram,
    Program,
    Programs,
    RightSide,
    RowProgram,
)
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import CFD, FD, Key, as_dependency, is_symmetric, tables_of
from holdfast.rules.predicate import Column, Comparison, Constant, equals
from holdfast.rules.rule import Rule, RuleSet

# The forms in which two columns compare exactly.
ComparedForms: TypeAlias = Callable[[Column, Column], tuple[Form, Form]]

# The column of the rows of several tables that names the table of each; all other columns have a dot in their names.
TABLE = "_table"

# Dependencies as programs over groups, or every rule as the denials it stands for.
Style = Literal["groups", "denials"]


def columns_as_they_are(left: Column, right: Column) -> tuple[Form, Form]:
    """Forms for whoever compares values of any types exactly, such as codes of one family."""
    return Form(left.name), Form(right.name)


def compile_rules(
    rules: RuleSet,
    compared: ComparedForms = columns_as_they_are,
    *,
    first: Sequence[Form] = (),
    style: Style = "groups",
    lowered: LoweredRules | None = None,
) -> Programs:
    """Returns the programs of all rules. Forms and flags are numbered in order of first use, after those in `first`.

    Whatever a pattern of a conditional dependency, a `where`, a predicate on one row or a dependency means is decided
    here, so that it is the same in every engine. In the style "denials", keys and dependencies are pairs of rows, and
    each pattern is a denial of its own. Rules with expressions come with what they are `lowered` to.
    """
    if lowered is None:
        assert not calculates(rules), "expressions are lowered first, by the types of columns"
        lowered = lower_rules(rules, {})
    compiler = _Compiler(compared, style, lowered, _Numbers(), _Numbers())
    for form in first:
        compiler.forms.number(form)
    programs = tuple(map(compiler.program, rules))
    return Programs(programs, tuple(compiler.forms.numbers), tuple(compiler.flags.numbers), rules.nulls)


_T = TypeVar("_T")


@dataclass
class _Numbers(Generic[_T]):
    """Numbers values in order of first use."""

    numbers: dict[_T, int] = field(default_factory=dict)

    def number(self, value: _T) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


@dataclass(frozen=True)
class _Compiler:
    compared: ComparedForms
    style: Style
    lowered: LoweredRules
    forms: _Numbers[Form]
    flags: _Numbers[Flag]

    def program(self, rule: Rule) -> Program:
        scope: list[Flag] = [] if rule.where is None else [Where(rule.where)]
        if rule.table is not None:  # where rows of several tables are together
            scope.append(_of_table(rule.table))
        pairs = self.lowered.pairs[rule.name]
        alone = self._alone(rule, scope)
        if not pairs:
            assert alone is not None, "a rule has at least one denial"
            return RowProgram(alone)
        dependency = as_dependency(rule.body) if self.style == "groups" else None
        if dependency is not None:
            return self._group(dependency, scope, alone)
        tables = tables_of(rule.body)
        scopes = {row: [*scope, _of_table(table)] for row, table in zip("ts", tables, strict=True)} if tables else None
        denials = tuple(
            self._denial(constraint, scopes or {"t": scope, "s": scope}, origin if len(ways) > 1 else None)
            for origin, ways in enumerate(pairs)
            for constraint in ways
        )
        return PairProgram(denials, is_symmetric(rule.body), alone)

    def _alone(self, rule: Rule, scope: Sequence[Flag]) -> int | None:
        """The flag of rows that break the rule by themselves; None where no row can."""
        one_row = self.lowered.alone[rule.name]
        if not one_row:
            return None
        if isinstance(rule.body, CFD) and self.style == "groups":
            return self._flag([*scope, BreaksConstant(rule.body)])
        broken = AnyOf(tuple(AllOf(tuple(map(Satisfies, constraint.predicates))) for constraint in one_row))
        return self._flag([*scope, broken])

    def _group(self, dependency: Key | FD | CFD, scope: Sequence[Flag], alone: int | None) -> GroupProgram:
        left = dependency.columns if isinstance(dependency, Key) else dependency.left
        left_forms = tuple(self._form(name) for name in left)
        free = _free_columns(dependency)
        # A group that no pattern leaves free in any right-hand column cannot violate the rule.
        matching = [*scope]
        if free and None not in free.values():
            flags = tuple(dict.fromkeys(flag for flag in free.values() if flag is not None))
            matching.append(flags[0] if len(flags) == 1 else AnyOf(flags))
        return GroupProgram(
            scope=self._flag(matching),
            left=left_forms,
            right=tuple(
                RightSide(self._form(name), None if flag is None else self._flag([*scope, flag]))
                for name, flag in free.items()
            ),
            alone=alone,
        )

    def _denial(
        self, constraint: DenialConstraint, scopes: Mapping[str, Sequence[Flag]], origin: int | None
    ) -> PairDenial:
        compares = []
        conditions: dict[str, list[Flag]] = {row: [*scope] for row, scope in scopes.items()}
        for predicate in constraint.predicates:
            rows = {column.row for column in predicate.columns()}
            if len(rows) == 1:
                row = rows.pop()
                conditions[row].append(Satisfies(predicate if row == "t" else predicate.mirrored()))
            else:
                assert isinstance(predicate, Comparison), "only a comparison speaks of two rows"
                compares.append(self._compare(predicate))
        left, right = (self._flag(conditions[row]) for row in ("t", "s"))
        # Of two rows even where it says something of one of them alone.
        mirror = DenialConstraint(tuple(predicate.mirrored() for predicate in constraint.predicates))
        return PairDenial(left, right, tuple(compares), constraint == mirror, origin)

    def _compare(self, predicate: Comparison) -> Compare:
        assert isinstance(predicate.left, Column), "expressions are computed columns here"
        assert isinstance(predicate.right, Column), "constants speak of one row"
        left, right = self.compared(predicate.left, predicate.right)
        return Compare(self.forms.number(left), self.forms.number(right), predicate.allowed)

    def _form(self, name: str) -> int:
        column = Column("t", name)
        return self.forms.number(self.compared(column, column)[0])

    def _flag(self, flags: Sequence[Flag]) -> int | None:
        return self.flags.number(AllOf(tuple(flags))) if flags else None


def _of_table(table: str) -> Satisfies:
    """The flag of the rows of a table, where rows of several are together."""
    return Satisfies(equals(Column("t", TABLE), Constant(table)))


def _free_columns(dependency: Key | FD | CFD) -> dict[str, LeavesFree | None]:
    """The right-hand columns that rows of a group must agree on, each with the flag of groups in which they must.

    None for all groups: a pattern without constants on the left leaves the column free.
    """
    if isinstance(dependency, Key):
        return {}
    if isinstance(dependency, FD):
        return dict.fromkeys(dependency.right)
    free: dict[str, LeavesFree | None] = {}
    for name in dependency.right:
        flag = LeavesFree(dependency, name)
        if flag.lines:
            always = any(all(value is None for value in line.left) for line in flag.lines)
            free[name] = None if always else flag
    return free
