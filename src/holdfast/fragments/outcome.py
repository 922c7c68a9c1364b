"""What a batch of changes did to the violations of a table that is split over sites, and what that shipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.fragments.sites import SplitTable
from holdfast.presented import Presented
from holdfast.states.batch_outcome import BatchOutcome, RuleViolation
from holdfast.states.key_json import plain_json
from holdfast.states.messages import Shipped


@dataclass(frozen=True)
class FragmentsOutcome(Presented):
    """The rows that came into violation of a rule and those that left it, and what crossed between sites for it."""

    changes: BatchOutcome
    shipped: Shipped

    @property
    def applied(self) -> bool:
        return self.changes.applied

    @property
    def added(self) -> tuple[RuleViolation, ...]:
        return self.changes.added

    @property
    def removed(self) -> tuple[RuleViolation, ...]:
        return self.changes.removed

    @property
    def totals(self) -> Mapping[str, int]:
        return self.changes.totals

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast fragments apply --format json` prints."""
        listed = {
            name: [{"rule": violation.rule, "key": plain_json(violation.left)} for violation in side]
            for name, side in (("added", self.added), ("removed", self.removed))
        }
        return {**self.changes.to_dict(), **listed, "shipped": self.shipped.to_dict()}


@dataclass(frozen=True)
class FragmentsStatus(Presented):
    """A version of a state of fragments: its rows, the batches it has taken in, and the violating rows of each rule.

    `shipped` is what crossed between sites when the state was made; None later.
    """

    sites: SplitTable
    version: int
    rows: int
    batches: int
    totals: Mapping[str, int]
    shipped: Shipped | None = None
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast fragments init` and `show` print as JSON."""
        key = self.sites.key
        content: dict[str, Any] = {
            "version": self.version,
            "rows": self.rows,
            "key": key[0] if len(key) == 1 else list(key),
            "batches": self.batches,
            "seconds": round(self.seconds, 3),
            "totals": dict(self.totals),
            "sites": [
                {"name": site.name, "columns": list(site.columns or ()), "where": site.where}
                for site in self.sites.sites
            ],
        }
        return content if self.shipped is None else {**content, "shipped": self.shipped.to_dict()}
