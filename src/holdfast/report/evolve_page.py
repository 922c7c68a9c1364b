"""The report of evolving rules: those removed, with the pair of rows that broke each, those added, and those now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.evolving.outcome import BreakingPair, EvolveStatus, RulesChange
from holdfast.report.discovery_page import discovery_values
from holdfast.report.page import page
from holdfast.report.words import number

# Of each change a page shows so many removed rules, and so many added ones.
SHOWN = 20


@dataclass(frozen=True)
class ShownWitness:
    """A pair of rows as the template shows it: side by side, with every column that the rule compares."""

    left_key: Any
    right_key: Any
    left: dict[str, Any]
    right: dict[str, Any]
    shown: tuple[str, ...]
    marked: tuple[str, ...]


def evolve_page(status: EvolveStatus) -> str:
    """The report as one HTML page."""
    return page(
        "evolve.html",
        title=f"Holdfast: rules of {status.found.table}, evolving",
        state_version=status.version,
        batches=number(status.batches, "batch"),
        key=", ".join(status.key),
        history=[_shown(version, change) for version, change in status.history],
        **discovery_values(status.found),
    )


def _shown(version: int, change: RulesChange) -> dict[str, Any]:
    return {
        "version": version,
        "added_count": len(change.added),
        "removed_count": len(change.removed),
        "added": change.added[:SHOWN],
        "removed": [
            {"rule": gone.rule, "implied_by": gone.implied_by, "witness": gone.witness and _side_by_side(gone.witness)}
            for gone in change.removed[:SHOWN]
        ],
    }


def _side_by_side(witness: BreakingPair) -> ShownWitness:
    names = tuple(name for name, _, _ in witness.values)
    left = {name: a for name, a, _ in witness.values}
    right = {name: b for name, _, b in witness.values}
    return ShownWitness(witness.left, witness.right, left, right, names, names)
