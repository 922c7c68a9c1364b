"""A discovery beside decisions made earlier, whichever engine runs it: it shows only what is new."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.checking.outcome import RuleOutcome
from holdfast.engines.counted_rules import LISTED_PAIRS, Counting
from holdfast.engines.discovery import DiscoverResult, DiscoverySource, run_discover
from holdfast.errors import HoldfastError
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.decisions import Decisions
from holdfast.rules.dependency import Denial
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.search.decided import (
    DecidedSummary,
    KeptEarlier,
    column_decisions,
    new_column_rules,
    new_rules,
    rules_looked_at,
)
from holdfast.search.options import DiscoverOptions, Share
from holdfast.search.outcome import DiscoverOutcome


def run_decided_discover(
    source: DiscoverySource,
    options: DiscoverOptions,
    decisions: Decisions,
    *,
    top: int | None = None,
    max_accidents: Share | None = None,
    started: float | None = None,
    arithmetic: bool = True,
    column_rules: bool = True,
) -> DiscoverResult:
    """Returns the rules that nobody decided on, and how kept rules are now. Otherwise as run_discover()."""
    started = time.monotonic() if started is None else started
    wide = None if top is None else rules_looked_at(top, decisions)
    limits: dict[str, Any] = {
        "max_accidents": max_accidents, "arithmetic": arithmetic, "column_rules": column_rules
    }  # fmt: skip
    # What is told first is counted first: the search has the rest of the time.
    kept = kept_rules_now(decisions, source.counted, options.nulls)
    outcome = run_discover(source, options, top=wide, started=started, **limits).outcome
    outcome = decided(outcome, decisions, source.counted, top=top, kept=kept)
    return DiscoverResult(replace(outcome, seconds=time.monotonic() - started), source)


def decided(
    outcome: DiscoverOutcome,
    decisions: Decisions,
    check: Counting,
    *,
    top: int | None,
    kept: tuple[KeptEarlier, ...] | None = None,
) -> DiscoverOutcome:
    """Returns the outcome with the rules alone that nobody decided on. `check` counts violations in the table; `kept`
    are the kept rules as they are now, where that is known."""
    nulls = outcome.options.nulls
    kept = kept_rules_now(decisions, check, nulls) if kept is None else kept
    holding = [entry.rule for entry in kept if entry.holds]
    counting = _PairCounts(check, outcome.rows, nulls)
    new = new_rules(outcome.found, decisions, holding, counting, top=top, nulls=nulls)
    single, without = new_column_rules(outcome.column_rules or (), decisions, holding, nulls=nulls)
    left_out = Counter(new.left_out) + Counter(without)
    summary = DecidedSummary(
        kept=kept,
        rejected=left_out["rejected"],
        refining=left_out["refining"],
        following=left_out["following"],
        columns=tuple(column_decisions(decisions).values()),
        rejected_before=decisions.rejected,
    )
    single_columns = None if outcome.column_rules is None else single
    return replace(outcome, found=new.rules, top=top, decided=summary, column_rules=single_columns)


def kept_rules_now(decisions: Decisions, check: Counting, nulls: Nulls) -> tuple[KeptEarlier, ...]:
    """Returns the kept rules with what breaks them now, in the order of the decisions."""
    if not decisions.kept:
        return ()
    try:
        outcomes = check(RuleSet(decisions.kept, nulls=nulls), limit=LISTED_PAIRS)
    except HoldfastError:
        # One that cannot be checked, since a column is gone, is not to hide the others.
        return tuple(_checked_alone(rule, check, nulls) for rule in decisions.kept)
    return tuple(map(_kept_rule, outcomes))


def _checked_alone(rule: Rule, check: Counting, nulls: Nulls) -> KeptEarlier:
    try:
        (outcome,) = check(RuleSet((rule,), nulls=nulls), limit=LISTED_PAIRS)
    except HoldfastError as problem:
        return KeptEarlier(rule, False, problem=problem.message)
    return _kept_rule(outcome)


def _kept_rule(outcome: RuleOutcome) -> KeptEarlier:
    return KeptEarlier(
        outcome.rule, outcome.holds, outcome.violating_pairs, outcome.violating_rows, outcome.suspect_rows
    )


@dataclass(frozen=True)
class _PairCounts:
    """How many ordered pairs satisfy all predicates of constraints, as a check of the table counts them."""

    check: Counting
    rows: int
    nulls: Nulls

    def __call__(self, constraints: Sequence[DenialConstraint]) -> list[int]:
        every = self.rows * max(self.rows - 1, 0)
        named = [
            Rule(f"pairs {i}", Denial(_of_t(constraint)))
            for i, constraint in enumerate(constraints)
            if constraint.predicates
        ]
        outcomes = iter(self.check(RuleSet(tuple(named), nulls=self.nulls), limit=0) if named else ())
        return [
            self._pairs(constraint, next(outcomes)) if constraint.predicates else every for constraint in constraints
        ]

    def _pairs(self, constraint: DenialConstraint, outcome: RuleOutcome) -> int:
        if outcome.violating_pairs is None:
            return outcome.violating_rows * max(self.rows - 1, 0)
        return outcome.violating_pairs * (2 if constraint.symmetric else 1)


def _of_t(constraint: DenialConstraint) -> DenialConstraint:
    """The constraint; one that speaks of s alone, of t."""
    return constraint.mirrored() if {column.row for column in constraint.columns()} == {"s"} else constraint
