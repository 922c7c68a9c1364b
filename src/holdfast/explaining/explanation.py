"""What is to be said of one row: the rules it breaks, with whom, and what could be done about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.presented import Presented
from holdfast.rules.rule import Rule
from holdfast.states.key_json import plain_json
from holdfast.violations.witness import HIDDEN, Witness, WorstRow, hidden_keys, hidden_witness


@dataclass(frozen=True)
class BrokenRule:
    """A rule that the row breaks: how often, a pair that shows it, and some of the rows it is in conflict with.

    `others` come with the number of their own violations of the rule, most first. One that has more than the row itself
    is more likely to be what is wrong.
    """

    rule: Rule
    violations: int
    witness: Witness | None
    others: tuple[WorstRow, ...] = ()

    @property
    def likelier(self) -> tuple[WorstRow, ...]:
        """The others that are in more violations of the rule than the row is."""
        return tuple(other for other in self.others if other.conflicts > self.violations)


@dataclass(frozen=True)
class Suggestion:
    """A value for one cell, as text: what it would resolve, what it would break, and how much speaks for it.

    `low` and `high` are the interval that would do, where any value of one would.
    """

    column: str
    value: Any
    suggested: str
    resolves: int
    adds: int
    rules: tuple[str, ...]
    confidence: float
    low: str | None = None
    high: str | None = None

    def to_dict(self) -> dict[str, Any]:
        content = {
            "column": self.column,
            "value": None if self.value is None else str(self.value),
            "suggested": self.suggested,
            "resolves": self.resolves,
            "adds": self.adds,
            "rules": list(self.rules),
            "confidence": round(self.confidence, 3),
        }
        return content if self.low is None and self.high is None else {**content, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class RowExplanation(Presented):
    """A row of a table, the rules it breaks, and suggestions, the best first."""

    table: str
    key: str | list[str]
    row: Any
    values: Mapping[str, Any]
    rules: int
    broken: tuple[BrokenRule, ...]
    suggestions: tuple[Suggestion, ...]
    seconds: float

    @property
    def violations(self) -> int:
        return sum(rule.violations for rule in self.broken)

    def to_dict(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "row": plain_json(self.row),
            "seconds": round(self.seconds, 3),
            "violations": self.violations,
            "rules": [
                {
                    "name": rule.rule.name,
                    "rule": str(rule.rule),
                    "kind": rule.rule.kind,
                    "violations": rule.violations,
                    "with": [{"key": plain_json(o.key), "violations": o.conflicts} for o in rule.others],
                }
                for rule in self.broken
            ],
            "suggestions": [rule.to_dict() for rule in self.suggestions],
        }


def redacted_explanation(explanation: RowExplanation, columns: Collection[str]) -> RowExplanation:
    """What is said of a row, with the values of these columns hidden."""
    if not columns:
        return explanation
    names = [explanation.key] if isinstance(explanation.key, str) else explanation.key
    hides_key = bool(set(names) & set(columns))

    def broken(rule: BrokenRule) -> BrokenRule:
        witness = None if rule.witness is None else hidden_witness(rule.witness, columns, hides_key)
        return replace(rule, witness=witness, others=hidden_keys(rule.others, hides_key))

    def suggestion(change: Suggestion) -> Suggestion:
        if change.column not in columns:
            return change
        low, high = (None if bound is None else HIDDEN for bound in (change.low, change.high))
        return replace(change, value=HIDDEN, suggested=HIDDEN, low=low, high=high)

    return replace(
        explanation,
        row=HIDDEN if hides_key else explanation.row,
        values={name: HIDDEN if name in columns else value for name, value in explanation.values.items()},
        broken=tuple(map(broken, explanation.broken)),
        suggestions=tuple(map(suggestion, explanation.suggestions)),
    )
