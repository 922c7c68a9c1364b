"""What a report shows of a check: a bounded part of its violations, in the table's own values.

The values of some columns may be hidden; counts stay.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.rules.dependency import CFD, FD, Inclusion, as_dependency
from holdfast.rules.predicate import Comparison
from holdfast.rules.relation import EQ, is_inequality
from holdfast.rules.rule import Rule
from holdfast.violations.witness import HIDDEN, Witness, WorstRow, hidden_keys, hidden_witness

# How much of each rule a report shows; what is collected from Spark is bounded by these.
PAIRS, LINES, WORST, GROUPS, SIDES, KEYS, DOTS = 6, 40, 8, 6, 6, 3, 400
# Rules beyond these are told with their counts alone.
RULES_IN_DETAIL = 60


@dataclass(frozen=True)
class Side:
    """The rows of a group that have one value: how many they are, and some of their keys."""

    value: str | None
    rows: int
    keys: tuple[Any, ...]


@dataclass(frozen=True)
class ShownGroup:
    """Rows that agree on the left side of a dependency, divided by their value in a right column; most rows first.

    `more` is how many other values there are. The sides of a group that does not suggest anything are no alternatives.
    """

    group: str
    column: str
    rows: int
    sides: tuple[Side, ...]
    more: int = 0
    suggests: bool = True

    @property
    def suggested(self) -> Side | None:
        """The side that the others would have to join: more than half of the rows, or at least twice the next."""
        if not self.suggests:
            return None
        first, *others = self.sides
        clear = not others or first.rows >= 2 * others[0].rows or 2 * first.rows > self.rows
        return first if clear and first.value is not None else None


@dataclass(frozen=True)
class Duplicate:
    """A value of a key that several rows have, and some of them."""

    values: tuple[Any, ...]
    rows: int
    keys: tuple[Any, ...]


@dataclass(frozen=True)
class Plot:
    """Rows as dots over two columns, and violating pairs as lines; `within` is what the pairs agree on."""

    x: str
    y: str
    within: tuple[tuple[str, Any], ...]
    dots: tuple[tuple[Any, Any], ...]
    lines: tuple[tuple[tuple[Any, Any], tuple[Any, Any]], ...]


@dataclass(frozen=True)
class ShownRule:
    """A rule with what is shown of its violations: pairs, or rows where those break it alone."""

    outcome: RuleOutcome
    witnesses: tuple[Witness, ...] = ()
    worst: tuple[WorstRow, ...] = ()
    groups: tuple[ShownGroup, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    plot: Plot | None = None


@dataclass(frozen=True)
class ShownCheck:
    """A check and what is shown of each rule, in the order of the rules."""

    outcome: CheckOutcome
    rules: tuple[ShownRule, ...]


def plotted_columns(rule: Rule) -> tuple[str, str, tuple[str, ...]] | None:
    """(x, y, agreeing columns) of an order rule that is one denial; None for any other.

    >>> from holdfast.rules.rule import parse_rule
    >>> plotted_columns(parse_rule("if t.g = s.g and t.x > s.x then t.y >= s.y"))
    ('x', 'y', ('g',))
    >>> plotted_columns(parse_rule("if t.x > s.x then t.y >= s.y and t.z >= s.z")) is None
    True
    """
    if rule.kind != "order" or len(rule.body.denials) > 1:
        return None
    (constraint,) = rule.body.denials
    compared = [p for p in constraint.predicates if isinstance(p, Comparison)]
    ordered = [p.left.name for p in compared if is_inequality(p.allowed)]
    return ordered[0], ordered[1], tuple(p.left.name for p in compared if p.allowed == EQ)


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
    return ShownCheck(replace(shown.outcome, rules=tuple(rule.outcome for rule in rules)), rules)


def _rule(outcome: RuleOutcome, columns: Collection[str], hides_key: bool) -> RuleOutcome:
    witness = None if outcome.witness is None else hidden_witness(outcome.witness, columns, hides_key)
    missing = outcome.missing
    if isinstance(body := outcome.rule.body, Inclusion) and set(body.columns) & set(columns):
        missing = tuple(replace(value, value=HIDDEN) for value in missing)
    return replace(outcome, witness=witness, worst=hidden_keys(outcome.worst, hides_key), missing=missing)


def _shown(shown: ShownRule, columns: Collection[str], hides_key: bool) -> ShownRule:
    return replace(
        shown,
        outcome=_rule(shown.outcome, columns, hides_key),
        witnesses=tuple(hidden_witness(witness, columns, hides_key) for witness in shown.witnesses),
        worst=hidden_keys(shown.worst, hides_key),
        groups=tuple(_group(group, shown.outcome.rule, columns, hides_key) for group in shown.groups),
        duplicates=tuple(_duplicate(d, shown.outcome.rule.body.columns, columns, hides_key) for d in shown.duplicates),
        plot=None if shown.plot is None else _plot(shown.plot, columns),
    )


def _group(group: ShownGroup, rule: Rule, columns: Collection[str], hides_key: bool) -> ShownGroup:
    body = as_dependency(rule.body)
    left = body.left if isinstance(body, FD | CFD) else ()
    value = bool(set(rule.body.columns) & set(columns)) if rule.kind == "ind" else group.column in columns
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
