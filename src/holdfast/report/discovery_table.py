"""Discovered rules as a table for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from holdfast.report.html_table import code, html_table, on_lines
from holdfast.search.outcome import FoundRule


def discovery_table(rules: Sequence[FoundRule]) -> Markup:
    """Returns a table of the rules in the given order: in words, as text, and their scores."""
    lines = [
        (entry.rule.kind, on_lines(entry.rule.description or "", code(entry.rule)), f"{entry.score:.2f}")
        for entry in rules
    ]
    return html_table(("kind", "rule", "score"), lines)
