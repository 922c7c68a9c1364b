"""Rules that evolve and what batches do to them, as text on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.evolving.outcome import EvolveOutcome
from holdfast.evolving.rules_change import AddedRule, BreakingPair, RemovedRule, RulesChange
from holdfast.evolving.status import EvolveStatus
from holdfast.report.found_text import found_text
from holdfast.report.view import TEXT_WIDTH
from holdfast.report.words import number, value_text

SHOWN = 20
_SHOWN_OF_HISTORY = 3


def evolved_text(outcome: EvolveOutcome, name: str) -> str:
    """What the batch did to the rules: those that went and why, and those that came."""
    if not outcome.applied:
        return f"{name}  has been applied before: version {outcome.version} stays as it is\n"
    change = outcome.change
    how = f", by {change.strategy}" if change.strategy else ""
    size = f"version {outcome.version}, {number(outcome.rows, 'row')}, {outcome.seconds:.1f} s{how}"
    lines = [f"{name}  {size}", *(f"note: {note}" for note in change.notes), ""]
    lines += list(_changes(change, SHOWN)) or ["the rules are as they were"]
    lines += ["", f"{number(change.total, 'rule')} now"]
    return "\n".join(lines) + "\n"


def rules_status_text(status: EvolveStatus, *, width: int = TEXT_WIDTH) -> str:
    """The rules as they are, and what the last batches did to them."""
    batches = number(status.batches, "batch")
    lines = [found_text(status.found, width=width), "", f"version {status.version}, {batches}"]
    for version, change in status.history:
        lines += ["", f"version {version}:", *_changes(change, _SHOWN_OF_HISTORY)]
    return "\n".join(lines) + "\n"


def _changes(change: RulesChange, most: int) -> Iterable[str]:
    if change.removed:
        yield f"{number(len(change.removed), 'rule')} removed"
        for removed in change.removed[:most]:
            yield from _removed(removed)
        yield from _more(change.removed, most)
    if change.added:
        yield f"{number(len(change.added), 'rule')} added"
        for added in change.added[:most]:
            yield from _added(added)
        yield from _more(change.added, most)


def _more(some: Sequence[object], most: int) -> Iterable[str]:
    if len(some) > most:
        yield f"  and {len(some) - most:,} more"


def _removed(one: RemovedRule) -> Iterable[str]:
    yield f"  - {one.rule}"
    if one.witness is not None:
        yield f"      broken by {_pair(one.witness)}"
    elif one.implied_by is not None:
        yield f"      now follows from {one.implied_by}"


def _pair(witness: BreakingPair) -> str:
    values = "; ".join(f"{name} {value_text(a)} and {value_text(b)}" for name, a, b in witness.values)
    return f"{value_text(witness.left)} and {value_text(witness.right)}: {values}"


def _added(one: AddedRule) -> Iterable[str]:
    yield f"  + {one.rule}"
    if one.refines is not None:
        yield f"      refines {one.refines}"
    elif one.replaces is not None:
        yield f"      takes the place of {one.replaces}"
