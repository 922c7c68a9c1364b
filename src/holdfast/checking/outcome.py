"""What a check found, as values: counts, verdicts, and the witnesses a person is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from holdfast.presented import Presented
from holdfast.rules.rule import Nulls, Rule, Severity
from holdfast.violations.witness import Witness, WorstRow

FailOn = Literal["error", "warn"]
VerdictWord = Literal["holds", "allowed", "warning", "violated"]


@dataclass(frozen=True)
class Summary:
    """The counts of one rule before any verdict, the keys of a witness, and the worst rows where they are known.

    `suspects` is None where the pairs they follow from are too many to list. `worst` is None where nobody has looked.
    """

    pairs: int | None
    rows: int
    suspects: int | None
    groups: int | None
    left: Any = None
    right: Any = None
    worst: tuple[WorstRow, ...] | None = None


@dataclass(frozen=True)
class MissingValue:
    """A value, as text, that so many rows refer to and that is not there."""

    value: str | None
    rows: int


@dataclass(frozen=True)
class RuleOutcome:
    """Counts and verdict of one rule; None where a count has no meaning for its kind.

    `beyond_error` says of a rule with a threshold for warnings that there are more suspects than is no error any more.
    `new_suspects` are those that a baseline does not know, where there is one. `missing` has, of an inclusion, the
    values that most rows refer to in vain.
    """

    rule: Rule
    holds: bool
    violating_pairs: int | None
    violating_rows: int
    suspect_rows: int | None
    violating_groups: int | None
    pairs_cut: bool = False
    witness: Witness | None = None
    worst: tuple[WorstRow, ...] = ()
    new_suspects: int | None = None
    missing: tuple[MissingValue, ...] = ()
    beyond_error: bool = False

    @property
    def verdict(self) -> VerdictWord:
        """In a word: holds, allowed (violated no more than is tolerated), warning or violated."""
        if self.holds:
            return "allowed" if self.violating_rows else "holds"
        return "violated" if self.severity == "error" else "warning"

    @property
    def severity(self) -> Severity:
        """What it counts as where it does not hold. A rule with a threshold for warnings is one up to the other."""
        return "warn" if self.rule.warn is not None and not self.beyond_error else self.rule.severity

    def to_dict(self) -> dict[str, Any]:
        beside = {} if self.new_suspects is None else {"new_suspect_rows": self.new_suspects}
        tables = self.rule.tables
        several = len(tables) > 1 or self.rule.kind == "ind"
        named: dict[str, Any] = {"tables": list(tables)} if several else {"table": tables[0]} if tables else {}
        return {
            "name": self.rule.name,
            "rule": str(self.rule),
            "kind": self.rule.kind,
            **named,
            "severity": self.severity,
            "holds": self.holds,
            "violating_pairs": self.violating_pairs,
            "violating_rows": self.violating_rows,
            "suspect_rows": self.suspect_rows,
            "violating_groups": self.violating_groups,
            **beside,
            **self.rule.labels,
        }


@dataclass(frozen=True)
class TableSummary:
    """One of several tables of a check: its name in rules, how many rows it has, and the columns that name them."""

    name: str
    rows: int
    key: tuple[str, ...]

    @property
    def key_label(self) -> str | list[str]:
        return _label(self.key)


def _label(key: tuple[str, ...]) -> str | list[str]:
    """The key as results call it: one name, a list of names, or `_row`."""
    if not key:
        return "_row"
    return key[0] if len(key) == 1 else list(key)


@dataclass(frozen=True)
class CheckOutcome(Presented):
    """What a check found of all rules, in the order of the rules. Where it is of several `tables`, each has its own
    key, and `rows` are those of all. `place` is the path of the table's files, where they
    lie below the folder in which the process runs; `engine` is where the check ran: local
    or spark."""

    table: str
    rows: int
    key: tuple[str, ...]
    seconds: float
    rules: tuple[RuleOutcome, ...]
    fail_on: FailOn = "error"
    limit: int | None = None
    notes: tuple[str, ...] = ()
    place: str | None = None
    engine: str = "spark"
    tables: tuple[TableSummary, ...] = ()
    nulls: Nulls = "sql"

    @property
    def holds(self) -> bool:
        """Whether every rule that counts holds: those of severity error, with `fail_on` warn all of them."""
        return all(outcome.holds for outcome in self.rules if self.counts(outcome))

    def counts(self, outcome: RuleOutcome) -> bool:
        return outcome.severity == "error" or self.fail_on == "warn"

    @property
    def key_label(self) -> str | list[str]:
        """The key as results call it: one name, a list of names, or `_row`; of several tables, `key`."""
        return "key" if self.tables else _label(self.key)

    def to_dict(self) -> dict[str, Any]:
        tables = [{"name": table.name, "rows": table.rows, "key": table.key_label} for table in self.tables]
        return {
            "rows": self.rows,
            "key": None if self.tables else self.key_label,
            "seconds": round(self.seconds, 3),
            "engine": self.engine,
            "holds": self.holds,
            **({"tables": tables} if tables else {}),
            "rules": [outcome.to_dict() for outcome in self.rules],
        }


@dataclass(frozen=True)
class Verdict:
    """Whether a rule holds, and whether there are more suspects than its threshold for errors, where it has two."""

    holds: bool
    beyond_error: bool = False


def rule_verdict(
    rule: Rule,
    *,
    suspects: int | None,
    violating_rows: int,
    pairs: int | None,
    symmetric: bool,
    rows: int,
    possible_pairs: int | None = None,
) -> Verdict:
    """Whether what was found is within what the rule allows, among `rows` rows that it speaks of.

    By suspect rows, or by violating rows where suspects are unknown; by pairs where the rule says `allow_pairs`, of
    which all ordered ones are possible unless `possible_pairs` says otherwise.
    """
    if rule.allow_pairs is None or pairs is None:
        return suspects_verdict(rule, violating_rows if suspects is None else suspects, rows)
    if rule.allow_pairs.percent is None:
        return Verdict(rule.allow_pairs.covers(pairs, 0))
    possible = rows * (rows - 1) if possible_pairs is None else possible_pairs
    return Verdict(rule.allow_pairs.covers(pairs * 2 if symmetric else pairs, possible))


def suspects_verdict(rule: Rule, suspects: int, rows: int) -> Verdict:
    """The verdict by so many suspects among so many rows."""
    judged = rule.judged(suspects, rows)
    return Verdict(judged is None, judged == "error" and rule.warn is not None)
