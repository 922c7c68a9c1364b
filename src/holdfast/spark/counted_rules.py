"""Found rules, held against the whole table: what a check counts of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.detect.outcome import RuleOutcome
from holdfast.discover.outcome import FoundRule
from holdfast.rules.rule import Nulls, RuleSet
from holdfast.spark.check import plan_check, run_check
from holdfast.spark.table import Table

# Greedy suspects need the pairs themselves; of a rule that more pairs break they are not known.
LISTED_PAIRS = 200_000
# Of so many rules suspects are looked for; and so many are put to the table at once.
COUNTED_RULES, AT_ONCE = 200, 50


@dataclass(frozen=True)
class Verified:
    """Rules that the whole table breaks no more often than they allow, with exact counts; and how many were tried, and
    how many of those it breaks more often."""

    rules: tuple[FoundRule, ...]
    tried: int
    broken: int


def with_suspects(table: Table, found: Sequence[FoundRule], *, nulls: Nulls) -> tuple[FoundRule, ...]:
    """The rules, those that are broken with their suspect rows, as far as these can be told: of the first ones."""
    unknown = [i for i, one in enumerate(found) if one.suspect_rows is None][:COUNTED_RULES]
    counted = _counted(table, [found[i] for i in unknown], nulls)
    made = list(found)
    for i, outcome in zip(unknown, counted, strict=True):
        made[i] = replace(made[i], suspect_rows=outcome.suspect_rows)
    return tuple(made)


def verified(
    table: Table, found: Sequence[FoundRule], *, most: int | None, nulls: Nulls, until: float | None
) -> Verified:
    """The first rules, `most` of them, that hold on the whole table; until that time, if given."""
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
    return Verified(tuple(kept[:most]), tried, tried - len(kept))


def _counted(table: Table, found: Sequence[FoundRule], nulls: Nulls) -> Sequence[RuleOutcome]:
    if not found:
        return ()
    rules = RuleSet(tuple(one.rule for one in found), nulls=nulls)
    with run_check(table.frame.sparkSession, table, plan_check(table, rules, ()), limit=LISTED_PAIRS) as result:
        return result.outcome.rules
