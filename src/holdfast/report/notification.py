"""The outcome of a check as a short message for other programs. It has counts and names, and no value of the table."""

from __future__ import annotations

from typing import Any

from holdfast.checking.outcome import CheckOutcome
from holdfast.report.words import closing, counts
from holdfast.rules.plain_words import number, on_one_line

# A message names so many rules; the others are counted.
MOST_RULES = 10


def notification(outcome: CheckOutcome) -> dict[str, Any]:
    """Returns the verdict, the text of the message, and the violated rules with their counts and labels."""
    violated = [rule.to_dict() for rule in outcome.rules if not rule.holds]
    return {
        "text": notification_text(outcome),
        "table": outcome.table,
        "rows": outcome.rows,
        "holds": outcome.holds,
        "violated": violated[:MOST_RULES],
        "violated_count": len(violated),
    }


def notification_text(outcome: CheckOutcome) -> str:
    """Returns a line for the table, and one for each violated rule."""
    lines = [f"{outcome.table} ({number(outcome.rows, 'row')}): {closing(outcome)}"]
    violated = [rule for rule in outcome.rules if not rule.holds]
    for rule in violated[:MOST_RULES]:
        owner = f", owner {rule.rule.owner}" if rule.rule.owner else ""
        lines.append(f"{rule.verdict}: {rule.rule.name}, {counts(rule)}{owner}")
    if len(violated) > MOST_RULES:
        lines.append(f"and {number(len(violated) - MOST_RULES, 'more rule')}")
    return "\n".join(map(on_one_line, lines))
