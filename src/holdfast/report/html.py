"""The outcome of a check as a small piece of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from html import escape

from holdfast.detect.outcome import CheckOutcome, RuleOutcome
from holdfast.report.words import closing, counts, number, value_text, verdict

_COLORS = {"holds": "#1a7f37", "allowed": "#1a7f37", "warning": "#9a6700", "violated": "#cf222e"}


def summary_html(outcome: CheckOutcome) -> str:
    """A table of the rules with their verdicts, counts and a witness each."""
    head = f"<b>{escape(outcome.table)}</b> {number(outcome.rows, 'row')}, {number(len(outcome.rules), 'rule')}"
    notes = "".join(f"<div>note: {escape(note)}</div>" for note in outcome.notes)
    columns = ("", "rule", "", "counts", "witness")
    header = "".join(f'<th style="text-align:left">{name}</th>' for name in columns)
    lines = "".join(_line(found) for found in outcome.rules)
    return (
        f"<div>{head}</div>{notes}<table><thead><tr>{header}</tr></thead><tbody>{lines}</tbody></table>"
        f"<div><b>{escape(closing(outcome))}</b></div>"
    )


def _line(found: RuleOutcome) -> str:
    word = verdict(found)
    cells = [
        f'<b style="color:{_COLORS[word]}">{word}</b>',
        f"{escape(found.rule.name)}<br><code>{escape(str(found.rule))}</code>",
        escape(found.rule.kind),
        escape(counts(found)),
        _witness(found),
    ]
    return "<tr>" + "".join(f'<td style="text-align:left;vertical-align:top">{cell}</td>' for cell in cells) + "</tr>"


def _witness(found: RuleOutcome) -> str:
    witness = found.witness
    if witness is None:
        return ""
    lines = []
    for key, values in ((witness.left_key, witness.left), (witness.right_key, witness.right)):
        if values is None:
            continue
        parts = []
        for name in witness.shown:
            text = f"{escape(name)}: {escape(value_text(values[name]))}"
            parts.append(f"<b>{text}</b>" if name in witness.marked else text)
        lines.append(f"<i>{escape(value_text(key))}</i> {', '.join(parts)}")
    return "<br>".join(lines)
