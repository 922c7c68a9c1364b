"""A table in this process, and the jobs that can be run on it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from holdfast.checking.outcome import FailOn
from holdfast.engines.local.check import LocalCheckResult, plan_check, run_check
from holdfast.errors import ConditionError, UnknownColumnError
from holdfast.programs.plan import Plan
from holdfast.rules.rule import RuleSet
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_local import local_table_of, read_local
from holdfast.tables.read_options import ReadOptions

if TYPE_CHECKING:
    from holdfast.engines.local.discover import LocalDiscovery


@dataclass(frozen=True)
class LocalJobTable:
    """A file or folder, or a table in memory, that is read when a job needs its rows. `SparkJobTable` is its twin."""

    data: Any
    options: ReadOptions
    engine: str = "local"
    opened: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        if isinstance(self.data, str | os.PathLike):
            return os.path.basename(os.fspath(self.data).rstrip("/")) or os.fspath(self.data)
        return self._whole.name

    @cached_property
    def _whole(self) -> LocalTable:
        """The table with all its columns."""
        in_memory = None if isinstance(self.data, str | os.PathLike) else local_table_of(self.data)
        return read_local(self.data, self.options) if in_memory is None else in_memory

    def _read(self, columns: Collection[str] | None) -> LocalTable:
        """The table with these columns at least."""
        if "_whole" in self.__dict__ or columns is None or not isinstance(self.data, str | os.PathLike):
            return self._whole
        return read_local(self.data, self.options, columns=columns)

    @cached_property
    def _checked(self) -> dict[str, LocalTable]:
        return {}

    def plan_check(self, rules: RuleSet, key: Sequence[str]) -> Plan:
        """The plan. Raises ConditionError where a `where` says more than can be computed in this process."""
        needed: set[str] | None = {*key, *(name for rule in rules for name in rule.body.columns)}
        if any(rule.where is not None for rule in rules):
            needed = None  # a condition names columns in upper or lower case
        self._checked["table"] = self._read(needed)
        try:
            return plan_check(self._checked["table"], rules, key)
        except (UnknownColumnError, ConditionError):
            # The message names the columns that there are: all of them.
            self._checked["table"] = self._whole
            return plan_check(self._whole, rules, key)

    def run_check(
        self, plan: Plan, *, limit: int | None, fail_on: FailOn, all_columns: bool, redact: Sequence[str]
    ) -> LocalCheckResult:
        table = self._checked["table"]
        if all_columns or not set(redact) <= set(table.rows.column_names):
            table = self._whole
        return run_check(
            table, plan, limit=limit, fail_on=fail_on, redact=redact, whole=self._all_rows, started=self.opened
        )

    def _all_rows(self) -> pa.Table:
        return self._whole.rows

    def discovery(self) -> LocalDiscovery:
        from holdfast.engines.local.discover import LocalDiscovery  # with the compiler, which few rows of a check spare

        return LocalDiscovery(self._whole)
