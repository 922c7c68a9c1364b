"""What a state of a watch says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.presented import Presented
from holdfast.states.key_json import plain_json


@dataclass(frozen=True)
class WatchStatus(Presented):
    """A version of a state: how many rows it has, how many batches it has taken in, and the violations of each rule.

    `worst` has, by rule name, the rows that are in most violating pairs, and in how many; it is empty where nobody has
    looked. `units` says of each total what it counts: pairs, or rows. `rules` are their texts.
    """

    table: str
    version: int
    rows: int
    key: tuple[str, ...]
    batches: int
    totals: Mapping[str, int]
    units: Mapping[str, str]
    rules: Mapping[str, str]
    worst: Mapping[str, tuple[tuple[Any, int], ...]] = field(default_factory=dict)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast watch show --format json` prints."""
        return {
            "version": self.version,
            "rows": self.rows,
            "key": self.key[0] if len(self.key) == 1 else list(self.key),
            "batches": self.batches,
            "seconds": round(self.seconds, 3),
            "totals": dict(self.totals),
            "worst": {
                name: [{"key": plain_json(key), "conflicts": n} for key, n in rows] for name, rows in self.worst.items()
            },
        }
