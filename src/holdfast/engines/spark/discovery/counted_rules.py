"""Found rules, held against the whole table: what a check counts of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.checking.outcome import RuleOutcome
from holdfast.engines.spark.checking.check import plan_check, run_check
from holdfast.engines.spark.sources.table import Table
from holdfast.rules.rule import Nulls, RuleSet
from holdfast.search.outcome import FoundRule, RankedRules

# Greedy suspects need the pairs themselves; of a rule that more pairs break they are not known.
LISTED_PAIRS = 30_000
# Suspects are looked for of those shown and some more, of so many at most; and so many are put to the table at once.
COUNTED_RULES, MORE_THAN_SHOWN, AT_ONCE = 200, 25, 50
# How much it weighs that rows would have to go; and what is left of a score where too many pairs break the rule.
STRICT, UNKNOWN = 4, 0.5


@dataclass(frozen=True)
class Verified:
    """Rules that the whole table breaks no more often than they allow, with exact counts; and how many were tried, and
    how many of those it breaks more often."""

    rules: tuple[FoundRule, ...]
    tried: int
    broken: int


def with_suspects(table: Table, found: RankedRules, *, top: int | None, rows: int, nulls: Nulls) -> RankedRules:
    """The rules, those that are broken with their suspect rows, as far as these can be told; few suspects come first.

    That is known of the best ones, somewhat more than are shown; the others stay behind them.
    """
    first = list(found[: COUNTED_RULES if top is None else min(top + MORE_THAN_SHOWN, COUNTED_RULES)])
    unknown = [i for i, one in enumerate(first) if one.suspect_rows is None and _can_be_told(one)]
    for i, outcome in zip(unknown, _counted(table, [first[i] for i in unknown], nulls), strict=True):
        first[i] = replace(first[i], suspect_rows=outcome.suspect_rows)
    return found.beginning(_by_suspects(first, rows))


def _can_be_told(one: FoundRule) -> bool:
    """Whether the suspects follow from groups, or from few enough pairs to list them."""
    return one.rule.kind in ("key", "fd", "cfd") or (one.violating_pairs or 0) <= LISTED_PAIRS


def _by_suspects(found: Sequence[FoundRule], rows: int) -> list[FoundRule]:
    """The rules, those of which many rows would have to go further behind."""

    def scored(one: FoundRule) -> FoundRule:
        if one.suspect_rows is None:
            return replace(one, score=one.score * UNKNOWN)
        return replace(one, score=one.score * max(1 - one.suspect_rows / max(rows, 1), 0.0) ** STRICT)

    return sorted(map(scored, found), key=lambda one: -one.score)


def verified(
    table: Table, found: Sequence[FoundRule], *, most: int | None, rows: int, nulls: Nulls, until: float | None
) -> Verified:
    """The first rules, `most` of them, that hold on the whole table, few suspects first; until that time, if given."""
    kept: list[FoundRule] = []
    tried = 0
    while tried < len(found) and (most is None or len(kept) < most):
        if tried and until is not None and time.monotonic() >= until:
            break
        some = found[tried : tried + AT_ONCE]
        tried += len(some)
        for one, outcome in zip(some, _counted(table, some, nulls), strict=True):
            if outcome.holds:
                pairs, suspects = outcome.violating_pairs, outcome.suspect_rows
                kept.append(replace(one, violating_pairs=pairs, suspect_rows=suspects))
    return Verified(tuple(_by_suspects(kept[:most], rows)), tried, tried - len(kept))


def _counted(table: Table, found: Sequence[FoundRule], nulls: Nulls) -> Sequence[RuleOutcome]:
    if not found:
        return ()
    rules = RuleSet(tuple(one.rule for one in found), nulls=nulls)
    with run_check(table.frame.sparkSession, table, plan_check(table, rules, ()), limit=LISTED_PAIRS) as result:
        return result.outcome.rules
