"""What a batch of changes did to the violations of a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.presented import Presented
from holdfast.states.key_json import plain_json


@dataclass(frozen=True)
class Violation:
    """A violating pair by its keys, or a row that breaks a rule alone: then `right` is None."""

    rule: str
    left: Any
    right: Any = None

    def to_dict(self) -> dict[str, Any]:
        told = {"rule": self.rule, "left": plain_json(self.left)}
        return told if self.right is None else {**told, "right": plain_json(self.right)}


@dataclass(frozen=True)
class BatchOutcome(Presented):
    """What was added and removed, listed up to a limit per rule and counted exactly, and the totals after it.

    `applied` is False where the batch had been taken in before: then nothing was added or removed.
    """

    batch: str
    applied: bool
    version: int
    rows: int
    added: tuple[Violation, ...]
    removed: tuple[Violation, ...]
    added_count: int
    removed_count: int
    totals: Mapping[str, int]
    seconds: float = 0.0

    @property
    def cut(self) -> bool:
        """Whether more was added or removed than is listed."""
        return len(self.added) < self.added_count or len(self.removed) < self.removed_count

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast watch apply --format json` prints."""
        return {
            "batch": self.batch,
            "applied": self.applied,
            "added": [violation.to_dict() for violation in self.added],
            "removed": [violation.to_dict() for violation in self.removed],
            "added_count": self.added_count,
            "removed_count": self.removed_count,
            "totals": dict(self.totals),
        }
