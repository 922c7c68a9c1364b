"""What a check found, whichever engine ran it: counts and verdicts at once, violations when they are asked for."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from holdfast.checking.annotated import DEFAULT_PARTNERS
from holdfast.checking.baseline import MOST_SUSPECTS, Baseline, with_new_suspects
from holdfast.checking.metrics import metric_schema, metric_table
from holdfast.checking.outcome import CheckOutcome, RuleOutcome, Summary, rule_verdict
from holdfast.checking.output_folders import (
    ANNOTATION_FOLDERS,
    QUARANTINE_FOLDERS,
    SUGGESTION_FOLDERS,
    VIOLATION_FOLDERS,
)
from holdfast.checking.shown_check import (
    PAIRS,
    RULES_IN_DETAIL,
    Duplicate,
    Plot,
    ShownCheck,
    ShownGroup,
    ShownRule,
    plotted_columns,
    redacted_check,
    redacted_outcome,
)
from holdfast.engines.outputs import write_folders
from holdfast.engines.result_table import ArrowResult, ResultTable
from holdfast.errors import OptionError, OutputError, unknown_column
from holdfast.presented import presentation
from holdfast.programs.plan import Plan
from holdfast.programs.program import is_symmetric
from holdfast.rules.dependency import Key, as_dependency
from holdfast.rules.plain_words import number, value_text
from holdfast.rules.rule import rule_text
from holdfast.states.write_whole import write_whole
from holdfast.violations.witness import HIDDEN, Witness, WorstRow, marked_columns, shown_message

if TYPE_CHECKING:
    from holdfast.explaining.explanation import RowExplanation

# The values of a row, by column.
Values = Mapping[str, Any]


class ShownResult(ABC):
    """What a check found, of one table or of several, as people and programs are shown it."""

    outcome: CheckOutcome

    @property
    def holds(self) -> bool:
        return self.outcome.holds

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast check --format json` prints."""
        return self.outcome.to_dict()

    @property
    @abstractmethod
    def detailed(self) -> CheckOutcome:
        """The outcome with, per violated rule, a witness in the table's own values and its worst rows."""

    @property
    @abstractmethod
    def shown(self) -> ShownCheck:
        """What a report shows: of each violated rule some violations in the table's own values, never all."""

    def summary(self) -> str:
        """The result as text, as `holdfast check` prints it."""
        return str(presentation("summary_text").summary_text(self.detailed))

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.detailed._repr_html_()

    def to_html(self) -> str:
        """The report as one HTML page that needs nothing else, as `holdfast check --report` writes it."""
        return str(presentation("check_page").check_page(self.shown))

    def to_junit(self) -> str:
        """The result as JUnit XML, as `holdfast check --format junit` prints it."""
        return str(presentation("junit").junit_text(self.detailed))

    def to_sarif(self) -> str:
        """The result as SARIF, as `holdfast check --format sarif` prints it."""
        return str(presentation("sarif").sarif_text(self.detailed))

    def to_openlineage(self, *, namespace: str = "holdfast") -> str:
        """The result as an event of OpenLineage, as `holdfast check --format openlineage` prints it."""
        return str(presentation("openlineage").openlineage_text(self.outcome, namespace=namespace))

    @cached_property
    def metrics(self) -> ResultTable:
        """A line per rule with its verdict and counts, under an id of this run, as `check --metrics` adds it."""
        return ArrowResult(metric_schema(), lambda: metric_table(self.outcome))

    def write_report(self, file: str | os.PathLike[str]) -> None:
        """Writes the report to the file, whole or not at all."""
        write_whole(file, self.to_html())


