"""Findings in plain words, the same for text and HTML."""

from __future__ import annotations

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.rules.dependency import CFD
from holdfast.rules.plain_words import number as number
from holdfast.rules.plain_words import value_text as value_text
from holdfast.rules.rule import rule_text as rule_text


def verdict(found: RuleOutcome) -> str:
    """One word for how the rule fares: holds, allowed, warning or violated."""
    if found.holds:
        return "allowed" if found.violating_rows else "holds"
    return "violated" if found.rule.severity == "error" else "warning"


def counts(found: RuleOutcome) -> str:
    """The counts that mean something for this rule.

    As in `3 pairs, 4 rows, 1 suspect, 1 group`.
    """
    if not found.violating_rows:
        return "no violations"
    parts = [
        (found.violating_pairs, "pair"),
        (found.violating_rows, "row"),
        (found.suspect_rows if found.violating_pairs is not None else None, "suspect"),
        (found.violating_groups, "group"),
    ]
    told = ", ".join(number(n, word) for n, word in parts if n is not None)
    return told if found.new_suspects is None else f"{told}, {found.new_suspects:,} new"


def tolerated(found: RuleOutcome) -> str:
    """Why a rule that is broken is let pass, in brackets; nothing where it is not."""
    if not found.holds or not found.violating_rows:
        return ""
    if found.new_suspects == 0:
        return " (all known)"
    return f" (allowed: {found.rule.allow_pairs or found.rule.allow})"


def expectation(found: RuleOutcome) -> str | None:
    """What the broken pattern of a conditional dependency wanted of the witness, where a row alone breaks it."""
    body, witness = found.rule.body, found.witness
    if not isinstance(body, CFD) or witness is None or witness.right is not None:
        return None
    for pattern in body.patterns:
        given = [(n, v) for n, v in zip(body.left, pattern.left, strict=True) if v is not None]
        wanted = [(n, v) for n, v in zip(body.right, pattern.right, strict=True) if v is not None]
        fits = all(str(witness.left[name]) == str(value.value) for name, value in given)
        broken = [(n, v) for n, v in wanted if str(witness.left[n]) != str(v.value)]
        if fits and broken:
            told = ", ".join(f"{name} = {value_text(value.value)}" for name, value in broken)
            reason = ", ".join(f"{name} = {value_text(value.value)}" for name, value in given)
            return f"{told} where {reason}" if given else told
    return None


def closing(outcome: CheckOutcome) -> str:
    """The last sentence: what it all amounts to."""
    if not outcome.rules:
        return "There are no rules to check."
    violated = [found for found in outcome.rules if not found.holds]
    if not violated:
        return "The one rule holds." if len(outcome.rules) == 1 else f"All {len(outcome.rules)} rules hold."
    errors = [found for found in violated if outcome.counts(found)]
    text = f"{len(violated)} of {number(len(outcome.rules), 'rule')} {'is' if len(violated) == 1 else 'are'} violated"
    if len(errors) < len(violated):
        warnings = len(violated) - len(errors)
        text += f", {'all' if not errors else warnings} only as {'warnings' if warnings > 1 else 'a warning'}"
    return text + "."
