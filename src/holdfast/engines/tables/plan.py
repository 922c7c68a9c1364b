"""The plan of a check of several tables: the rules of each table, those over two, and inclusions.

The rules of one table are a check of that table. Rules that compare rows of two tables are a check of the rows of both
together, in which every column has the name of its table before its own, and flags say of which table a row is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from holdfast.checking.outcome import FailOn
from holdfast.checking.plan_text import plan_text
from holdfast.encode.column_type import ColumnType, column_type
from holdfast.errors import unknown_column
from holdfast.programs.bind import Schema, mismatched_columns, require_types, without_types
from holdfast.programs.compile import TABLE
from holdfast.programs.inclusion import InclusionProgram, compile_inclusion
from holdfast.programs.plan import Plan, make_plan
from holdfast.rules.dependency import Inclusion, of_its_table, table_columns
from holdfast.rules.predicate import QualifiedColumn, joint_name
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.rules.rule_file import require_table

if TYPE_CHECKING:
    from holdfast.engines.tables.result import TablesCheckResult


@dataclass(frozen=True)
class OwnPlan:
    """The plan of the rules of one table, and their numbers among all rules."""

    table: str
    which: tuple[int, ...]
    plan: Plan


@dataclass(frozen=True)
class JoinedPlan:
    """The plan of the rules over two tables, on the rows of both together, and their numbers among all rules."""

    tables: tuple[str, str]
    which: tuple[int, ...]
    plan: Plan


@dataclass(frozen=True)
class IncludedPlan:
    """The program of an inclusion, which is the rule with this number, and its columns under their joint names."""

    rule: int
    body: Inclusion
    program: InclusionProgram
    types: Mapping[str, ColumnType]


@dataclass(frozen=True)
class TablesPlan:
    """What a check of several tables will do: a plan per table that has rules, per two tables that have some in
    common, and a program per inclusion. `keys` has the columns that name the rows of each table."""

    rules: RuleSet
    schemas: Mapping[str, Schema]
    keys: Mapping[str, tuple[str, ...]]
    own: tuple[OwnPlan, ...]
    joined: tuple[JoinedPlan, ...]
    inclusions: tuple[IncludedPlan, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self.schemas)

    def text(self, *, sql: bool = False) -> str:
        """The plan as a person reads it, for `--explain`."""
        plans = [*(part.plan for part in self.own), *(part.plan for part in self.joined)]
        parts = [plan_text(plan, sql=sql) for plan in plans]
        named = [self.rules.rules[part.rule] for part in self.inclusions]
        if named:
            parts.append("\n".join(["look up values in the other table", *(f"  {r.name}: {r}" for r in named)]))
        return "\n".join(parts)


class OpenedTables(Protocol):
    """Several tables where a check of them will run: in this process, or on Spark."""

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The columns of each table with the types that rules see."""

    @property
    def keys(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that are to name the rows of each table."""

    def own_plan(self, table: str, rules: RuleSet) -> Plan:
        """The plan of rules on one of the tables; refuses what the table cannot answer."""

    def without_values(self, table: str, columns: Sequence[str]) -> frozenset[str]:
        """Which of the columns have no value at all."""

    def require_condition(self, table: str, condition: str, nulls: Nulls) -> None:
        """Raises ConditionError where the condition cannot be computed on the table."""

    def run_check(
        self,
        plan: TablesPlan,
        *,
        limit: int | None,
        fail_on: FailOn,
        all_columns: bool,
        redact: Sequence[str],
        started: float,
    ) -> TablesCheckResult:
        """What the plan finds. `limit` caps the pairs that are listed per rule; counts are exact. With `all_columns`
        whole rows are kept, so that they need not be read again to be split."""


def plan_tables(opened: OpenedTables, rules: RuleSet) -> TablesPlan:
    """The plan of checking the rules on the tables. Refuses tables and columns that are not there, senseless
    comparisons, and rules that do not say of which table they are."""
    schemas, keys = opened.schemas, opened.keys
    for rule in rules:
        require_table(rule, schemas)
    for rule in rules:
        for column in table_columns(rule.body):
            if column.own not in schemas[column.table].types:
                named = f"rule {rule.name!r} compares {str(column)!r}"
                raise unknown_column(named, column.own, column.table, schemas[column.table].types)
    for name, key in keys.items():
        opened.own_plan(name, RuleSet((), key))  # refuses what cannot be a key
    return TablesPlan(
        rules,
        schemas,
        keys,
        tuple(_own_plans(opened, rules)),
        tuple(_joined_plans(opened, rules)),
        tuple(_included_plans(opened, rules)),
    )


def _own_plans(opened: OpenedTables, rules: RuleSet) -> Iterable[OwnPlan]:
    for name in opened.schemas:
        which = tuple(i for i, rule in enumerate(rules) if rule.tables == (name,) and rule.kind != "ind")
        if which:
            own = [replace(rules.rules[i], body=of_its_table(rules.rules[i].body), table=None) for i in which]
            yield OwnPlan(name, which, opened.own_plan(name, RuleSet(tuple(own), opened.keys[name], rules.nulls)))


def _joined_plans(opened: OpenedTables, rules: RuleSet) -> Iterable[JoinedPlan]:
    by_tables: dict[tuple[str, str], list[int]] = {}
    for i, rule in enumerate(rules):
        if len(rule.tables) == 2 and rule.kind != "ind":
            by_tables.setdefault((rule.tables[0], rule.tables[1]), []).append(i)
    for names, which in by_tables.items():
        compared = tuple(rules.rules[i] for i in which)
        schema = _joint_schema(opened, compared, extra={TABLE: column_type("string")})
        yield JoinedPlan(names, tuple(which), make_plan(RuleSet(compared, (), rules.nulls), schema, ()))


def _included_plans(opened: OpenedTables, rules: RuleSet) -> Iterable[IncludedPlan]:
    for i, rule in enumerate(rules):
        if not isinstance(rule.body, Inclusion):
            continue
        known = _joint_schema(opened, (rule,))
        if rule.where is not None:  # whether it can be computed shows without any row
            opened.require_condition(rule.body.tables[0], rule.where, rules.nulls)
        yield IncludedPlan(i, rule.body, compile_inclusion(rule.body, known.types, rules.nulls), known.types)


def _joint_schema(
    opened: OpenedTables, rules: tuple[Rule, ...], extra: Mapping[str, ColumnType] | None = None
) -> Schema:
    """The columns that the rules compare under their joint names, in the order of their tables. TypeMismatchError for
    a comparison without a meaning."""
    compared: dict[str, QualifiedColumn] = {c.name: c for rule in rules for c in table_columns(rule.body)}
    tables = list(dict.fromkeys(name for rule in rules for name in rule.tables))
    types = {
        joint_name(table, column): kind
        for table in tables
        for column, kind in opened.schemas[table].types.items()
        if joint_name(table, column) in compared
    }
    schema = Schema(" and ".join(tables), {**types, **(extra or {})})
    alone = RuleSet(rules)
    odd = mismatched_columns(alone, schema)
    if odd:
        # A column that is entirely null has no type and compares with anything.
        wanted: dict[str, list[str]] = {}
        for name in sorted(odd):
            wanted.setdefault(compared[name].table, []).append(compared[name].own)
        empty = [joint_name(t, own) for t, owns in wanted.items() for own in opened.without_values(t, owns)]
        schema = without_types(schema, empty)
        require_types(alone, schema)
    return schema
