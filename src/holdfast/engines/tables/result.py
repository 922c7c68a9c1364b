"""What a check of several tables found, whichever engine ran it."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from holdfast.checking.annotated import DEFAULT_PARTNERS
from holdfast.checking.outcome import CheckOutcome, FailOn, RuleOutcome, TableSummary
from holdfast.checking.output_folders import QUARANTINE_FOLDERS, SUGGESTION_FOLDERS, VIOLATION_FOLDERS
from holdfast.checking.shown_check import ShownCheck, ShownRule
from holdfast.engines.check_result import ShownResult
from holdfast.engines.outputs import write_folders
from holdfast.engines.result_table import ResultTable
from holdfast.engines.tables.parts import RulesPart, TableRows
from holdfast.errors import OptionError, closest_hint, unknown_column
from holdfast.explaining.explanation import RowExplanation
from holdfast.rules.predicate import joint_name
from holdfast.rules.rule import Nulls


class TablesCheckResult(ShownResult):
    """What a check of several tables found; tables of violations are computed when they are used.

    In them a row is named by its table and its key. Keys keep their type where all tables have keys of one type, and
    are text otherwise.
    """

    def __init__(self, outcome: CheckOutcome, parts: Sequence[RulesPart]) -> None:
        self.outcome, self._parts = outcome, tuple(parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Lets go of the rows that the engine keeps."""

    @cached_property
    def detailed(self) -> CheckOutcome:
        outcomes: dict[int, RuleOutcome] = {}
        for part in self._parts:
            outcomes.update(part.detailed())
        return replace(self.outcome, rules=tuple(outcomes[i] for i in range(len(outcomes))))

    @cached_property
    def shown(self) -> ShownCheck:
        shown: dict[int, ShownRule] = {}
        for part in self._parts:
            shown.update(part.shown())
        return ShownCheck(self.outcome, tuple(shown[i] for i in range(len(shown))))

    # Tables ----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def pairs(self) -> ResultTable:
        """(rule, left, right, left_table, right_table): the violating pairs of two-row rules, at most `limit` each."""

    @property
    @abstractmethod
    def rows(self) -> ResultTable:
        """(rule, key, conflicts, table): every violating row, with the number of violating pairs it is in."""

    @property
    @abstractmethod
    def suspects(self) -> ResultTable:
        """(rule, key, table): the rows that would have to go; where those are unknown, all violating rows."""

    @property
    @abstractmethod
    def groups(self) -> ResultTable:
        """(rule, group, column, value, rows, keys, table): how the groups that violate an FD or CFD are divided; of an
        inclusion, the values that are missing."""

    @abstractmethod
    def split(self) -> Mapping[str, tuple[ResultTable, ResultTable]]:
        """Per table (clean, quarantined): it without its suspect rows, and those, with the rules they break."""

    @abstractmethod
    def annotated(self, *, partners: int = DEFAULT_PARTNERS) -> Mapping[str, ResultTable]:
        """Per table, the whole of it with `_errors` and `_warnings`, as CheckResult.annotated() has them.

        The partners of a row in a rule over two tables are rows of the other table.
        """

    @property
    @abstractmethod
    def suggestions(self) -> ResultTable:
        """(key, column, value, suggested, resolves, adds, rules, confidence, low, high, table): changes of one cell
        that would mend suspect rows, the best of each row; nothing is changed.

        `resolves` and `adds` count violations of the row, and of inclusions also those of rows that refer to it.
        """

    @abstractmethod
    def explain(self, row: Any, *, table: str) -> RowExplanation:
        """Which rules the row of this table breaks, and which change of one cell would mend it."""

    def require_table(self, table: str) -> None:
        """Raises OptionError where the check has no such table."""
        names = [own.name for own in self.outcome.tables]
        if table not in names:
            raise OptionError(f"there is no table {table!r}.", hint=closest_hint(table, names, what="Tables"))

    @property
    def _counted_names(self) -> list[str]:
        """The names of the rules that count for the verdict."""
        return [outcome.rule.name for outcome in self.outcome.rules if self.outcome.counts(outcome)]

    # Files -----------------------------------------------------------------------------------------------------

    def write_violations(self, folder: str) -> None:
        """Writes `pairs`, `rows` and `groups` as Parquet below the folder, replacing earlier results."""
        write_folders(dict(zip(VIOLATION_FOLDERS, (self.pairs, self.rows, self.groups), strict=True)), folder)

    def write_quarantine(self, folder: str) -> None:
        """Writes, below the folder, a folder per table with its `clean` and its `quarantined` rows as Parquet."""
        tables = {
            os.path.join(name, part): table
            for name, split in self.split().items()
            for part, table in zip(QUARANTINE_FOLDERS, split, strict=True)
        }
        write_folders(tables, folder, parts=tuple(table.name for table in self.outcome.tables))

    def write_annotated(self, folder: str, *, partners: int = DEFAULT_PARTNERS) -> None:
        """Writes, below the folder, each table `annotated` as Parquet in a folder of its name."""
        write_folders(self.annotated(partners=partners), folder)

    def write_suggestions(self, folder: str) -> int | None:
        """Writes `suggestions` as Parquet below the folder. Returns how many suspect rows were tried; None for all."""
        write_folders(dict(zip(SUGGESTION_FOLDERS, (self.suggestions,), strict=True)), folder)
        return self.tried_rows()

    @abstractmethod
    def tried_rows(self) -> int | None:
        """How many suspect rows of each table `suggestions` speaks of; None where it speaks of all."""

    @abstractmethod
    def append_metrics(self, folder: str) -> None:
        """Adds a line for each rule to the Parquet table in the folder."""


def tables_outcome(
    tables: Sequence[TableRows],
    parts: Iterable[RulesPart],
    *,
    limit: int | None,
    fail_on: FailOn,
    notes: Iterable[str],
    started: float,
    engine: str,
    nulls: Nulls,
) -> CheckOutcome:
    """The counts and verdicts of all parts together. `started` is when the check began, by the monotonic clock."""
    outcomes: dict[int, RuleOutcome] = {}
    for part in parts:
        outcomes.update(part.outcomes())
    return CheckOutcome(
        table=", ".join(table.name for table in tables),
        rows=sum(table.rows for table in tables),
        key=(),
        seconds=time.monotonic() - started,
        rules=tuple(outcomes[i] for i in range(len(outcomes))),
        fail_on=fail_on,
        limit=limit,
        notes=tuple(dict.fromkeys(notes)),
        engine=engine,
        nulls=nulls,
        tables=tuple(TableSummary(table.name, table.rows, table.key) for table in tables),
    )


def hidden_by_table(redact: Sequence[str], columns: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Per table, the columns that nobody is shown: `orders.card`, or `card` for those of all tables that have one."""
    hidden: dict[str, set[str]] = {name: set() for name in columns}
    joint = [joint_name(name, column) for name, own in columns.items() for column in own]
    for wanted in redact:
        fit = [(name, c) for name, own in columns.items() for c in own if wanted in (c, joint_name(name, c))]
        if not fit:
            raise unknown_column(f"--redact names {wanted!r}", wanted, ", ".join(columns), joint)
        for name, column in fit:
            hidden[name].add(column)
    return {name: frozenset(own) for name, own in hidden.items()}
