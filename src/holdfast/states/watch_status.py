"""What a state of a watch says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.rules.html_table import code, dim, html_lines, html_table, on_lines, strong
from holdfast.rules.plain_words import number, value_text
from holdfast.states.batch_outcome import plain_json


@dataclass(frozen=True)
class WatchStatus:
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

    def _repr_html_(self) -> str:
        batches = number(self.batches, "batch")
        size = dim(f"version {self.version}, {number(self.rows, 'row')}, {batches}, {self.seconds:.1f} s")
        lines = [
            (
                on_lines(strong(rule), code(self.rules[rule])),
                number(total, self.units[rule].removesuffix("s")) if total else "no violations",
                on_lines(*(_worst(key, n) for key, n in self.worst.get(rule, ()))),
            )
            for rule, total in self.totals.items()
        ]
        return str(
            html_lines(strong(self.table) + " " + size) + html_table(("rule", "violations", "worst rows"), lines)
        )


def _worst(key: Any, conflicts: int) -> str:
    return value_text(key) + (f" ({number(conflicts, 'pair')})" if conflicts else "")
