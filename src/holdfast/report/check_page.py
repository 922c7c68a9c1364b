"""The report of a check: the verdict first, then each rule with what breaks it."""

from __future__ import annotations

from collections import Counter

from holdfast.checking.shown_check import RULES_IN_DETAIL, ShownCheck, ShownRule
from holdfast.report.page import page
from holdfast.report.rule_words import rule_words
from holdfast.report.scatter import scatter
from holdfast.report.words import closing, counts, expectation, key_name, labels_text, rule_text, tolerated, verdict

_ORDER = ("violated", "warning", "allowed", "holds")
# So many rules are unfolded when the page opens.
_OPEN = 5


def check_page(shown: ShownCheck) -> str:
    """Returns the report as one HTML page; its size does not grow with the table."""
    return page("check.html", title=f"Holdfast: {shown.outcome.table}", **check_values(shown))


def check_values(shown: ShownCheck) -> dict[str, object]:
    """Returns the values for the template of a check, which other reports include."""
    outcome = shown.outcome
    verdicts = Counter(verdict(shown_rule.outcome) for shown_rule in shown.rules)
    ranked = sorted(range(len(shown.rules)), key=lambda i: _ORDER.index(verdict(shown.rules[i].outcome)))
    return {
        "outcome": outcome,
        "closing": closing(outcome),
        "verdicts": [(word, verdicts[word]) for word in _ORDER if verdicts[word]],
        "key": key_name(outcome.key_label),
        "cards": [_card(i, shown.rules[i], opened=at < _OPEN) for at, i in enumerate(ranked)],
        "in_detail": RULES_IN_DETAIL,
    }


def _card(place: int, shown_rule: ShownRule, *, opened: bool) -> dict[str, object]:
    result, word = shown_rule.outcome, verdict(shown_rule.outcome)
    named = result.rule.kind in ("order", "dc")
    return {
        "id": f"rule-{place + 1}",
        "shown": shown_rule,
        "result": result,
        "rule": result.rule,
        "verdict": word,
        "words": rule_words(result.rule),
        "text": rule_text(result.rule),
        "counts": counts(result) + tolerated(result),
        "labels": labels_text(result.rule),
        "open": opened and word in ("violated", "warning"),
        "expected": expectation(result),
        "scatter": scatter(shown_rule.plot) if shown_rule.plot is not None else None,
        # Which row is t and which is s matters where the rule does not treat them alike.
        "heads": ("t", "s") if named else ("", ""),
        "groups": "Values that are not there" if result.rule.kind == "ind" else "Groups that disagree",
        "most": max((row.conflicts for row in shown_rule.worst), default=0),
        "duplicated": result.rule.body.columns if shown_rule.duplicates else (),
    }
