"""A check of several tables in this process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from holdfast.checking.outcome import FailOn
from holdfast.encode.codes import shared_codes
from holdfast.engines.check_result import key_missing, key_twice
from holdfast.engines.local.check import LocalScan, filtered_table, plan_check, run_check, schema_of
from holdfast.engines.local.interruptible import interruptible
from holdfast.engines.local.tables.parts import LocalDangling, LocalInclusion, LocalJoined, LocalOwn, LocalPart
from holdfast.engines.local.tables.result import LocalTablesResult
from holdfast.engines.local.tables.rows import CheckedTable, joined_rows
from holdfast.engines.tables.parts import InclusionRule, JoinedRules, OwnRules
from holdfast.engines.tables.plan import IncludedPlan, JoinedPlan, OwnPlan, TablesPlan
from holdfast.engines.tables.result import hidden_by_table, tables_outcome
from holdfast.engines.tables.source import TableSource
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.bind import Schema
from holdfast.programs.form import Where
from holdfast.programs.plan import Plan
from holdfast.rules.rule import Nulls, RuleSet
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_local import local_table_of, read_local
from holdfast.violations.inclusion import DanglingRows, missing_values


@dataclass(frozen=True)
class LocalOpenedTables:
    """Files, folders and tables in memory, each read once. `SparkTables` is its twin."""

    sources: Mapping[str, TableSource]

    @cached_property
    def tables(self) -> dict[str, LocalTable]:
        """The tables with all their columns, under their names in rules."""
        return {
            name: replace(filtered_table(_read(source), source.where), name=name)
            for name, source in self.sources.items()
        }

    @cached_property
    def schemas(self) -> dict[str, Schema]:
        return {name: schema_of(table) for name, table in self.tables.items()}

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        return {name: source.key for name, source in self.sources.items()}

    def own_plan(self, table: str, rules: RuleSet) -> Plan:
        return plan_check(self.tables[table], rules, rules.key)

    def without_values(self, table: str, columns: Sequence[str]) -> frozenset[str]:
        rows = self.tables[table].rows
        return frozenset(name for name in columns if rows.column(name).null_count == rows.num_rows)

    def require_condition(self, table: str, condition: str, nulls: Nulls) -> None:
        known = self.tables[table]
        flag_values(Where(condition), _columns(replace(known, rows=known.rows.slice(0, 0)), nulls))

    def run_check(
        self,
        plan: TablesPlan,
        *,
        limit: int | None,
        fail_on: FailOn,
        all_columns: bool,
        redact: Sequence[str],
        started: float,
    ) -> LocalTablesResult:
        hidden = hidden_by_table(redact, {name: table.rows.column_names for name, table in self.tables.items()})
        notes = [f"{name}: {note}" for name, table in self.tables.items() for note in table.notes]
        checked: dict[str, CheckedTable] = {}
        for name, table in self.tables.items():
            key, problem = _usable_key(table, self.own_plan(name, RuleSet((), plan.keys[name])))
            notes += [] if problem is None else [f"{name}: {problem}; its rows are named by _row instead"]
            checked[name] = CheckedTable(name, table, key, hidden[name])
        number = {name: at for at, name in enumerate(checked)}
        parts: list[LocalPart] = []
        for own in plan.own:
            of_table = _own(own, plan.rules, checked[own.table], number[own.table], limit, fail_on)
            known = set(self.tables[own.table].notes)
            notes += [f"{own.table}: {note}" for note in of_table.result.outcome.notes if note not in known]
            parts.append(of_table)
        for joined in plan.joined:
            of_both = _joined(joined, plan.rules, checked, number, limit, fail_on)
            notes += of_both.result.outcome.notes
            parts.append(of_both)
        for included in plan.inclusions:
            parts.append(_included(included, plan.rules, checked, number))
        tables = tuple(checked.values())
        outcome = tables_outcome(
            [table.named for table in tables],
            [part.part for part in parts],
            limit=limit,
            fail_on=fail_on,
            notes=notes,
            started=started,
            engine="local",
            nulls=plan.rules.nulls,
        )
        return LocalTablesResult(outcome, plan, tables, parts)


def _read(source: TableSource) -> LocalTable:
    if isinstance(source.data, str | os.PathLike):
        return read_local(source.data, source.options)
    table = local_table_of(source.data)
    assert table is not None, "what is no path is in memory"
    return table


def _usable_key(table: LocalTable, plan: Plan) -> tuple[tuple[str, ...], str | None]:
    """The key, or none and the reason, where it is null in some row or two rows share it."""
    scan = LocalScan(table, plan)
    problem = key_missing(plan.key, scan.missing_keys)
    if problem is None and plan.key:
        twice = scan.findings("summary", (), None)
        lines = list(zip(twice["key"].to_pylist(), twice["n"].to_pylist(), strict=True))
        named = (scan.keys[lines[0][0]].as_py(), lines[0][1]) if lines else None
        problem = key_twice(plan.key, named, frozenset())
    return (plan.key, None) if problem is None else ((), problem)


def _own(own: OwnPlan, rules: RuleSet, table: CheckedTable, place: int, limit: int | None, fail_on: FailOn) -> LocalOwn:
    plan = replace(own.plan, key=table.key)
    result = run_check(table.table, plan, limit=limit, fail_on=fail_on, redact=sorted(table.hidden))
    return LocalOwn(OwnRules(own, rules, result), place, result)


def _joined(
    joined: JoinedPlan,
    rules: RuleSet,
    checked: Mapping[str, CheckedTable],
    number: Mapping[str, int],
    limit: int | None,
    fail_on: FailOn,
) -> LocalJoined:
    first, second = (checked[name] for name in joined.tables)
    rows = joined_rows((first, second), joined.plan.schema.types)
    result = run_check(rows.table, joined.plan, limit=limit, fail_on=fail_on, redact=rows.hidden, row_order=rows.order)
    part = JoinedRules(joined, rules, (first.named, second.named), result, rows.named)
    return LocalJoined(part, (number[first.name], number[second.name]), rows, result)


def _included(
    included: IncludedPlan, rules: RuleSet, checked: Mapping[str, CheckedTable], number: Mapping[str, int]
) -> LocalInclusion:
    rule, program = rules.rules[included.rule], included.program
    first, second = (checked[name] for name in included.body.tables)
    left, right = (table.joint_columns(included.types, program.nulls) for table in (first, second))
    scope = None
    if rule.where is not None:
        scope = flag_values(Where(rule.where), _columns(first.table, program.nulls))

    def search() -> DanglingRows:
        pairs = zip(program.left, program.right, strict=True)
        sides = [shared_codes([left.form(a), right.form(b)]) for a, b in pairs]
        return missing_values([(ours, theirs) for ours, theirs in sides], program.nulls, scope)

    scope_rows = first.table.rows.num_rows if scope is None else int(scope.sum())
    dangling = LocalDangling(first, included.body.left, interruptible(search))
    part = InclusionRule(included.rule, rule, included.body, first.named, scope_rows, dangling)
    return LocalInclusion(part, number[first.name], dangling, included, {first.name: first, second.name: second})


def _columns(table: LocalTable, nulls: Nulls) -> TableColumns:
    return TableColumns(table.rows, schema_of(table).types, nulls)
