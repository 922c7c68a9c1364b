"""A rule and a set of rules as small pieces of HTML for notebooks. Every value is escaped."""

from __future__ import annotations

from markupsafe import Markup

from holdfast.report.html_table import badge, code, dim, html_lines, html_table, on_lines, strong
from holdfast.rules.dependency import CFD
from holdfast.rules.plain_words import number, value_text
from holdfast.rules.rule import Rule, RuleSet, rule_text

# A notebook shows at most so many rules of a set, and so many patterns of a rule.
MOST_RULES, MOST_PATTERNS = 50, 10


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
    return ", ".join(terms)


def _more(there: int, most: int, word: str) -> Markup:
    return dim(f"and {number(there - most, f'more {word}')}" if there > most else "")
