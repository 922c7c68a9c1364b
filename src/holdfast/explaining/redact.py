"""Explanations without the values of some columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from holdfast.explaining.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.violations.witness import HIDDEN, hidden_keys, hidden_witness


def redacted_explanation(explanation: RowExplanation, columns: Collection[str]) -> RowExplanation:
    """What is said of a row, with the values of these columns hidden."""
    if not columns:
        return explanation
    names = [explanation.key] if isinstance(explanation.key, str) else explanation.key
    hides_key = bool(set(names) & set(columns))

    def broken(rule: BrokenRule) -> BrokenRule:
        witness = None if rule.witness is None else hidden_witness(rule.witness, columns, hides_key)
        return replace(rule, witness=witness, others=hidden_keys(rule.others, hides_key))

    def suggestion(change: Suggestion) -> Suggestion:
        if change.column not in columns:
            return change
        low, high = (None if bound is None else HIDDEN for bound in (change.low, change.high))
        return replace(change, value=HIDDEN, suggested=HIDDEN, low=low, high=high)

    return replace(
        explanation,
        row=HIDDEN if hides_key else explanation.row,
        values={name: HIDDEN if name in columns else value for name, value in explanation.values.items()},
        broken=tuple(map(broken, explanation.broken)),
        suggestions=tuple(map(suggestion, explanation.suggestions)),
    )
