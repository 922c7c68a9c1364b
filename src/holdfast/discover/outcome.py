"""What a discovery says: rules in the order they are shown, and how it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.discover.options import DiscoverOptions
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.rule import Rule, RuleSet


@dataclass(frozen=True)
class FoundRule:
    """One discovered constraint: as a rule under a name, as a denial, and what speaks for it.

    `coverage` is the share of ordered pairs that meet all its predicates but the one that is least often put to the
    test; `score`, from 0 to 1, is what rules are ranked by.
    """

    rule: Rule
    constraint: DenialConstraint
    score: float
    coverage: float
    violating_pairs: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": str(self.rule),
            "dc": str(self.constraint),
            "kind": self.rule.kind,
            "score": round(self.score, 6),
            "coverage": round(self.coverage, 9),
            "violating_pairs": self.violating_pairs,
        }


@dataclass(frozen=True)
class DiscoverOutcome:
    """All rules found, best first, of which the first `top` are shown (None: all)."""

    table: str
    rows: int
    distinct_rows: int
    predicates: int
    evidence: int
    complete: bool
    seconds: float
    found: tuple[FoundRule, ...]
    options: DiscoverOptions
    top: int | None = None
    strategy: str = "all-pairs"
    why: str | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[FoundRule, ...]:
        return self.found if self.top is None else self.found[: self.top]

    @property
    def rules(self) -> RuleSet:
        """The rules that are shown, ready for a check."""
        return RuleSet(tuple(one.rule for one in self.shown), nulls=self.options.nulls)

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast discover --format json` prints."""
        return {
            "rows": self.rows,
            "predicates": self.predicates,
            "evidence": self.evidence,
            "complete": self.complete,
            "seconds": round(self.seconds, 3),
            "rules": [one.to_dict() for one in self.shown],
        }
