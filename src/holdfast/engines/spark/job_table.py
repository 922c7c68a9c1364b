"""A table on Spark, and the jobs that can be run on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.checking.outcome import FailOn
from holdfast.engines.spark.checking.check import SparkCheckResult, plan_check, run_check
from holdfast.engines.spark.discovery.discover import SparkDiscovery
from holdfast.engines.spark.sources.table import Table
from holdfast.programs.plan import Plan
from holdfast.rules.rule import RuleSet


@dataclass(frozen=True)
class SparkJobTable:
    """A table on the session it was opened with. `LocalJobTable` is its twin in this process."""

    table: Table
    engine: str = "spark"

    @property
    def name(self) -> str:
        return self.table.name

    def plan_check(self, rules: RuleSet, key: Sequence[str]) -> Plan:
        return plan_check(self.table, rules, key)

    def run_check(
        self, plan: Plan, *, limit: int | None, fail_on: FailOn, all_columns: bool, redact: Sequence[str]
    ) -> SparkCheckResult:
        spark = self.table.frame.sparkSession
        return run_check(spark, self.table, plan, limit=limit, fail_on=fail_on, all_columns=all_columns, redact=redact)

    def discovery(self) -> SparkDiscovery:
        return SparkDiscovery(self.table)
