"""Changes of rules as small pieces of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from holdfast.evolving.outcome import AddedRule, RemovedRule, RulesChange
from holdfast.report.html_table import badge, code, dim, html_lines, html_table, on_lines, strong
from holdfast.rules.plain_words import number, value_text

# A notebook shows at most so many removed rules, and so many added ones.
MOST_RULES = 20


def rules_change_html(head: object, change: RulesChange, *, most: int = MOST_RULES) -> Markup:
    """Returns a table of the removed rules, with what broke each, and of the added ones."""
    lines = [*_lines(change.removed, most), *_lines(change.added, most)]
    notes = [f"note: {note}" for note in change.notes]
    same = "" if lines else "the rules are as they were"
    html = html_lines(head, *notes, same) + html_table(("", "rule", "why"), lines)
    return html + html_lines(dim(f"{number(change.total, 'rule')} now"))


def _lines(rules: Sequence[AddedRule | RemovedRule], most: int) -> Iterable[Sequence[object]]:
    for rule in rules[:most]:
        word = badge("removed", "bad") if isinstance(rule, RemovedRule) else badge("added", "good")
        yield word, code(rule.rule), _why(rule)
    if len(rules) > most:
        yield "", dim(f"and {len(rules) - most:,} more"), ""


def _why(rule: AddedRule | RemovedRule) -> Markup:
    if isinstance(rule, AddedRule):
        relations = (("refines ", rule.refines), ("takes the place of ", rule.replaces))
        return next(
            (Markup("{}{}").format(words, code(other)) for words, other in relations if other is not None), Markup("")
        )
    if rule.witness is not None:
        values = [f"{name}: {value_text(a)} and {value_text(b)}" for name, a, b in rule.witness.values]
        pair = f"{value_text(rule.witness.left)} and {value_text(rule.witness.right)}"
        return on_lines(Markup("broken by {}").format(strong(pair)), *values)
    return Markup("") if rule.implied_by is None else Markup("now follows from {}").format(code(rule.implied_by))
