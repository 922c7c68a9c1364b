"""Changes of rules as small pieces of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from holdfast.evolving.rules_change import AddedRule, RemovedRule, RulesChange
from holdfast.report.html_table import badge, code, dim, html_lines, html_table, on_lines, strong
from holdfast.rules.plain_words import number, value_text

# What a notebook shows of rules that came, and of those that went.
MOST_RULES = 20


def rules_change_html(head: object, change: RulesChange, *, most: int = MOST_RULES) -> Markup:
    """A table of the rules that went, with what broke each, and of those that came."""
    lines = [*_lines(change.removed, most), *_lines(change.added, most)]
    notes = [f"note: {note}" for note in change.notes]
    same = "" if lines else "the rules are as they were"
    told = html_lines(head, *notes, same) + html_table(("", "rule", "why"), lines)
    return told + html_lines(dim(f"{number(change.total, 'rule')} now"))


def _lines(some: Sequence[AddedRule | RemovedRule], most: int) -> Iterable[Sequence[object]]:
    for one in some[:most]:
        word = badge("removed", "bad") if isinstance(one, RemovedRule) else badge("added", "good")
        yield word, code(one.rule), _why(one)
    if len(some) > most:
        yield "", dim(f"and {len(some) - most:,} more"), ""


def _why(one: AddedRule | RemovedRule) -> Markup:
    if isinstance(one, AddedRule):
        told = (("refines ", one.refines), ("takes the place of ", one.replaces))
        return next((Markup("{}{}").format(words, code(rule)) for words, rule in told if rule is not None), Markup(""))
    if one.witness is not None:
        values = [f"{name}: {value_text(a)} and {value_text(b)}" for name, a, b in one.witness.values]
        pair = f"{value_text(one.witness.left)} and {value_text(one.witness.right)}"
        return on_lines(Markup("broken by {}").format(strong(pair)), *values)
    return Markup("") if one.implied_by is None else Markup("now follows from {}").format(code(one.implied_by))
