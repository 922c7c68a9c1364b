"""What a batch of changes did to the violations of a table that is split over sites, and what that shipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from holdfast.fragments.door import Shipped
from holdfast.fragments.sites import Sites
from holdfast.rules.html_table import code, dim, html_lines, html_table, on_lines, strong
from holdfast.rules.plain_words import number
from holdfast.rules.rule import rule_text
from holdfast.states.batch_outcome import BatchOutcome, Violation, plain_json


@dataclass(frozen=True)
class FragmentsOutcome:
    """The rows that came into violation of a rule and those that left it, and what crossed between sites for it."""

    changes: BatchOutcome
    shipped: Shipped

    @property
    def applied(self) -> bool:
        return self.changes.applied

    @property
    def added(self) -> tuple[Violation, ...]:
        return self.changes.added

    @property
    def removed(self) -> tuple[Violation, ...]:
        return self.changes.removed

    @property
    def totals(self) -> Mapping[str, int]:
        return self.changes.totals

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast fragments apply --format json` prints."""
        told = self.changes.to_dict()
        for name, listed in (("added", self.changes.added), ("removed", self.changes.removed)):
            told[name] = [{"rule": one.rule, "key": plain_json(one.left)} for one in listed]
        return {**told, "shipped": self.shipped.to_dict()}

    def _repr_html_(self) -> str:
        return self.changes._repr_html_() + str(html_lines(_shipped(self.shipped)))


@dataclass(frozen=True)
class FragmentsStatus:
    """A version of a state of fragments: its rows, the batches it has taken in, and the violating rows of each rule.

    `shipped` is what crossed between sites when the state was made; None later.
    """

    sites: Sites
    version: int
    rows: int
    batches: int
    totals: Mapping[str, int]
    shipped: Shipped | None = None
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast fragments init` and `show` print as JSON."""
        key = self.sites.key
        told: dict[str, Any] = {
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
        return told if self.shipped is None else {**told, "shipped": self.shipped.to_dict()}

    def _repr_html_(self) -> str:
        batches = number(self.batches, "batch")
        size = dim(f"version {self.version}, {number(self.rows, 'row')}, {batches}, {self.seconds:.1f} s")
        head = strong(f"{number(len(self.sites.sites), 'site')}, {self.sites.split}") + " " + size
        sites = [(strong(site.name), ", ".join(site.columns or ()), site.where or "") for site in self.sites.sites]
        rules = [
            (on_lines(strong(rule.name), code(rule_text(rule))), number(total, "row") if total else "no violations")
            for rule, total in zip(self.sites.rules, self.totals.values(), strict=True)
        ]
        told = html_lines(head) + html_table(("site", "columns", "rows where"), sites)
        shipped = "" if self.shipped is None else _shipped(self.shipped)
        return str(told + html_table(("rule", "violating rows"), rules) + html_lines(shipped))


def _shipped(shipped: Shipped) -> Markup:
    if not shipped.bytes:
        return dim("shipped between sites: nothing")
    counts = f"{number(shipped.eqids, 'id')}, {number(shipped.tuples, 'tuple')}, {number(shipped.bytes, 'byte')}"
    return dim(f"shipped between sites: {counts}")
