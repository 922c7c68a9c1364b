"""The outcome of a discovery as a small piece of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from holdfast.report.discovery_lines import DiscoveryLine, closing, discovery_lines, size, tally
from holdfast.report.html_table import code, dim, html_lines, html_table, on_lines, strong
from holdfast.search.outcome import DiscoverOutcome


def discovery_html(outcome: DiscoverOutcome) -> str:
    """Returns a table of the shown rules: in words, as text, what tests them, and their scores."""
    notes = [f"note: {note}" for note in outcome.notes]
    head = html_lines(strong(outcome.table) + " " + dim(size(outcome)), *notes, strong(tally(outcome)))
    table = html_table(("kind", "rule", "tested by", "score"), [_line(line) for line in discovery_lines(outcome)])
    return str(head + table + html_lines(dim(closing(outcome) or "")))


def _line(line: DiscoveryLine) -> list[object]:
    tested = on_lines(line.tested, f"broken by {line.broken}" if line.broken else "")
    return [line.kind, on_lines(line.words, code(line.text)), tested, f"{line.score:.2f}"]
