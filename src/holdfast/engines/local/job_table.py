"""A table in this process, and the jobs that can be run on it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdfast.checking.outcome import FailOn
from holdfast.engines.local.check import LocalCheckResult, filtered_table, plan_check, run_check
from holdfast.errors import UnknownColumnError
from holdfast.programs.plan import Plan
from holdfast.rules.message import message_columns
from holdfast.rules.rule import RuleSet
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_local import local_table_of, read_local
from holdfast.tables.read_options import ReadOptions

if TYPE_CHECKING:
    from holdfast.engines.local.discover import LocalDiscovery


class LocalJobTable:
    """A file or folder, or a table in memory, that is read when a job needs its rows. `SparkJobTable` is its twin."""

    engine = "local"

    def __init__(self, data: Any, options: ReadOptions, where: str | None = None) -> None:
        self._data, self._options, self._where, self._opened = data, options, where, time.monotonic()
        self._is_path = isinstance(data, str | os.PathLike)
        # What a check has read last: the columns that its rules name, or more.
        self._last: LocalTable | None = None

    @property
    def name(self) -> str:
        if self._is_path:
            path = str(os.fspath(self._data))
            return os.path.basename(path.rstrip("/")) or path
        return self._whole.name

    @cached_property
    def _whole(self) -> LocalTable:
        """The table with all its columns. Raises ConditionError as plan_check() does."""
        in_memory = None if self._is_path else local_table_of(self._data)
        return filtered_table(read_local(self._data, self._options) if in_memory is None else in_memory, self._where)

    @property
    def whole(self) -> LocalTable:
        """The table with all its columns."""
        return self._whole

    def plan_check(self, rules: RuleSet, key: Sequence[str]) -> Plan:
        """The plan. Raises ConditionError where a `where` says more than can be computed in this process."""
        needed = {*key, *(name for rule in rules for name in (*rule.body.columns, *message_columns(rule.message)))}
        # A condition names columns in upper or lower case, so that all of them are read.
        conditions = [self._where, *(rule.where for rule in rules)]
        if not self._is_path or "_whole" in self.__dict__ or any(where is not None for where in conditions):
            self._last = self._whole
        else:
            self._last = read_local(self._data, self._options, columns=needed)
        try:
            return plan_check(self._last, rules, key)
        except UnknownColumnError:
            # The message names the columns that there are: all of them.
            self._last = self._whole
            return plan_check(self._last, rules, key)

    def run_check(
        self, plan: Plan, *, limit: int | None, fail_on: FailOn, all_columns: bool, redact: Sequence[str]
    ) -> LocalCheckResult:
        table = self._whole if self._last is None or all_columns else self._last
        if not set(redact) <= set(table.rows.column_names):
            table = self._whole
        return run_check(
            table,
            plan,
            limit=limit,
            fail_on=fail_on,
            redact=redact,
            whole=lambda: self._whole.rows,
            started=self._opened,
        )

    def discovery(self) -> LocalDiscovery:
        from holdfast.engines.local.discover import LocalDiscovery  # with the compiler, which few rows of a check spare

        return LocalDiscovery(self._whole)
