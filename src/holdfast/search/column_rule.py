"""What is likely to hold of a single column in the next rows, too."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import Rule

ColumnRuleKind = Literal["not null", "constant", "set", "range", "length", "format", "unit", "sorted"]


# Kinds that name no value, nor a part of one.
_WITHOUT_VALUES: frozenset[ColumnRuleKind] = frozenset({"not null", "unit", "length", "sorted"})


@dataclass(frozen=True)
class ColumnRule:
    """One rule on a column: `says` in words what its values do, `evidence` what speaks for it, and `breaks`, from 0 to
    1, how likely as many rows again as there are break it.

    `rule` is None for what rules cannot say: a rule knows nothing of the order of rows.
    """

    column: str
    kind: ColumnRuleKind
    rule: Rule | None
    says: str
    evidence: str
    breaks: float

    @property
    def words(self) -> str:
        """The rule as a sentence without its full stop."""
        return f"{quoted_name(self.column)} {self.says}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "kind": self.kind,
            "rule": None if self.rule is None else str(self.rule),
            "dc": None if self.rule is None else str(self.rule.body.denials[0]),
            "says": self.says,
            "evidence": self.evidence,
            "breaks": round(self.breaks, 6),
        }


def without_values_of(rules: Iterable[ColumnRule], hidden: Collection[str]) -> tuple[ColumnRule, ...]:
    """Returns the rules, but for those that tell values of a hidden column."""
    return tuple(entry for entry in rules if entry.column not in hidden or entry.kind in _WITHOUT_VALUES)
