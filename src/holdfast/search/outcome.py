"""What a discovery says: rules in the order they are shown, and how it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from holdfast.presented import Presented
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.rule import Names, Rule, RuleSet
from holdfast.search.column_rule import ColumnRule
from holdfast.search.entries import Entries, entries_of
from holdfast.search.evidence import Floats, Ints
from holdfast.search.options import DiscoverOptions
from holdfast.search.row_orders import RowOrder

if TYPE_CHECKING:
    from holdfast.search.decided import DecidedSummary, Moved


@dataclass(frozen=True)
class FoundRule:
    """One discovered constraint: as a rule under a name, as a denial, and what speaks for it.

    `support` is how many ordered pairs meet all its predicates but the one that is least often put to the test, and
    `coverage` their share of all; `score`, from 0 to 1, is what rules are ranked by. The rule's description says it in
    plain words.

    `violating_pairs` is how many pairs break it, as `check` counts them: None where single rows do. How many rows are
    suspect is known of rules that are shown, unless their pairs are too many to list. Where pairs were sampled,
    `interval` holds the share of all ordered pairs that break it, 95 times in 100.

    Beside decisions on other rules, `moved` says that they move it in the order, and `refines` which rejected rule it
    refines. `accident`, from 0 to 1, is how likely a table of the same columns, one of the rule's columns independent
    of the others, holds such a rule; None where that was not estimated.
    """

    rule: Rule
    constraint: DenialConstraint
    score: float
    coverage: float
    support: int = 0
    violating_pairs: int | None = 0
    suspect_rows: int | None = 0
    interval: tuple[float, float] | None = None
    moved: Moved | None = None
    refines: str | None = None
    accident: float | None = None

    def to_dict(self) -> dict[str, Any]:
        tolerated = {
            "allow_pairs": self.rule.allow_pairs,
            "allow": self.rule.allow if self.rule.allow.percent else None,
        }
        decided = {"refines_rejected": self.refines, "moved": self.moved and vars(self.moved)}
        return {
            "rule": str(self.rule),
            "dc": str(self.constraint),
            "kind": self.rule.kind,
            "score": round(self.score, 6),
            "coverage": round(self.coverage, 9),
            "violating_pairs": self.violating_pairs,
            "accident": None if self.accident is None else round(self.accident, 6),
            **{name: str(allowed) for name, allowed in tolerated.items() if allowed is not None},
            **{name: value for name, value in decided.items() if value is not None},
        }


class RankedRules(Sequence[FoundRule]):
    """Rules, best first, each made when it is first asked for; kinds and scores are known of all, and `which` of the
    constraints they were made from each is.

    A name is unique among the rules before it, so asking for one makes those before it, too.
    """

    def __init__(
        self,
        make: Callable[[int], FoundRule],
        kinds: Sequence[str],
        *,
        scores: Floats,
        which: Ints | None = None,
        first: Sequence[FoundRule] = (),
    ) -> None:
        self.kinds = tuple(kinds)
        self.make = make
        self.scores = scores
        self.which = np.arange(len(self.kinds)) if which is None else which
        self._entries = list(first)
        self._names = Names(entry.rule.name for entry in first)

    def beginning(self, first: Sequence[FoundRule]) -> RankedRules:
        """The same rules, the first of them as they are given, in their order: more is known of those. The others come
        after them, with a score that is no better."""
        least = min((entry.score for entry in first), default=1.0)
        scores = np.concatenate([[entry.score for entry in first], np.minimum(self.scores[len(first) :], least)])

        def make(i: int) -> FoundRule:
            entry = self.make(i)
            return replace(entry, score=min(entry.score, least))

        kinds = [*(entry.rule.kind for entry in first), *self.kinds[len(first) :]]
        return RankedRules(make, kinds, scores=scores, first=first)

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, place: int) -> FoundRule: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[FoundRule, ...]: ...

    def __getitem__(self, place: int | slice) -> FoundRule | tuple[FoundRule, ...]:
        wanted = range(len(self))[place]
        self._make_until(max(wanted, default=-1) + 1 if isinstance(wanted, range) else wanted + 1)
        return tuple(self._entries[i] for i in wanted) if isinstance(wanted, range) else self._entries[wanted]

    def _make_until(self, end: int) -> None:
        for i in range(len(self._entries), end):
            entry = self.make(i)
            name = self._names.give(entry.rule.name)
            self._entries.append(
                entry if name == entry.rule.name else replace(entry, rule=replace(entry.rule, name=name))
            )


def found_kinds(rules: Sequence[FoundRule]) -> Sequence[str]:
    """Returns the kinds of the rules; where those are known without the rules, no rule is made for it."""
    kinds = getattr(rules, "kinds", None)
    return [entry.rule.kind for entry in rules] if kinds is None else kinds


@dataclass(frozen=True)
class DiscoverOutcome(Presented):
    """All rules found, best first, of which the first `top` are shown (None: all); but for `cut` of them, which are
    left out because they may be accidents. Beside decisions made earlier, the rules are those that nobody decided on,
    and `decided` says what became of the others.

    `column_rules` are what single columns are likely to keep, None where they were not looked at. `row_orders` are how
    columns stand to each other in each row, which rules over two rows may follow from.

    With `least_score`, what is found are not all rules there are, but all that score as much on their own; the shown
    ones are the best all the same.
    """

    table: str
    rows: int
    distinct_rows: int
    predicates: int
    evidence: int
    complete: bool
    seconds: float
    found: Sequence[FoundRule]
    options: DiscoverOptions
    top: int | None = None
    strategy: str = "all-pairs"
    device: str = "cpu"
    why: str | None = None
    least_score: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    engine: str = "spark"
    decided: DecidedSummary | None = None
    cut: int = 0
    column_rules: tuple[ColumnRule, ...] | None = None
    row_orders: tuple[RowOrder, ...] = ()

    @property
    def shown(self) -> tuple[FoundRule, ...]:
        return tuple(self.found[: self.top])

    @cached_property
    def entries(self) -> Entries:
        """The rules that are shown, those that say the same in other words in one entry."""
        return entries_of(self.shown, self.row_orders)

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many rules of each kind were found."""
        return Counter(found_kinds(self.found))

    @property
    def rules(self) -> RuleSet:
        """The most general rules that are shown, ready for a check."""
        return RuleSet(tuple(entry.rule for entry in self.shown), nulls=self.options.nulls)

    @property
    def rule_set(self) -> RuleSet:
        """All rules that are shown, those on single columns first, ready for a check."""
        shown = self.rules.rules
        names = Names(rule.name for rule in shown)
        single = (entry.rule for entry in self.column_rules or () if entry.rule is not None)
        first = tuple(replace(rule, name=names.give(rule.name)) for rule in single)
        return RuleSet((*first, *shown), nulls=self.options.nulls)

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast discover --format json` prints."""
        return {
            "rows": self.rows,
            "predicates": self.predicates,
            "evidence": self.evidence,
            "complete": self.complete,
            **({} if self.why is None else {"why": self.why}),
            "seconds": round(self.seconds, 3),
            "engine": self.engine,
            **({} if self.options.nulls == "sql" else {"nulls": self.options.nulls}),
            **({} if self.decided is None else {"decisions": self.decided.to_dict()}),
            **({} if self.column_rules is None else {"column_rules": [rule.to_dict() for rule in self.column_rules]}),
            "rules": [{**rule.to_dict(), **self._place_of(i)} for i, rule in enumerate(self.shown)],
        }

    def _place_of(self, i: int) -> dict[str, Any]:
        """The entry of the rule at this place, whether it is a variant there, and what it follows from, as denials."""
        entries = self.entries
        place: dict[str, Any] = {"entry": entries.numbers[i], "variant": entries.variants[i]}
        if (reason := entries.reasons.get(i)) is not None:
            rules = [str(self.shown[other].constraint) for other in reason.rules]
            place["follows_from"] = [*rules, *(str(order.constraint) for order in reason.orders)]
        return place
