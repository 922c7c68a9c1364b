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
    return replace(outcome, rules=tuple(_rule(found, columns, hides_key) for found in outcome.rules))


def redacted_check(shown: ShownCheck, columns: Collection[str]) -> ShownCheck:
    """What a report shows, with the values of these columns hidden."""
    if not columns:
        return shown
    hides_key = bool(set(shown.outcome.key) & set(columns))
    rules = tuple(_shown(one, columns, hides_key) for one in shown.rules)
    return ShownCheck(replace(shown.outcome, rules=tuple(one.found for one in rules)), rules)


def _rule(found: RuleOutcome, columns: Collection[str], hides_key: bool) -> RuleOutcome:
    witness = None if found.witness is None else hidden_witness(found.witness, columns, hides_key)
    return replace(found, witness=witness, worst=hidden_keys(found.worst, hides_key))


def _shown(one: ShownRule, columns: Collection[str], hides_key: bool) -> ShownRule:
    return replace(
        one,
        found=_rule(one.found, columns, hides_key),
        witnesses=tuple(hidden_witness(witness, columns, hides_key) for witness in one.witnesses),
        worst=hidden_keys(one.worst, hides_key),
        groups=tuple(_group(group, one.found.rule, columns, hides_key) for group in one.groups),
        duplicates=tuple(_duplicate(d, one.found.rule.body.columns, columns, hides_key) for d in one.duplicates),
        plot=None if one.plot is None else _plot(one.plot, columns),
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


def _duplicate(one: Duplicate, names: tuple[str, ...], columns: Collection[str], hides_key: bool) -> Duplicate:
    values = (HIDDEN if name in columns else value for name, value in zip(names, one.values, strict=True))
    return replace(one, values=tuple(values), keys=() if hides_key else one.keys)


def _plot(plot: Plot, columns: Collection[str]) -> Plot | None:
    """No plot of hidden columns: where a dot is tells its value."""
    if {plot.x, plot.y} & set(columns):
        return None
    return replace(plot, within=tuple((name, HIDDEN if name in columns else v) for name, v in plot.within))
