"""Explanations without the values of some columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from holdfast.explaining.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.violations.witness import HIDDEN, hidden_keys, hidden_witness


def redacted_explanation(told: RowExplanation, columns: Collection[str]) -> RowExplanation:
    """What is said of a row, with the values of these columns hidden."""
    if not columns:
        return told
    names = [told.key] if isinstance(told.key, str) else told.key
    hides_key = bool(set(names) & set(columns))

    def broken(one: BrokenRule) -> BrokenRule:
        witness = None if one.witness is None else hidden_witness(one.witness, columns, hides_key)
        return replace(one, witness=witness, others=hidden_keys(one.others, hides_key))

    def suggestion(one: Suggestion) -> Suggestion:
        if one.column not in columns:
            return one
        low, high = (None if bound is None else HIDDEN for bound in (one.low, one.high))
        return replace(one, value=HIDDEN, suggested=HIDDEN, low=low, high=high)

    return replace(
        told,
        row=HIDDEN if hides_key else told.row,
        values={name: HIDDEN if name in columns else value for name, value in told.values.items()},
        broken=tuple(map(broken, told.broken)),
        suggestions=tuple(map(suggestion, told.suggestions)),
    )
