"""The report of rules that evolve: what fell and came, with the pair of rows that broke each, and the rules now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.evolving.rules_change import AddedRule, BreakingPair, RemovedRule, RulesChange
from holdfast.evolving.status import EvolveStatus
from holdfast.report.found_page import found_values
from holdfast.report.page import page
from holdfast.report.words import number

# Of each change a page shows so many rules that went, and so many that came.
SHOWN = 20


@dataclass(frozen=True)
class ShownWitness:
    """A pair as the page draws it: both rows side by side, with every column that the rule compares."""

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
        **found_values(status.found),
    )


def _shown(version: int, change: RulesChange) -> dict[str, Any]:
    added: Sequence[AddedRule] = change.added[:SHOWN]
    removed: Sequence[RemovedRule] = change.removed[:SHOWN]
    return {
        "version": version,
        "added_count": len(change.added),
        "removed_count": len(change.removed),
        "added": list(added),
        "removed": [
            {"rule": one.rule, "implied_by": one.implied_by, "witness": one.witness and _side_by_side(one.witness)}
            for one in removed
        ],
    }


def _side_by_side(witness: BreakingPair) -> ShownWitness:
    names = tuple(name for name, _, _ in witness.values)
    left = {name: a for name, a, _ in witness.values}
    right = {name: b for name, _, b in witness.values}
    return ShownWitness(witness.left, witness.right, left, right, names, names)
