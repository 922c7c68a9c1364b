"""A check of several tables on Spark: each is scanned once, and all rules are answered from what the scans yield."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from holdfast.checking.outcome import FailOn
from holdfast.engines.spark.checking.check import (
    EngineName,
    check_scanned,
    plan_check,
    register_functions,
    translate_spark_errors,
)
from holdfast.engines.spark.checking.rows import entirely_null, require_condition, schema_of
from holdfast.engines.spark.checking.scan import Scan
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.tables.dangling import SparkDangling
from holdfast.engines.spark.tables.joined_scan import JoinedScan, key_in_table
from holdfast.engines.spark.tables.result import SparkInclusion, SparkJoined, SparkOwn, SparkPart, SparkTablesResult
from holdfast.engines.tables.parts import InclusionRule, JoinedRules, OwnRules, TableRows
from holdfast.engines.tables.plan import IncludedPlan, TablesPlan
from holdfast.engines.tables.result import hidden_by_table, tables_outcome
from holdfast.programs.bind import Schema
from holdfast.programs.plan import Plan
from holdfast.rules.dependency import table_columns
from holdfast.rules.rule import Nulls, RuleSet


@dataclass(frozen=True)
class SparkTables:
    """Tables on one session, under their names in rules. `LocalOpenedTables` is its twin in this process."""

    tables: Mapping[str, Table]
    keys: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @cached_property
    def schemas(self) -> dict[str, Schema]:
        return {name: schema_of(table.frame, name) for name, table in self.tables.items()}

    def own_plan(self, table: str, rules: RuleSet) -> Plan:
        return plan_check(self._named(table), rules, rules.key)

    def without_values(self, table: str, columns: Sequence[str]) -> frozenset[str]:
        with self._translated():
            return entirely_null(self.tables[table].frame, columns)

    def require_condition(self, table: str, condition: str, nulls: Nulls) -> None:
        require_condition(self.tables[table].frame, condition)

    def run_check(
        self,
        plan: TablesPlan,
        *,
        limit: int | None,
        fail_on: FailOn,
        all_columns: bool,
        redact: Sequence[str],
        started: float,
        engine: EngineName = "auto",
    ) -> SparkTablesResult:
        """What the plan finds; `engine` forces the way that rules over rows are checked, as in a check of one table."""
        hidden = hidden_by_table(redact, {name: table.frame.columns for name, table in self.tables.items()})
        notes = [*self.notes, *(f"{name}: {note}" for name, table in self.tables.items() for note in table.notes)]
        spark = next(iter(self.tables.values())).frame.sparkSession
        options: dict[str, Any] = {"limit": limit, "fail_on": fail_on, "engine": engine}
        with self._translated():
            scans: dict[str, Scan] = {}
            for name in self.tables:
                scans[name], problem = self._scanned(
                    spark, name, self._scan_plan(plan, name), all_columns, hidden[name]
                )
                notes += [] if problem is None else [f"{name}: {problem}; its rows are named by _row instead"]
            notes += dict.fromkeys(note for scan in scans.values() for note in scan.reading_notes)
            named = {
                name: TableRows(name, scan.count, tuple(scan.table.frame.columns), scan.plan.key, hidden[name])
                for name, scan in scans.items()
            }
            parts: list[SparkPart] = []
            for own in plan.own:
                result = check_scanned(scans[own.table], **options)
                notes += [f"{own.table}: {note}" for note in result.outcome.notes]
                parts.append(SparkOwn(OwnRules(own, plan.rules, result), own.table, result))
            for joined in plan.joined:
                first, second = (scans[name] for name in joined.tables)
                result = check_scanned(JoinedScan(first, second, joined), **options)
                notes += result.outcome.notes
                tables = (named[joined.tables[0]], named[joined.tables[1]])
                parts.append(SparkJoined(JoinedRules(joined, plan.rules, tables, result, key_in_table), result))
            for included in plan.inclusions:
                parts.append(_included(included, plan, scans, named))
            outcome = tables_outcome(
                list(named.values()),
                [part.part for part in parts],
                limit=limit,
                fail_on=fail_on,
                notes=notes,
                started=started,
                engine="spark",
                nulls=plan.rules.nulls,
            )
        return SparkTablesResult(outcome, plan.rules, scans, parts, self._translated)

    def _named(self, table: str) -> Table:
        """The table under its name in rules."""
        return replace(self.tables[table], name=table)

    def _translated(self) -> AbstractContextManager[None]:
        # Under the names of their sources, by which the scans of these mark what does not fit.
        first, *others = self.tables.values()
        return translate_spark_errors(first, *others)

    def _scan_plan(self, plan: TablesPlan, name: str) -> Plan:
        """The plan of the table's own rules, with the columns and conditions that other rules need of it."""
        own = next((part.plan for part in plan.own if part.table == name), None)
        if own is None:
            own = self.own_plan(name, RuleSet((), plan.keys[name], plan.rules.nulls))
        read = {*own.columns, *(c.own for rule in plan.rules for c in table_columns(rule.body) if c.table == name)}
        wheres = [plan.rules.rules[part.rule].where for part in plan.inclusions if part.body.tables[0] == name]
        conditions = dict.fromkeys([*own.conditions, *(where for where in wheres if where is not None)])
        columns = tuple(column for column in own.schema.types if column in read)
        return replace(own, columns=columns, conditions=tuple(conditions))

    def _scanned(
        self, spark: SparkSession, name: str, plan: Plan, whole: bool, hidden: frozenset[str]
    ) -> tuple[Scan, str | None]:
        """The scan of a table, by its key where that names its rows, and otherwise the reason why it does not."""
        register_functions(spark, plan)
        scan = Scan(spark, self._named(name), plan, whole, hidden)
        problem = scan.key_missing or scan.duplicate_key
        if problem is None:
            return scan, None
        scan.close()
        return Scan(spark, self._named(name), replace(plan, key=()), whole, hidden), problem


def _included(
    included: IncludedPlan, plan: TablesPlan, scans: Mapping[str, Scan], named: Mapping[str, TableRows]
) -> SparkInclusion:
    rule = plan.rules.rules[included.rule]
    first, second = (scans[name] for name in included.body.tables)
    scope = None if rule.where is None else f"w{first.plan.conditions.index(rule.where)}"
    dangling = SparkDangling.between(first, second, included, scope)
    table = named[included.body.tables[0]]
    part = InclusionRule(included.rule, rule, included.body, table, first.in_scope(scope), dangling)
    return SparkInclusion(part, dangling)