class CheckResult(ShownResult):
    """What a check found. Tables of violations are computed when they are used.

    The rows stay where the engine keeps them until `close()`, or until the end of a `with` block.
    """

    def __init__(self, plan: Plan, outcome: CheckOutcome, hidden: frozenset[str]) -> None:
        self.plan = plan
        self.outcome = outcome
        self.hidden = hidden  # the columns whose values nobody is shown

    # Verdicts and violations -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def pairs(self) -> ResultTable:
        """(rule, left, right): the violating pairs of two-row rules, at most `limit` of each."""

    @property
    @abstractmethod
    def rows(self) -> ResultTable:
        """(rule, key, conflicts): every violating row, with the number of violating pairs it is in."""

    @property
    @abstractmethod
    def groups(self) -> ResultTable:
        """(rule, group, column, value, rows, keys): how the groups that violate an FD or CFD are divided."""

    @property
    @abstractmethod
    def suspects(self) -> ResultTable:
        """(rule, key): the rows that would have to go; where those are unknown, all violating rows."""

    @property
    @abstractmethod
    def suggestions(self) -> ResultTable:
        """(key, column, value, suggested, resolves, adds, rules, confidence, low, high): changes of one cell that would
        mend suspect rows, values as text, the best of each row; nothing is changed.

        `resolves` and `adds` count violations of all rules, `confidence` is from 0 to 1, and `low` and `high` are the
        interval where any value of one would do.
        """

    @abstractmethod
    def split(self) -> tuple[ResultTable, ResultTable]:
        """(clean, quarantined): the table without its suspect rows, and those, with an array of the rules they break.

        The rules are those that count for the verdict. The clean rows hold all of them, up to rules whose suspects
        are unknown because their pairs were cut: of those all violating rows go.
        """

    @abstractmethod
    def annotated(self, *, partners: int = DEFAULT_PARTNERS) -> ResultTable:
        """The whole table with `_errors` and `_warnings`: arrays of (name, message, columns, filter, function,
        partners, conflicts, suspect), an entry per rule that the row breaks, null where it breaks none.

        A rule of severity error says so in `_errors`, one of severity warn in `_warnings`, also where its violations
        are allowed. `partners` are the keys of rows that break the rule together with this one, the smallest first,
        at most so many of each rule, out of the pairs that `pairs` lists; `conflicts` counts all of them. OptionError
        where the table has such a column of its own.
        """

    @abstractmethod
    def explain(self, row: Any) -> RowExplanation:
        """Which rules the row with this key breaks, with which others, and which change of one cell would mend it."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of the rows that the engine keeps."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What engines tell of single violations --------------------------------------------------------------------

    @abstractmethod
    def in_scope(self, i: int) -> int:
        """How many rows the rule speaks of."""

    @abstractmethod
    def _ends(self, violated: Sequence[int]) -> dict[int, tuple[Any, Any]]:
        """Per rule, the keys of a pair in conflict, or of a row that breaks the rule alone and None."""

    @abstractmethod
    def _worst(self, violated: Sequence[int]) -> dict[int, tuple[WorstRow, ...]]:
        """Per rule, the few rows that are in most violating pairs."""

    @abstractmethod
    def values_of(self, keys: Sequence[Any]) -> dict[Any, Values]:
        """The values that rules compare, of the rows with these keys, by key as hashable() makes it."""

    @abstractmethod
    def _worst_listed(self) -> dict[int, list[WorstRow]]:
        """Per rule, as many of the worst rows as a report lists."""

    @abstractmethod
    def _pairs_listed(self, which: Sequence[int]) -> dict[int, list[tuple[Any, Any]]]:
        """Per rule, the keys of as many pairs as a report draws."""

    @abstractmethod
    def _groups_listed(self) -> dict[str, list[ShownGroup]]:
        """Per rule name, the groups with most rows beside the largest side."""

    @abstractmethod
    def _duplicates_listed(self, keys: Mapping[int, Key]) -> dict[int, list[Duplicate]]:
        """Per rule, which is this key, the values that most rows have."""

    @abstractmethod
    def _dots(self, i: int, columns: tuple[str, str], within: Sequence[tuple[str, Any]]) -> list[tuple[Any, Any]]:
        """A sample of the rows that the rule speaks of and that have these values, by the two columns."""

    @abstractmethod
    def _new_suspects(self, known: Mapping[str, frozenset[str]]) -> dict[str, int]:
        """Per rule name, how many suspect rows are not among those known of it, by their names as in a baseline."""

    @abstractmethod
    def _named_suspects(self, most: int) -> list[tuple[str, str]]:
        """(rule, name) of at most so many suspect rows; a name is the key as JSON, the same in every run."""

    @abstractmethod
    def append_metrics(self, folder: str) -> None:
        """Adds a line for each rule to the Parquet table in the folder."""

    @abstractmethod
    def _tried_rows(self) -> int | None:
        """How many suspect rows `suggestions` speaks of; None where it speaks of all."""

    # What a person sees ----------------------------------------------------------------------------------------

    @cached_property
    def detailed(self) -> CheckOutcome:
        """The outcome with, per violated rule, a witness in the table's own values and its worst rows."""
        violated = [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_rows]
        if not violated:
            return self.outcome
        ends, worst = self._ends(violated), self._worst(violated)
        values = self.values_of([key for i in violated for key in ends[i] if key is not None])
        rules = list(self.outcome.rules)
        for i in violated:
            rules[i] = replace(rules[i], witness=self.witness(i, ends[i], values), worst=worst.get(i, ()))
        return redacted_outcome(replace(self.outcome, rules=tuple(rules)), self.hidden)

    @cached_property
    def shown(self) -> ShownCheck:
        """What a report shows: of each violated rule some violations in the table's own values, never all."""
        return redacted_check(self._shown(), self.hidden)

    def _shown(self) -> ShownCheck:
        outcome = self.outcome
        violated = [i for i, rule in enumerate(outcome.rules) if rule.violating_rows][:RULES_IN_DETAIL]
        if not violated:
            return ShownCheck(outcome, tuple(map(ShownRule, outcome.rules)))
        worst = self._worst_listed()
        pairs = self._pairs_listed([i for i in violated if outcome.rules[i].violating_pairs])
        ends = {i: pairs.get(i) or [(row.key, None) for row in worst.get(i, ())[:PAIRS]] for i in violated}
        values = self.values_of([key for listed in ends.values() for pair in listed for key in pair if key is not None])
        groups = self._groups_listed() if any(rule.violating_groups for rule in outcome.rules) else {}
        bodies = {i: as_dependency(outcome.rules[i].rule.body) for i in violated}
        duplicates = self._duplicates_listed({i: body for i, body in bodies.items() if isinstance(body, Key)})
        plots = self._plots(pairs, values)
        rules = [ShownRule(rule) for rule in outcome.rules]
        for i in violated:
            witnesses = [witness for pair in ends[i][:PAIRS] if (witness := self.witness(i, pair, values)) is not None]
            rules[i] = replace(
                rules[i],
                outcome=replace(outcome.rules[i], witness=witnesses[0] if witnesses else None),
                witnesses=tuple(witnesses),
                worst=tuple(worst.get(i, ())),
                groups=tuple(groups.get(outcome.rules[i].rule.name, ())),
                duplicates=tuple(duplicates.get(i, ())),
                plot=plots.get(i),
            )
        return ShownCheck(outcome, tuple(rules))

    def _plots(self, pairs: Mapping[int, Sequence[tuple[Any, Any]]], values: Mapping[Any, Values]) -> dict[int, Plot]:
        """By order rule, a sample of the rows that agree with most of its pairs, and those pairs."""
        plots: dict[int, Plot] = {}
        for i, rule_pairs in pairs.items():
            columns = plotted_columns(self.outcome.rules[i].rule)
            ends = [(values.get(hashable(left)), values.get(hashable(right))) for left, right in rule_pairs]
            known = [(a, b) for a, b in ends if a is not None and b is not None]
            if columns is None or not known:
                continue
            x, y, agree = columns
            groups = [tuple(hashable(a[name]) for name in agree) for a, _ in known]
            ((most, _),) = Counter(groups).most_common(1)
            of_group = [pair for pair, group in zip(known, groups, strict=True) if group == most]
            lines = tuple(((a[x], a[y]), (b[x], b[y])) for a, b in of_group)
            within = tuple((name, of_group[0][0][name]) for name in agree)
            plots[i] = Plot(x, y, within, tuple(self._dots(i, (x, y), within)), lines)
        return plots

    def witness(self, i: int, ends: tuple[Any, Any], values: Mapping[Any, Values]) -> Witness | None:
        """The pair, or the row alone, in the table's own values; None where it is not among them."""
        left, right = (values.get(hashable(key)) if key is not None else None for key in ends)
        if left is None:
            return None
        rule = self.outcome.rules[i].rule
        shown = rule.body.columns
        a = {name: left[name] for name in shown}
        b = {name: right[name] for name in shown} if right is not None else None
        said = tuple(dict.fromkeys(shown_message(rule, row, self.hidden) for row in (left, right) if row is not None))
        keys = plain_key(ends[0]), plain_key(ends[1])
        return Witness(keys[0], a, keys[1], b, shown, marked_columns(rule, a, b), messages=said if rule.message else ())

    # Files -----------------------------------------------------------------------------------------------------

    def write_violations(self, folder: str) -> None:
        """Writes `pairs`, `rows` and `groups` as Parquet below the folder, replacing earlier results."""
        write_folders(dict(zip(VIOLATION_FOLDERS, (self.pairs, self.rows, self.groups), strict=True)), folder)

    def write_quarantine(self, folder: str) -> None:
        """Writes the `clean` and the `quarantined` rows as Parquet below the folder."""
        write_folders(dict(zip(QUARANTINE_FOLDERS, self.split(), strict=True)), folder)

    def write_annotated(self, folder: str, *, partners: int = DEFAULT_PARTNERS) -> None:
        """Writes `annotated` as Parquet below the folder."""
        write_folders(dict(zip(ANNOTATION_FOLDERS, (self.annotated(partners=partners),), strict=True)), folder)

    def write_suggestions(self, folder: str) -> int | None:
        """Writes `suggestions` as Parquet below the folder. Returns how many suspect rows were tried; None for all."""
        write_folders(dict(zip(SUGGESTION_FOLDERS, (self.suggestions,), strict=True)), folder)
        return self._tried_rows()

    # What was known before -------------------------------------------------------------------------------------

    def baseline(self) -> Baseline:
        """The suspect rows of this check, to be known to later ones. OptionError where rows have no lasting names."""
        self._require_key()
        rows = self._named_suspects(MOST_SUSPECTS + 1)
        if len(rows) > MOST_SUSPECTS:
            raise OutputError(
                f"more than {MOST_SUSPECTS:,} rows are suspect, too many for a baseline.",
                hint="correct what is wrong with most of them, or leave out the rules that they break.",
            )
        keys: dict[str, set[str]] = {}
        for rule, name in rows:
            keys.setdefault(rule, set()).add(name)
        rules = {
            outcome.rule.name: (rule_text(outcome.rule), frozenset(keys.get(outcome.rule.name, ())))
            for outcome in self.outcome.rules
        }
        return Baseline(self.outcome.key, rules)

    def against(self, baseline: Baseline) -> Self:
        """The same violations, with verdicts by the suspect rows that the baseline does not know; all counts stay."""
        self._require_key()
        baseline.require_same_key(self.outcome.key)
        known = {f.rule.name: baseline.known(f.rule.name, rule_text(f.rule)) for f in self.outcome.rules}
        new = self._new_suspects({name: keys for name, keys in known.items() if keys})
        scopes = [self.in_scope(i) for i in range(len(self.outcome.rules))]
        return self.with_outcome(with_new_suspects(self.outcome, new, scopes))

    def _require_key(self) -> None:
        if not self.outcome.key:
            raise OptionError(
                "a baseline needs a key: without one rows are numbered, and numbers change when rows come.",
                hint="name the column that tells rows apart with --key.",
            )

    def with_outcome(self, outcome: CheckOutcome) -> Self:
        """The same violations under other verdicts."""
        other = copy.copy(self)
        for name in ("detailed", "shown", "metrics"):
            other.__dict__.pop(name, None)
        other.outcome = outcome
        return other

    @property
    def _violated(self) -> list[int]:
        return [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_rows]

    @property
    def _counted_names(self) -> list[str]:
        """The names of the rules that count for the verdict."""
        return [outcome.rule.name for outcome in self.outcome.rules if self.outcome.counts(outcome)]


