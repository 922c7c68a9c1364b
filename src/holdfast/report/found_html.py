"""What a discovery found, as a small piece of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from html import escape

from holdfast.discover.outcome import DiscoverOutcome
from holdfast.report.found_lines import FoundLine, closing, found_lines, size, tally


def found_html(outcome: DiscoverOutcome) -> str:
    """A table of the shown rules: in words, as text, and what speaks for each."""
    notes = "".join(f"<div>note: {escape(note)}</div>" for note in outcome.notes)
    header = "".join(f'<th style="text-align:left">{name}</th>' for name in ("kind", "rule", "tested by", "score"))
    lines = "".join(_line(line) for line in found_lines(outcome))
    table = f"<table><thead><tr>{header}</tr></thead><tbody>{lines}</tbody></table>" if lines else ""
    return (
        f"<div><b>{escape(outcome.table)}</b> {escape(size(outcome))}</div>{notes}"
        f"<div><b>{escape(tally(outcome))}</b></div>{table}<div>{escape(closing(outcome) or '')}</div>"
    )


def _line(line: FoundLine) -> str:
    cells = [
        escape(line.kind),
        f"{escape(line.words)}<br><code>{escape(line.text)}</code>",
        escape(line.tested + (f"; broken by {line.broken}" if line.broken else "")),
        f"{line.score:.2f}",
    ]
    return "<tr>" + "".join(f'<td style="text-align:left;vertical-align:top">{cell}</td>' for cell in cells) + "</tr>"
