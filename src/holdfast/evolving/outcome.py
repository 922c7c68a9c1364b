"""What a batch of changes did to the rules of a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.evolving.rules_change import AddedRule, BreakingPair, RemovedRule, RulesChange
from holdfast.presented import Presented


@dataclass(frozen=True)
class EvolveOutcome(Presented):
    """The rules that a batch added and removed. `applied` is False where it had been taken in before: then none."""

    batch: str
    applied: bool
    version: int
    rows: int
    change: RulesChange
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast evolve apply --format json` prints."""
        return {
            "batch": self.batch,
            "applied": self.applied,
            "added": list(self.change.added_rules),
            "removed": list(self.change.removed_rules),
            "total": self.change.total,
        }


def change_to_json(change: RulesChange) -> dict[str, Any]:
    """The change as plain values, with its reasons."""
    return {
        "added": [[entry.rule, entry.refines, entry.replaces] for entry in change.added],
        "removed": [
            [entry.rule, None if entry.witness is None else entry.witness.to_dict(), entry.implied_by]
            for entry in change.removed
        ],
        "total": change.total,
        "strategy": change.strategy,
        "notes": list(change.notes),
    }


def change_from_json(fields: dict[str, Any]) -> RulesChange:
    """Returns the change that `change_to_json` wrote; values of witnesses are as JSON has them."""

    def witness(entry: dict[str, Any] | None) -> BreakingPair | None:
        if entry is None:
            return None
        return BreakingPair(entry["left"], entry["right"], tuple((n, a, b) for n, (a, b) in entry["values"].items()))

    return RulesChange(
        tuple(AddedRule(*entry) for entry in fields["added"]),
        tuple(RemovedRule(rule, witness(seen), by) for rule, seen, by in fields["removed"]),
        fields["total"],
        fields["strategy"],
        tuple(fields["notes"]),
    )
