"""Results without the values of some columns: what a person is shown of them is hidden, counts stay."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from holdfast.detect.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.detect.outcome import CheckOutcome, RuleOutcome, Witness, WorstRow
from holdfast.report.shown_check import Duplicate, Plot, ShownCheck, ShownGroup, ShownRule
from holdfast.rules.dependency import CFD, FD, as_dependency
from holdfast.rules.rule import Rule

HIDDEN = "•••"


def redacted_outcome(outcome: CheckOutcome, columns: Collection[str]) -> CheckOutcome:
    """The outcome with the values of these columns hidden; of a key, where any of its columns is one of them."""
    if not columns:
        return outcome
    hides_key = bool(set(outcome.key) & set(columns))
    return replace(outcome, rules=tuple(_rule(found, columns, hides_key) for found in outcome.rules))


def redacted_check(shown: ShownCheck, columns: Collection[str]) -> ShownCheck:
    """What a report shows, with the values of these columns hidden."""
    if not columns:
        return shown
    hides_key = bool(set(shown.outcome.key) & set(columns))
    rules = tuple(_shown(one, columns, hides_key) for one in shown.rules)
    return ShownCheck(replace(shown.outcome, rules=tuple(one.found for one in rules)), rules)


def redacted_explanation(told: RowExplanation, columns: Collection[str]) -> RowExplanation:
    """What is said of a row, with the values of these columns hidden."""
    if not columns:
        return told
    names = [told.key] if isinstance(told.key, str) else told.key
    hides_key = bool(set(names) & set(columns))

    def broken(one: BrokenRule) -> BrokenRule:
        witness = None if one.witness is None else _witness(one.witness, columns, hides_key)
        return replace(one, witness=witness, others=_worst(one.others, hides_key))

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


def _rule(found: RuleOutcome, columns: Collection[str], hides_key: bool) -> RuleOutcome:
    witness = None if found.witness is None else _witness(found.witness, columns, hides_key)
    return replace(found, witness=witness, worst=_worst(found.worst, hides_key))


def _shown(one: ShownRule, columns: Collection[str], hides_key: bool) -> ShownRule:
    return replace(
        one,
        found=_rule(one.found, columns, hides_key),
        witnesses=tuple(_witness(witness, columns, hides_key) for witness in one.witnesses),
        worst=_worst(one.worst, hides_key),
        groups=tuple(_group(group, one.found.rule, columns, hides_key) for group in one.groups),
        duplicates=tuple(_duplicate(d, one.found.rule.body.columns, columns, hides_key) for d in one.duplicates),
        plot=None if one.plot is None else _plot(one.plot, columns),
    )


def _worst(rows: tuple[WorstRow, ...], hides_key: bool) -> tuple[WorstRow, ...]:
    return tuple(WorstRow(HIDDEN, row.conflicts) for row in rows) if hides_key else rows


def _witness(witness: Witness, columns: Collection[str], hides_key: bool) -> Witness:
    def some(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: HIDDEN if name in columns else value for name, value in values.items()}

    keys = (HIDDEN, HIDDEN) if hides_key else (witness.left_key, witness.right_key)
    right = None if witness.right is None else some(witness.right)
    return replace(witness, left_key=keys[0], left=some(witness.left), right_key=keys[1], right=right)


def _group(group: ShownGroup, rule: Rule, columns: Collection[str], hides_key: bool) -> ShownGroup:
    body = as_dependency(rule.body)
    left = body.left if isinstance(body, FD | CFD) else ()
    value = group.column in columns
    sides = tuple(
        replace(side, value=HIDDEN if value else side.value, keys=() if hides_key else side.keys)
        for side in group.sides
    )
    return replace(group, group=HIDDEN if set(left) & set(columns) else group.group, sides=sides)


def _duplicate(one: Duplicate, names: tuple[str, ...], columns: Collection[str], hides_key: bool) -> Duplicate:
    values = (HIDDEN if name in columns else value for name, value in zip(names, one.values, strict=True))
    return replace(one, values=tuple(values), keys=() if hides_key else one.keys)


def _plot(plot: Plot, columns: Collection[str]) -> Plot | None:
    """No plot of hidden columns: where a dot is tells its value."""
    if {plot.x, plot.y} & set(columns):
        return None
    return replace(plot, within=tuple((name, HIDDEN if name in columns else v) for name, v in plot.within))
