"""Results without the values of some columns: what a person is shown of them is hidden, counts stay."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.checking.shown_check import Duplicate, Plot, ShownCheck, ShownGroup, ShownRule
from holdfast.rules.dependency import CFD, FD, as_dependency
from holdfast.rules.rule import Rule
from holdfast.violations.witness import HIDDEN, hidden_keys, hidden_witness


def redacted_outcome(outcome: CheckOutcome, columns: Collection[str]) -> CheckOutcome:
    """The outcome with the values of these columns hidden; of a key, where any of its columns is one of them."""
    if not columns:
        return outcome
    hides_key = bool(set(outcome.key) & set(columns))
    return replace(outcome, rules=tuple(_rule(rule, columns, hides_key) for rule in outcome.rules))


def redacted_check(shown: ShownCheck, columns: Collection[str]) -> ShownCheck:
    """What a report shows, with the values of these columns hidden."""
    if not columns:
        return shown
    hides_key = bool(set(shown.outcome.key) & set(columns))
    rules = tuple(_shown(rule, columns, hides_key) for rule in shown.rules)
    return ShownCheck(replace(shown.outcome, rules=tuple(rule.found for rule in rules)), rules)


def _rule(outcome: RuleOutcome, columns: Collection[str], hides_key: bool) -> RuleOutcome:
    witness = None if outcome.witness is None else hidden_witness(outcome.witness, columns, hides_key)
    return replace(outcome, witness=witness, worst=hidden_keys(outcome.worst, hides_key))


def _shown(shown: ShownRule, columns: Collection[str], hides_key: bool) -> ShownRule:
    return replace(
        shown,
        found=_rule(shown.found, columns, hides_key),
        witnesses=tuple(hidden_witness(witness, columns, hides_key) for witness in shown.witnesses),
        worst=hidden_keys(shown.worst, hides_key),
        groups=tuple(_group(group, shown.found.rule, columns, hides_key) for group in shown.groups),
        duplicates=tuple(_duplicate(d, shown.found.rule.body.columns, columns, hides_key) for d in shown.duplicates),
        plot=None if shown.plot is None else _plot(shown.plot, columns),
    )


def _group(group: ShownGroup, rule: Rule, columns: Collection[str], hides_key: bool) -> ShownGroup:
    body = as_dependency(rule.body)
    left = body.left if isinstance(body, FD | CFD) else ()
    value = group.column in columns
    sides = tuple(
        replace(side, value=HIDDEN if value else side.value, keys=() if hides_key else side.keys)
        for side in group.sides
    )
    return replace(group, group=HIDDEN if set(left) & set(columns) else group.group, sides=sides)


def _duplicate(duplicate: Duplicate, names: tuple[str, ...], columns: Collection[str], hides_key: bool) -> Duplicate:
    values = (HIDDEN if name in columns else value for name, value in zip(names, duplicate.values, strict=True))
    return replace(duplicate, values=tuple(values), keys=() if hides_key else duplicate.keys)


def _plot(plot: Plot, columns: Collection[str]) -> Plot | None:
    """No plot of hidden columns: where a dot is tells its value."""
    if {plot.x, plot.y} & set(columns):
        return None
    return replace(plot, within=tuple((name, HIDDEN if name in columns else v) for name, v in plot.within))
