"""Rules, found rules and changes of rules as small pieces of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from holdfast.evolving.outcome import AddedRule, RemovedRule, RulesChange
from holdfast.report.column_lines import column_lines, column_title
from holdfast.report.discovery_lines import DiscoveryLine, closing, discovery_lines, size, tally
from holdfast.report.html_table import badge, code, dim, html_lines, html_table, on_lines, strong
from holdfast.report.words import labels_text
from holdfast.rules.dependency import CFD
from holdfast.rules.plain_words import number, value_text
from holdfast.rules.rule import Rule, RuleSet, rule_text
from holdfast.search.outcome import DiscoverOutcome, FoundRule

# A notebook shows at most so many rules of a set, so many patterns of a rule, and so many removed and added rules.
MOST_RULES, MOST_PATTERNS, MOST_CHANGED = 50, 10, 20


def rule_html(rule: Rule) -> str:
    """Returns the rule with its terms, and its patterns or the denial constraints it stands for."""
    body = rule.body
    head = strong(rule.name) + Markup(" {} {}").format(badge(rule.kind, "plain"), dim(_terms(rule)))
    html = html_lines(head, rule.description or "", code(rule_text(rule)))
    if isinstance(body, CFD) and not body.inline:
        columns = [*body.left, *(f"→ {name}" for name in body.right)]
        shown = [(*pattern.left, *pattern.right) for pattern in body.patterns[:MOST_PATTERNS]]
        lines = [["_" if cell is None else value_text(cell.value) for cell in line] for line in shown]
        return str(html + html_table(columns, lines) + html_lines(_more(len(body.patterns), MOST_PATTERNS, "pattern")))
    denials = rule.denials
    if denials == [str(rule)]:
        return str(html)
    return str(html + html_lines(dim("in other words"), *map(code, denials)))


def rules_html(rules: RuleSet) -> str:
    """Returns a table of the rules with their terms."""
    key = f", rows named by {', '.join(rules.key)}" if rules.key else ""
    nulls = ", nulls equal each other" if rules.nulls == "equal" else ""
    head = strong(number(len(rules), "rule")) + dim(f"{key}{nulls}")
    lines = [
        (strong(rule.name), rule.kind, on_lines(rule.description or "", code(rule_text(rule))), _terms(rule))
        for rule in rules.rules[:MOST_RULES]
    ]
    # Most rule sets have no terms; the column is then left out.
    shown = 4 if any(terms for *_, terms in lines) else 3
    table = html_table(("rule", "kind", "says", "terms")[:shown], [line[:shown] for line in lines])
    return str(html_lines(head) + table + html_lines(_more(len(rules), MOST_RULES, "rule")))


def _terms(rule: Rule) -> str:
    terms = ["a warning only"] if rule.severity == "warn" else []
    for allowed, word in ((rule.allow_pairs, "pair"), (rule.allow, "row")):
        if allowed is not None and allowed.percent is not None:
            terms.append(f"allows {allowed} of the {word}s")
        elif allowed is not None and allowed.count:
            terms.append(f"allows {number(allowed.count, word)}")
    terms += [f"a warning beyond {rule.warn}"] if rule.warn is not None else []
    terms += [said] if (said := labels_text(rule)) else []
    return ", ".join(terms)


def _more(there: int, most: int, word: str) -> Markup:
    return dim(f"and {number(there - most, f'more {word}')}" if there > most else "")


def discovery_html(outcome: DiscoverOutcome) -> str:
    """Returns a table of the shown rules: in words, as text, what tests them, and their scores."""
    notes = [f"note: {note}" for note in outcome.notes]
    head = html_lines(strong(outcome.table) + " " + dim(size(outcome)), *notes, strong(tally(outcome)))
    columns = Markup("")
    if outcome.column_rules:
        lines = [(line.head, line.words) for line in column_lines(outcome)]
        columns = html_lines(column_title(outcome.column_rules)) + html_table(("column", "its values"), lines)
    table = html_table(
        ("kind", "rule", "tested by", "score"), [_discovery_line(line) for line in discovery_lines(outcome)]
    )
    return str(head + columns + table + html_lines(dim(closing(outcome) or "")))


def _discovery_line(line: DiscoveryLine) -> list[object]:
    tested = on_lines(line.tested, f"broken by {line.broken}" if line.broken else "")
    return [line.kind, on_lines(line.words, code(line.text)), tested, f"{line.score:.2f}"]


def discovery_table(rules: Sequence[FoundRule]) -> Markup:
    """Returns a table of the rules in the given order: in words, as text, and their scores."""
    lines = [
        (entry.rule.kind, on_lines(entry.rule.description or "", code(entry.rule)), f"{entry.score:.2f}")
        for entry in rules
    ]
    return html_table(("kind", "rule", "score"), lines)


def rules_change_html(head: object, change: RulesChange, *, most: int = MOST_CHANGED) -> Markup:
    """Returns a table of the removed rules, with what broke each, and of the added ones."""
    lines = [*_changed_lines(change.removed, most), *_changed_lines(change.added, most)]
    notes = [f"note: {note}" for note in change.notes]
    same = "" if lines else "the rules are as they were"
    html = html_lines(head, *notes, same) + html_table(("", "rule", "why"), lines)
    return html + html_lines(dim(f"{number(change.total, 'rule')} now"))


def _changed_lines(rules: Sequence[AddedRule | RemovedRule], most: int) -> Iterable[Sequence[object]]:
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
