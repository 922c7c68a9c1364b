"""Evolving rules, and what batches change in them, as text on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.evolving.outcome import AddedRule, BreakingPair, EvolveOutcome, EvolveStatus, RemovedRule, RulesChange
from holdfast.report.discovery_text import discovery_text
from holdfast.report.view import TEXT_WIDTH
from holdfast.report.words import applied_before, number, value_text
from holdfast.rules.decisions import Decisions
from holdfast.rules.plain_words import text_of_lines

SHOWN = 20
_SHOWN_OF_HISTORY = 3


def evolved_text(outcome: EvolveOutcome, name: str) -> str:
    """Returns the rules that the batch removed, with the reason, and those that it added."""
    if not outcome.applied:
        return text_of_lines([f"{name}  {applied_before(outcome.version)}"])
    change = outcome.change
    how = f", by {change.strategy}" if change.strategy else ""
    size = f"version {outcome.version}, {number(outcome.rows, 'row')}, {outcome.seconds:.1f} s{how}"
    lines = [f"{name}  {size}", *(f"note: {note}" for note in change.notes), ""]
    lines += list(_changes(change, SHOWN, outcome.decisions)) or ["the rules are as they were"]
    lines += ["", f"{number(change.total, 'rule')} now"]
    return text_of_lines(lines)


def rules_status_text(status: EvolveStatus, *, width: int = TEXT_WIDTH) -> str:
    """Returns the rules now, and what the last batches changed."""
    batches = number(status.batches, "batch")
    lines = [*discovery_text(status.found, width=width).split("\n"), "", f"version {status.version}, {batches}"]
    for version, change in status.history:
        lines += ["", f"version {version}:", *_changes(change, _SHOWN_OF_HISTORY)]
    return text_of_lines(lines)


def _changes(change: RulesChange, most: int, decisions: Decisions | None = None) -> Iterable[str]:
    for word, rules in (("removed", change.removed), ("added", change.added)):
        if rules:
            yield f"{number(len(rules), 'rule')} {word}"
        for rule in rules[:most]:
            yield from _removed(rule) if isinstance(rule, RemovedRule) else _added(rule)
            if decisions is not None and (decided := decisions.on(rule.rule)) is not None:
                yield f"      you {decided} it"
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
