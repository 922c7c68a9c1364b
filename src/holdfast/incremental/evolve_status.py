"""What a state of rules that evolve says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.discover.found_table import found_table
from holdfast.discover.outcome import DiscoverOutcome
from holdfast.rules.html_table import dim, html_lines, strong
from holdfast.rules.plain_words import number
from holdfast.states.rules_change import RulesChange
from holdfast.states.rules_change_html import rules_change_html

_SHOWN_OF_HISTORY = 3


@dataclass(frozen=True)
class EvolveStatus:
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

    def _repr_html_(self) -> str:
        batches = number(self.batches, "batch")
        found = self.found
        size = dim(f"version {self.version}, {number(found.rows, 'row')}, {batches}")
        told = html_lines(strong(found.table) + " " + size, strong(number(len(found.found), "rule")))
        told += found_table(found.shown)
        for version, change in self.history:
            told += rules_change_html(strong(f"version {version}"), change, most=_SHOWN_OF_HISTORY)
        return str(told)
