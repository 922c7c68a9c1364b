"""A table on an engine, and the jobs that can be run on it: the one protocol that both engines keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.checking.outcome import FailOn
from holdfast.engines.check_result import CheckResult
from holdfast.engines.discovery import DiscoverySource
from holdfast.programs.plan import Plan
from holdfast.rules.rule import RuleSet


class JobTable(Protocol):
    """A table that has been opened where its jobs will run."""

    @property
    def engine(self) -> str:
        """Where its jobs run: local or spark."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    def plan_check(self, rules: RuleSet, key: Sequence[str]) -> Plan:
        """The plan of checking the rules; refuses columns that are not there and senseless comparisons."""

    def run_check(
        self, plan: Plan, *, limit: int | None, fail_on: FailOn, all_columns: bool, redact: Sequence[str]
    ) -> CheckResult:
        """What the plan finds. `limit` caps the pairs that are listed per rule; counts are exact."""

    def discovery(self) -> DiscoverySource:
        """The table as a discovery reads it."""
