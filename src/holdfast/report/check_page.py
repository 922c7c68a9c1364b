"""The report of a check: the verdict first, then each rule with what breaks it."""

from __future__ import annotations

from collections import Counter

from holdfast.checking.shown_check import RULES_IN_DETAIL, ShownCheck, ShownRule
from holdfast.report.page import page
from holdfast.report.rule_words import rule_words
from holdfast.report.scatter import scatter
from holdfast.report.words import closing, counts, expectation, rule_text, tolerated, verdict

_ORDER = ("violated", "warning", "allowed", "holds")
_OPEN = 5


def check_page(shown: ShownCheck) -> str:
    """The report as one HTML page; its size is bounded by what is shown of each rule."""
    return page("check.html", title=f"Holdfast: {shown.outcome.table}", **check_values(shown))


def check_values(shown: ShownCheck) -> dict[str, object]:
    """What the template of a check says, also as a part of another report."""
    outcome = shown.outcome
    verdicts = Counter(verdict(one.found) for one in shown.rules)
    ranked = sorted(range(len(shown.rules)), key=lambda i: _ORDER.index(verdict(shown.rules[i].found)))
    key = outcome.key_label
    return {
        "outcome": outcome,
        "closing": closing(outcome),
        "verdicts": [(word, verdicts[word]) for word in _ORDER if verdicts[word]],
        "key": ", ".join(key) if isinstance(key, list) else key,
        "cards": [_card(i, shown.rules[i], opened=at < _OPEN) for at, i in enumerate(ranked)],
        "in_detail": RULES_IN_DETAIL,
    }


def _card(place: int, one: ShownRule, *, opened: bool) -> dict[str, object]:
    found, word = one.found, verdict(one.found)
    named = found.rule.kind in ("order", "dc")
    return {
        "id": f"rule-{place + 1}",
        "shown": one,
        "found": found,
        "rule": found.rule,
        "verdict": word,
        "words": rule_words(found.rule),
        "text": rule_text(found.rule),
        "counts": counts(found) + tolerated(found),
        "open": opened and word in ("violated", "warning"),
        "expected": expectation(found),
        "scatter": scatter(one.plot) if one.plot is not None else None,
        # Which row is t and which is s matters where the rule does not treat them alike.
        "heads": ("t", "s") if named else ("", ""),
        "most": max((row.conflicts for row in one.worst), default=0),
        "duplicated": _key_columns(one),
    }


def _key_columns(one: ShownRule) -> tuple[str, ...]:
    return one.found.rule.body.columns if one.duplicates else ()
