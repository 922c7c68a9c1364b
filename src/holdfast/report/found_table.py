"""Discovered rules as a table for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from holdfast.report.html_table import code, html_table, on_lines
from holdfast.search.outcome import FoundRule


def found_table(found: Sequence[FoundRule]) -> Markup:
    """The rules in the order given: in words, as text, and how they score."""
    lines = [(one.rule.kind, on_lines(one.rule.description or "", code(one.rule)), f"{one.score:.2f}") for one in found]
    return html_table(("kind", "rule", "score"), lines)
