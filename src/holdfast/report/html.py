"""The outcome of a check as a small piece of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from markupsafe import Markup

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.html_table import Tone, badge, code, dim, html_lines, html_table, on_lines, strong
from holdfast.report.words import closing, counts, expectation, number, rule_text, tolerated, value_text, verdict

_TONES: dict[str, Tone] = {"holds": "good", "allowed": "good", "warning": "warn", "violated": "bad"}


def summary_html(outcome: CheckOutcome) -> str:
    """A table of the rules with their verdicts, counts and a witness each."""
    size = dim(f"{number(outcome.rows, 'row')}, {number(len(outcome.rules), 'rule')}, {outcome.seconds:.1f} s")
    notes = [f"note: {note}" for note in outcome.notes]
    table = html_table(("", "rule", "kind", "counts", "a witness"), [_line(found, outcome) for found in outcome.rules])
    return str(html_lines(strong(outcome.table) + " " + size, *notes) + table + html_lines(strong(closing(outcome))))


def _line(found: RuleOutcome, outcome: CheckOutcome) -> list[object]:
    word = verdict(found)
    return [
        badge(word, _TONES[word]),
        on_lines(strong(found.rule.name), found.rule.description or "", code(rule_text(found.rule))),
        found.rule.kind,
        counts(found) + tolerated(found),
        _witness(found, outcome),
    ]


def _witness(found: RuleOutcome, outcome: CheckOutcome) -> Markup:
    """The rows side by side, as columns of their own, what breaks the rule in bold."""
    witness = found.witness
    if witness is None:
        return Markup("")
    label = outcome.key_label
    rows = [(value_text(witness.left_key), witness.left)]
    rows += [] if witness.right is None else [(value_text(witness.right_key), witness.right)]
    shown = [name for name in witness.shown if (name,) != outcome.key]
    lines = [
        [dim(name), *(strong(text) if name in witness.marked else text for text in texts)]
        for name in shown
        for texts in [[value_text(values[name]) for _, values in rows]]
    ]
    head = [dim(", ".join(label) if isinstance(label, list) else label), *(key for key, _ in rows)]
    wanted = expectation(found)
    return html_table(head, lines or [[""]]) + html_lines("" if wanted is None else f"expected: {wanted}")
