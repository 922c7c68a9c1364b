"""What a check found, as values: counts, verdicts, and the witnesses a person is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from holdfast.presented import Presented
from holdfast.rules.rule import Rule
from holdfast.violations.witness import Witness, WorstRow

FailOn = Literal["error", "warn"]


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
class RuleOutcome:
    """Counts and verdict of one rule; None where a count has no meaning for its kind.

    `new_suspects` are those that a baseline does not know, where there is one.
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

    def to_dict(self) -> dict[str, Any]:
        beside = {} if self.new_suspects is None else {"new_suspect_rows": self.new_suspects}
        return {
            "name": self.rule.name,
            "rule": str(self.rule),
            "kind": self.rule.kind,
            "severity": self.rule.severity,
            "holds": self.holds,
            "violating_pairs": self.violating_pairs,
            "violating_rows": self.violating_rows,
            "suspect_rows": self.suspect_rows,
            "violating_groups": self.violating_groups,
            **beside,
        }


@dataclass(frozen=True)
class CheckOutcome(Presented):
    """What a check found of all rules, in the order of the rules. `place` is the path of the table's files, where they
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

    @property
    def holds(self) -> bool:
        """Whether every rule that counts holds: those of severity error, with `fail_on` warn all of them."""
        return all(outcome.holds for outcome in self.rules if self.counts(outcome))

    def counts(self, outcome: RuleOutcome) -> bool:
        return outcome.rule.severity == "error" or self.fail_on == "warn"

    @property
    def key_label(self) -> str | list[str]:
        """The key as results call it: one name, a list of names, or `_row`."""
        if not self.key:
            return "_row"
        return self.key[0] if len(self.key) == 1 else list(self.key)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "key": self.key_label,
            "seconds": round(self.seconds, 3),
            "engine": self.engine,
            "holds": self.holds,
            "rules": [outcome.to_dict() for outcome in self.rules],
        }


def rule_holds(
    rule: Rule, *, suspects: int | None, violating_rows: int, pairs: int | None, symmetric: bool, rows: int
) -> bool:
    """Whether what was found is within what the rule allows, among `rows` rows that it speaks of.

    By suspect rows, or by violating rows where suspects are unknown; by pairs where the rule says `allow_pairs`.
    """
    if rule.allow_pairs is None or pairs is None:
        return rule.allow.covers(violating_rows if suspects is None else suspects, rows)
    if rule.allow_pairs.percent is None:
        return rule.allow_pairs.covers(pairs, 0)
    return rule.allow_pairs.covers(pairs * 2 if symmetric else pairs, rows * (rows - 1))
