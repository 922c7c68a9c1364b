"""What decisions made earlier did to a discovery, as lines for a person."""

from __future__ import annotations

from holdfast.rules.plain_words import number
from holdfast.search.decided import DecidedSummary, KeptEarlier
from holdfast.search.outcome import DiscoverOutcome, FoundRule

# Columns that moved rules, of which so many are named.
_COLUMNS = 5


def broken_lines(decided: DecidedSummary) -> list[str]:
    """Returns a line for each kept rule that no longer holds, with what breaks it."""
    return [f"{entry.rule.name}: {entry.rule}   {broken_now(entry)}" for entry in decided.broken]


def broken_now(entry: KeptEarlier) -> str:
    """Returns what breaks a kept rule now, such as `broken by 3 pairs, 4 rows, 1 suspect`."""
    if entry.problem is not None:
        return f"not checked: {entry.problem}"
    counts = [(entry.violating_pairs, "pair"), (entry.violating_rows, "row"), (entry.suspect_rows, "suspect")]
    if entry.violating_pairs is None:
        del counts[2]
    allowed = entry.rule.allow_pairs or entry.rule.allow
    beyond = "" if str(allowed) == "0" else f" (allowed: {allowed})"
    return f"broken by {', '.join(number(count, word) for count, word in counts if count is not None)}{beyond}"


def decided_lines(outcome: DiscoverOutcome) -> list[str]:
    """Returns what earlier decisions did to the outcome, in sentences, without the rules themselves."""
    decided = outcome.decided
    lines = () if decided is None else (kept_line(decided), left_out_line(decided), order_line(decided))
    return [line for line in lines if line is not None]


def kept_line(decided: DecidedSummary) -> str | None:
    """Returns how many kept rules hold; None where none was kept."""
    if not decided.kept:
        return None
    holding = len(decided.kept) - len(decided.broken)
    if not decided.broken:
        every = {1: "The one rule you kept holds.", 2: "Both rules you kept hold."}
        return every.get(holding, f"All {holding:,} rules you kept hold.")
    if not holding:
        return "The one rule you kept no longer holds:" if len(decided.kept) == 1 else "No rule you kept still holds:"
    verb = "holds" if len(decided.broken) == 1 else "hold"
    return f"Of {number(len(decided.kept), 'rule')} you kept, {len(decided.broken):,} no longer {verb}:"


def left_out_line(decided: DecidedSummary) -> str | None:
    """Returns how many rules are left out, and why; None for none."""
    counts = [
        (decided.rejected, "that you rejected"),
        (decided.refining, "that only refine one you rejected"),
        (decided.following, "that follow from those you kept"),
    ]
    parts = [f"{count:,} {words}" for count, words in counts if count]
    return f"Left out: {', '.join(parts)}." if parts else None


def order_line(decided: DecidedSummary) -> str | None:
    """Returns which columns move rules in the order, and why; None for none."""
    columns = [column for column in decided.columns if column.factor != 1]
    if not columns:
        return None
    said = [f"{column} ({'earlier' if column.factor > 1 else 'later'})" for column in columns[:_COLUMNS]]
    more = f", and {len(columns) - _COLUMNS:,} more" if len(columns) > _COLUMNS else ""
    return f"Order of the others: {'; '.join(said)}{more}."


def decided_note(entry: FoundRule) -> str | None:
    """Returns what earlier decisions say about a rule that nobody decided on; None for nothing."""
    parts = []
    if entry.moved is not None:
        parts.append(f"moved {'up' if entry.moved.factor > 1 else 'down'}: {entry.moved.why}")
    if entry.refines is not None:
        parts.append(f"refines {entry.refines}, which you rejected")
    return "; ".join(parts) or None
