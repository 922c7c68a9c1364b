"""Whether rules fit the tables that they speak of, rule by rule, without looking at rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from holdfast.engines.local.check import plan_check
from holdfast.engines.local.job_table import LocalJobTable
from holdfast.engines.local.tables.check import LocalOpenedTables
from holdfast.engines.tables.plan import plan_tables
from holdfast.engines.tables.source import TableSource
from holdfast.errors import ConditionError, HoldfastError, RuleFileError, TypeMismatchError, UnknownColumnError
from holdfast.linting.finding import LintFinding
from holdfast.linting.lint import PlacedRule
from holdfast.rules.rule import Nulls, Rule, RuleSet

_CHECKS: Mapping[type[HoldfastError], str] = {
    UnknownColumnError: "column",
    TypeMismatchError: "type",
    ConditionError: "condition",
    RuleFileError: "table",
}


def lint_table(table: LocalJobTable, rules: Iterable[PlacedRule], nulls: Nulls) -> Iterator[LintFinding]:
    """What of each rule does not fit the table."""
    rows = table.whole
    yield from _misfits(rules, lambda rule: plan_check(rows, RuleSet((rule,), (), nulls), ()))


def lint_tables(sources: Mapping[str, TableSource], rules: Iterable[PlacedRule], nulls: Nulls) -> Iterator[LintFinding]:
    """What of each rule does not fit the tables that it names."""
    opened = LocalOpenedTables(sources)
    yield from _misfits(rules, lambda rule: plan_tables(opened, RuleSet((rule,), (), nulls)))


def _misfits(rules: Iterable[PlacedRule], fit: Callable[[Rule], object]) -> Iterator[LintFinding]:
    for placed in rules:
        try:
            fit(placed.rule)
        except tuple(_CHECKS) as problem:
            # Spark may know more of SQL than is computed here.
            level = "warning" if isinstance(problem, ConditionError) else "error"
            yield placed.finding(level, _CHECKS[type(problem)], problem.message, problem.hint)  # type: ignore[arg-type]