def hidden_columns(redact: Sequence[str], columns: Sequence[str], table: str) -> frozenset[str]:
    """The columns whose values nobody is shown. Raises UnknownColumnError for one that the table does not have."""
    for name in redact:
        if name not in columns:
            raise unknown_column(f"--redact names {name!r}", name, table, columns)
    return frozenset(redact)


def rule_outcome(plan: Plan, i: int, summary: Summary, *, rows: int, limit: int | None) -> RuleOutcome:
    """The counts of rule i with its verdict, among so many rows that it speaks of."""
    rule = plan.rules.rules[i]
    verdict = rule_verdict(
        rule,
        suspects=summary.suspects,
        violating_rows=summary.rows,
        pairs=summary.pairs,
        symmetric=is_symmetric(plan.programs.programs[i]),
        rows=rows,
    )
    cut = bool(summary.pairs and limit is not None and summary.pairs > limit)
    counts = (summary.pairs, summary.rows, summary.suspects, summary.groups)
    return RuleOutcome(rule, verdict.holds, *counts, pairs_cut=cut, beyond_error=verdict.beyond_error)


def rounding_notes(plan: Plan, outcomes: Sequence[RuleOutcome]) -> list[str]:
    """What is said of violated rules that want a calculation with doubles to equal something."""
    notes = (plan.rounding_note(i) for i, outcome in enumerate(outcomes) if outcome.violating_rows)
    return [note for note in notes if note is not None]


def key_missing(key: Sequence[str], rows: int) -> str | None:
    """That the key is null in so many rows, in words; None where it is in none."""
    return f"the key {', '.join(key)} is null in {number(rows, 'row')}" if rows else None


def key_twice(key: Sequence[str], duplicate: tuple[Any, int] | None, hidden: frozenset[str]) -> str | None:
    """That a key occurs so many times, in words; None where there is no such key, or rows are numbered."""
    if duplicate is None or not key:
        return None
    value = HIDDEN if hidden & set(key) else value_text(plain_key(duplicate[0]))
    return f"the key {', '.join(key)} is not unique: {value!r} occurs {duplicate[1]:,} times"


def hashable(key: Any) -> Any:
    """The key as something that can stand in a dictionary."""
    if isinstance(key, Mapping):
        return tuple(map(hashable, key.values()))
    if isinstance(key, list | tuple):
        return tuple(map(hashable, key))
    return bytes(key) if isinstance(key, bytearray) else key


def plain_key(key: Any) -> Any:
    """The key as Python values: of several columns, a tuple."""
    if isinstance(key, Mapping):
        return tuple(key.values())
    return tuple(key) if isinstance(key, tuple) else key
