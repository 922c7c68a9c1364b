"""Evolving rules, and what batches change in them, as text on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.evolving.outcome import AddedRule, BreakingPair, EvolveOutcome, EvolveStatus, RemovedRule, RulesChange
from holdfast.report.discovery_text import discovery_text
from holdfast.report.view import TEXT_WIDTH
from holdfast.report.words import applied_before, number, value_text

SHOWN = 20
_SHOWN_OF_HISTORY = 3


def evolved_text(outcome: EvolveOutcome, name: str) -> str:
    """Returns the rules that the batch removed, with the reason, and those that it added."""
    if not outcome.applied:
        return f"{name}  {applied_before(outcome.version)}\n"
    change = outcome.change
    how = f", by {change.strategy}" if change.strategy else ""
    size = f"version {outcome.version}, {number(outcome.rows, 'row')}, {outcome.seconds:.1f} s{how}"
    lines = [f"{name}  {size}", *(f"note: {note}" for note in change.notes), ""]
    lines += list(_changes(change, SHOWN)) or ["the rules are as they were"]
    lines += ["", f"{number(change.total, 'rule')} now"]
    return "\n".join(lines) + "\n"


def rules_status_text(status: EvolveStatus, *, width: int = TEXT_WIDTH) -> str:
    """Returns the rules now, and what the last batches changed."""
    batches = number(status.batches, "batch")
    lines = [discovery_text(status.found, width=width), "", f"version {status.version}, {batches}"]
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


def _more(rules: Sequence[object], most: int) -> Iterable[str]:
    if len(rules) > most:
        yield f"  and {len(rules) - most:,} more"


def _removed(removed: RemovedRule) -> Iterable[str]:
    yield f"  - {removed.rule}"
    if removed.witness is not None:
        yield f"      broken by {_pair(removed.witness)}"
    elif removed.implied_by is not None:
        yield f"      now follows from {removed.implied_by}"


def _pair(witness: BreakingPair) -> str:
    values = "; ".join(f"{name} {value_text(a)} and {value_text(b)}" for name, a, b in witness.values)
    return f"{value_text(witness.left)} and {value_text(witness.right)}: {values}"


def _added(added: AddedRule) -> Iterable[str]:
    yield f"  + {added.rule}"
    if added.refines is not None:
        yield f"      refines {added.refines}"
    elif added.replaces is not None:
        yield f"      takes the place of {added.replaces}"
