"""Violations and their changes as small pieces of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.html_table import Tone, badge, code, dim, html_lines, html_table, on_lines, strong
from holdfast.report.words import closing, counts, expectation, key_name, tolerated, verdict
from holdfast.rules.plain_words import number, value_text
from holdfast.rules.rule import rule_text

_TONES: dict[str, Tone] = {"holds": "good", "allowed": "good", "warning": "warn", "violated": "bad"}

# A notebook shows at most so many violations of a rule.
MOST_VIOLATIONS = 5

# By rule: the listed violations, as (left key, right key or None), and the number of all.
Listed = Mapping[str, tuple[Sequence[tuple[Any, Any]], int]]


def summary_html(outcome: CheckOutcome) -> str:
    """Returns a table of the rules: verdict, counts and a witness of each."""
    size = dim(f"{number(outcome.rows, 'row')}, {number(len(outcome.rules), 'rule')}, {outcome.seconds:.1f} s")
    notes = [f"note: {note}" for note in outcome.notes]
    table = html_table(
        ("", "rule", "kind", "counts", "a witness"), [_line(result, outcome) for result in outcome.rules]
    )
    return str(html_lines(strong(outcome.table) + " " + size, *notes) + table + html_lines(strong(closing(outcome))))


def _line(result: RuleOutcome, outcome: CheckOutcome) -> list[object]:
    word = verdict(result)
    return [
        badge(word, _TONES[word]),
        on_lines(strong(result.rule.name), result.rule.description or "", code(rule_text(result.rule))),
        result.rule.kind,
        counts(result) + tolerated(result),
        _witness(result, outcome),
    ]


def _witness(result: RuleOutcome, outcome: CheckOutcome) -> Markup:
    """Returns a table with a column for each row of the witness; what breaks the rule is bold."""
    witness = result.witness
    if witness is None:
        return Markup("")
    heads = [f"{table} " for table in (*witness.tables, *witness.tables)] or ["", ""]
    rows = [(heads[0] + value_text(witness.left_key), witness.left)]
    rows += [] if witness.right is None else [(heads[1] + value_text(witness.right_key), witness.right)]
    shown = [name for name in witness.shown if (name,) != outcome.key]
    lines = [
        [dim(name), *(strong(text) if name in witness.marked else text for text in texts)]
        for name in shown
        for texts in [[value_text(values[name]) if name in values else "" for _, values in rows]]
    ]
    head = [dim(key_name(outcome.key_label)), *(key for key, _ in rows)]
    wanted = expectation(result)
    return html_table(head, lines or [[""]]) + html_lines(
        "" if wanted is None else f"expected: {wanted}", *witness.messages
    )


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
