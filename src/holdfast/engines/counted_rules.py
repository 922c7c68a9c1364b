"""Discovered rules with the counts that a check of the whole table gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from holdfast.checking.outcome import RuleOutcome
from holdfast.engines.timed_batches import timed_batches
from holdfast.rules.rule import Nulls, RuleSet
from holdfast.search.clock import Clock
from holdfast.search.outcome import FoundRule, RankedRules

# Where suspects are chosen from the violating pairs, they are not known for rules with more pairs than this.
LISTED_PAIRS = 30_000
# Suspects are counted for the shown rules and MORE_THAN_SHOWN others, at most COUNTED_RULES, AT_ONCE in one check.
COUNTED_RULES, MORE_THAN_SHOWN, AT_ONCE = 200, 25, 50
# How much suspects lower a score; and the factor where they are not known.
STRICT, UNKNOWN = 4, 0.5


class Counting(Protocol):
    """Checks rules on the whole table; suspects are known of rules with at most `limit` pairs."""

    def __call__(self, rules: RuleSet, *, limit: int) -> Sequence[RuleOutcome]: ...


@dataclass(frozen=True)
class Verified:
    """Rules that hold on the whole table, with exact counts; how many were tried, and how many of them do not hold;
    whether time was up before there were as many as are wanted."""

    rules: tuple[FoundRule, ...]
    tried: int
    broken: int
    cut: bool = False


def with_suspects(
    check: Counting, rules: RankedRules, *, top: int | None, rows: int, nulls: Nulls, clock: Clock
) -> tuple[RankedRules, int]:
    """Returns the rules with their suspect rows, as far as these can be counted; rules with few suspects come first.

    Suspects are counted for the best rules, a few more than are shown; the others stay behind them. Of how many there
    was no time for it comes with them.
    """
    first = list(rules[: COUNTED_RULES if top is None else min(top + MORE_THAN_SHOWN, COUNTED_RULES)])
    unknown = [i for i, entry in enumerate(first) if entry.suspect_rows is None and _can_be_counted(entry)]
    counted = 0
    for batch in timed_batches(unknown, clock, most=AT_ONCE):
        counted += len(batch)
        for i, outcome in zip(batch, _counted(check, [first[i] for i in batch], nulls), strict=True):
            first[i] = replace(first[i], suspect_rows=outcome.suspect_rows)
    return rules.beginning(_by_suspects(first, rows)), len(unknown) - counted


def _can_be_counted(entry: FoundRule) -> bool:
    """Whether suspects follow from groups, or from pairs that are few enough to list."""
    return entry.rule.kind in ("key", "fd", "cfd") or (entry.violating_pairs or 0) <= LISTED_PAIRS


def _by_suspects(rules: Sequence[FoundRule], rows: int) -> list[FoundRule]:
    """Returns the rules in the order of scores that suspects lower."""

    def scored(entry: FoundRule) -> FoundRule:
        if entry.suspect_rows is None:
            return replace(entry, score=entry.score * UNKNOWN)
        return replace(entry, score=entry.score * max(1 - entry.suspect_rows / max(rows, 1), 0.0) ** STRICT)

    return sorted(map(scored, rules), key=lambda entry: -entry.score)


def verified(
    check: Counting, rules: Sequence[FoundRule], *, most: int | None, rows: int, nulls: Nulls, clock: Clock
) -> Verified:
    """Returns the first `most` rules that hold on the whole table, rules with few suspects first; as far as there is
    time."""
    kept: list[FoundRule] = []
    tried = 0
    for batch in timed_batches(rules, clock, most=AT_ONCE):
        tried += len(batch)
        for entry, outcome in zip(batch, _counted(check, batch, nulls), strict=True):
            if outcome.holds:
                pairs, suspects = outcome.violating_pairs, outcome.suspect_rows
                kept.append(replace(entry, violating_pairs=pairs, suspect_rows=suspects))
        if most is not None and len(kept) >= most:
            break
    cut = tried < len(rules) and (most is None or len(kept) < most)
    return Verified(tuple(_by_suspects(kept[:most], rows)), tried, tried - len(kept), cut)


def _counted(check: Counting, rules: Sequence[FoundRule], nulls: Nulls) -> Sequence[RuleOutcome]:
    if not rules:
        return ()
    return check(RuleSet(tuple(entry.rule for entry in rules), nulls=nulls), limit=LISTED_PAIRS)
