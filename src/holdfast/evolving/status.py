"""What a state of rules that evolve says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.evolving.rules_change import RulesChange
from holdfast.presented import Presented
from holdfast.search.outcome import DiscoverOutcome


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
