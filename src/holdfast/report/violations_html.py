"""Changes of violations as small pieces of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from holdfast.report.html_table import badge, dim, html_lines, html_table, on_lines, strong
from holdfast.rules.plain_words import value_text

# A notebook shows at most so many violations of a rule.
MOST_VIOLATIONS = 5

# By rule: the listed violations, as (left key, right key or None), and the number of all.
Listed = Mapping[str, tuple[Sequence[tuple[Any, Any]], int]]


def violations_html(head: object, totals: Mapping[str, int], came: Listed, went: Listed) -> Markup:
    """Returns a table of the rules: violations now, and the first few that were added and removed."""
    lines = [
        (strong(rule), f"{total:,}", _listed("+", *came.get(rule, ((), 0))), _listed("−", *went.get(rule, ((), 0))))
        for rule, total in totals.items()
    ]
    return html_lines(head) + html_table(("rule", "violations now", "added", "removed"), lines)


def _listed(sign: str, listed: Sequence[tuple[Any, Any]], count: int) -> Markup:
    shown = [f"{sign} {_named(*violation)}" for violation in listed[:MOST_VIOLATIONS]]
    return on_lines(*shown, dim(f"and {count - len(shown):,} more" if count > len(shown) else ""))


def _named(left: Any, right: Any) -> str:
    return value_text(left) if right is None else f"{value_text(left)} with {value_text(right)}"


def counted(added: int, removed: int) -> Markup:
    """Returns how many violations were added and removed."""
    came = badge(f"{added:,} added", "bad" if added else "plain")
    return came + " " + badge(f"{removed:,} removed", "good" if removed else "plain")
