"""What a batch of changes did to the violations of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.presented import Presented
from holdfast.states.violations_change import Violation, ViolationsChange


@dataclass(frozen=True)
class RuleViolation:
    """A violating pair by its keys, or a row that breaks a rule alone: then `right` is None."""

    rule: str
    left: Any
    right: Any = None


@dataclass(frozen=True)
class BatchOutcome(Presented):
    """The change of violations that a batch brought: listed up to a limit per rule, counted exactly, and the totals.

    `applied` is False where the batch had been applied before: then nothing was added or removed.
    """

    batch: str
    applied: bool
    version: int
    rows: int
    change: ViolationsChange
    seconds: float = 0.0

    @property
    def added(self) -> tuple[RuleViolation, ...]:
        """The violations that came, as far as they are listed, in order of rules and keys."""
        return _rule_violations(self.change.added)

    @property
    def removed(self) -> tuple[RuleViolation, ...]:
        return _rule_violations(self.change.removed)

    @property
    def added_count(self) -> int:
        return self.change.added_count

    @property
    def removed_count(self) -> int:
        return self.change.removed_count

    @property
    def totals(self) -> Mapping[str, int]:
        return self.change.totals

    @property
    def cut(self) -> bool:
        """Whether more was added or removed than is listed."""
        return self.change.cut

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast watch apply --format json` prints."""
        return {"batch": self.batch, "applied": self.applied, **self.change.to_dict()}


def _rule_violations(side: Mapping[str, Sequence[Violation]]) -> tuple[RuleViolation, ...]:
    return tuple(RuleViolation(rule, *keys) for rule, listed in side.items() for keys in listed)
