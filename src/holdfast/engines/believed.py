"""Discovered rules of which it is unlikely that they are accidents."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from holdfast.errors import OptionError
from holdfast.rules.plain_words import number
from holdfast.rules.rule import Allowance
from holdfast.search.options import DiscoverOptions, Share, share
from holdfast.search.outcome import FoundRule


def most_accidents(given: Share | None, options: DiscoverOptions) -> Decimal | None:
    """Returns the share as it is written. Raises OptionError where it is none, or where rules have no estimate."""
    if given is None:
        return None
    wanted = share(given, "max-accidents")
    if not 0 <= wanted <= 1:
        raise OptionError(f"max-accidents is {given}, which is no share.", hint="a number from 0 to 1, such as 5%.")
    if options.conditional or options.constants:
        raise OptionError(
            "max-accidents is given with conditional or constants: of rules that name values no estimate is made.",
            hint="leave one of them out.",
        )
    return wanted


def believed(
    rules: Sequence[FoundRule], most: Decimal, options: DiscoverOptions
) -> tuple[tuple[FoundRule, ...], tuple[str, ...]]:
    """Returns those of the best `options.top` rules whose estimate is at most that, and a note on those left out."""
    estimated, top = options.limits.estimated_rules, options.top
    looked_at = rules[: estimated if top is None else min(top, estimated)]
    kept = tuple(entry for entry in looked_at if entry.accident is not None and entry.accident <= most)
    unknown = sum(entry.accident is None for entry in looked_at)
    likely = len(looked_at) - len(kept) - unknown
    notes = []
    if likely:
        limit = Allowance(None, most * 100)
        notes.append(f"{number(likely, 'rule')} left out: more likely than {limit} to be accidents")
    if unknown:
        notes.append(f"{number(unknown, 'rule')} left out: how likely they are accidents is not known")
    if len(rules) > len(looked_at) and top is None:
        notes.append(f"an estimate is made for the best {estimated:,} rules only; the others are left out")
    return kept, tuple(notes)
