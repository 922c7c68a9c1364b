"""What a report shows of a check: a bounded part of its violations, in the table's own values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.rules.predicate import Comparison
from holdfast.rules.relation import EQ, is_inequality
from holdfast.rules.rule import Rule
from holdfast.violations.witness import Witness, WorstRow

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

    `more` is how many other values there are.
    """

    group: str
    column: str
    rows: int
    sides: tuple[Side, ...]
    more: int = 0

    @property
    def suggested(self) -> Side | None:
        """The side that the others would have to join: more than half of the rows, or at least twice the next."""
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

    found: RuleOutcome
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
    """(x, y, agreeing columns) of an order rule; None for any other."""
    if rule.kind != "order":
        return None
    (constraint,) = rule.body.denials
    compared = [p for p in constraint.predicates if isinstance(p, Comparison)]
    ordered = [p.left.name for p in compared if is_inequality(p.allowed)]
    return ordered[0], ordered[1], tuple(p.left.name for p in compared if p.allowed == EQ)
