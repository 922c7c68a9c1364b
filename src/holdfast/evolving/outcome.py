"""What a change of a table does to the rules it holds, by itself and as a batch of a state; and what the state says.

Which rules came, which went and why, and how many there are now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.presented import Presented
from holdfast.rules.decisions import Decisions
from holdfast.search.outcome import DiscoverOutcome
from holdfast.states.key_json import plain_json


@dataclass(frozen=True)
class BreakingPair:
    """A pair of rows, by their keys, that breaks a rule; per column that the rule compares, the values of both."""

    left: Any
    right: Any
    values: tuple[tuple[str, Any, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        values = {name: [plain_json(a), plain_json(b)] for name, a, b in self.values}
        return {"left": plain_json(self.left), "right": plain_json(self.right), "values": values}


@dataclass(frozen=True)
class AddedRule:
    """A rule that holds now and is implied by no other. `refines` is a rule that fell, which this one strengthens;
    `replaces` one that still holds, which this one implies."""

    rule: str
    refines: str | None = None
    replaces: str | None = None


@dataclass(frozen=True)
class RemovedRule:
    """A rule that is no longer among the most general ones: a `witness` breaks it, or another rule implies it.

    Neither is told of a rule that more pairs break than may.
    """

    rule: str
    witness: BreakingPair | None = None
    implied_by: str | None = None


@dataclass(frozen=True)
class RulesChange(Presented):
    """Rules added and removed, in lists that may be made when they are first looked at, and how many there are now.

    `notes` tell what a person should know besides.
    """

    added: Sequence[AddedRule]
    removed: Sequence[RemovedRule]
    total: int
    strategy: str = ""
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return len(self.added) + len(self.removed) > 0

    @property
    def added_rules(self) -> Sequence[str]:
        return [entry.rule for entry in self.added]

    @property
    def removed_rules(self) -> Sequence[str]:
        return [entry.rule for entry in self.removed]


@dataclass(frozen=True)
class EvolveOutcome(Presented):
    """The rules that a batch added and removed. `applied` is False where it had been taken in before: then none. With
    `decisions`, it says which added rules somebody rejected, and which removed ones somebody kept."""

    batch: str
    applied: bool
    version: int
    rows: int
    change: RulesChange
    seconds: float = 0.0
    decisions: Decisions | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast evolve apply --format json` prints."""
        decided: dict[str, Any] = {}
        if self.decisions is not None:
            on, change = self.decisions.on, self.change
            decided = {
                "added_rejected": [rule for rule in change.added_rules if on(rule) == "rejected"],
                "removed_kept": [rule for rule in change.removed_rules if on(rule) == "kept"],
            }
        return {
            "batch": self.batch,
            "applied": self.applied,
            "added": list(self.change.added_rules),
            "removed": list(self.change.removed_rules),
            "total": self.change.total,
            **decided,
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


@dataclass(frozen=True)
class EvolveStatus(Presented):
    """A version of a state: its rules, as a discovery tells them, and the last changes of them, the latest first."""

    found: DiscoverOutcome
    version: int
    key: tuple[str, ...]
    batches: int
    history: tuple[tuple[int, RulesChange], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast evolve show --format json` prints: that of `discover`, and the state's own."""
        return {
            "version": self.version,
            "key": self.key[0] if len(self.key) == 1 else list(self.key),
            "batches": self.batches,
            "total": len(self.found.found),
            **self.found.to_dict(),
        }
