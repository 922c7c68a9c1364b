"""What a change of a table does to the rules it holds: which came, which went and why, and how many there are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.presented import Presented
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
