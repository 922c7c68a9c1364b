"""Decisions on found rules, one after the other: each step can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from holdfast.rules.decisions import Decisions, Rejected, same_meaning
from holdfast.rules.rule import Allowance, Names, Nulls, Rule, RuleSet, Severity

Verdict = Literal["kept", "rejected"]


@dataclass(frozen=True)
class RuleDecision:
    """What somebody decided on a rule: whether it is kept, its name and terms, and why it is rejected."""

    verdict: Verdict | None = None
    name: str | None = None
    severity: Severity | None = None
    allow: Allowance | None = None
    why: str | None = None


@dataclass(frozen=True)
class Review:
    """The rules that are decided on, the decisions by their places, and the review before the last step.

    `others` are earlier decisions on rules that are not among these.
    """

    rules: tuple[Rule, ...]
    nulls: Nulls = "sql"
    decided: Mapping[int, RuleDecision] = field(default_factory=dict)
    others: Decisions = field(default_factory=Decisions)
    before: Review | None = field(default=None, repr=False, compare=False)

    def on(self, place: int) -> RuleDecision:
        """Returns the decision on a rule."""
        return self.decided.get(place, RuleDecision())

    def step(self, place: int, decision: RuleDecision) -> Review:
        """Returns the review with this decision on the rule."""
        return self.steps({place: decision})

    def steps(self, decisions: Mapping[int, RuleDecision]) -> Review:
        """Returns the review with these decisions, by the places of their rules, as one step."""
        return replace(self, decided={**self.decided, **decisions}, before=self)

    def undone(self) -> Review:
        """Returns the review before the last step; itself, where there was none."""
        return self.before or self

    @property
    def open(self) -> list[int]:
        """The places of rules that nobody decided on."""
        return [i for i in range(len(self.rules)) if self.on(i).verdict is None]

    def name_taken(self, place: int, name: str) -> bool:
        """Whether another kept rule has the name."""
        others = (self._as_kept(i).name for i in range(len(self.rules)) if i != place and self.on(i).verdict == "kept")
        return name in others or any(rule.name == name for rule in self.others.kept)

    @property
    def decisions(self) -> Decisions:
        """All decisions, as a file has them."""
        own = [self._as_kept(i) for i in range(len(self.rules)) if self.on(i).verdict == "kept"]
        names = Names(rule.name for rule in self.others.kept)
        kept = (*self.others.kept, *(replace(rule, name=names.give(rule.name)) for rule in own))
        rejected = [
            Rejected(self.rules[i], self.on(i).why) for i in range(len(self.rules)) if self.on(i).verdict == "rejected"
        ]
        return Decisions(kept, (*self.others.rejected, *rejected), frozenset(rule.name for rule in kept))

    @property
    def kept_rules(self) -> RuleSet:
        """The kept rules, ready for a check."""
        return self.decisions.kept_rules(nulls=self.nulls)

    def _as_kept(self, place: int) -> Rule:
        rule, decision = self.rules[place], self.on(place)
        if decision.name:
            rule = replace(rule, name=decision.name)
        if decision.severity:
            rule = replace(rule, severity=decision.severity)
        # What a person allows takes the place of what the rule was found with.
        return rule if decision.allow is None else replace(rule, allow=decision.allow, allow_pairs=None)


def review_of(rules: Sequence[Rule], earlier: Decisions | None, *, nulls: Nulls = "sql") -> Review:
    """Returns the review of the rules, of which some were decided on earlier: rules are compared by meaning."""
    decided: dict[int, RuleDecision] = {}
    others = earlier or Decisions()
    for i, rule in enumerate(rules):
        kept = next((old for old in others.kept if same_meaning(old, rule, nulls=nulls)), None)
        if kept is not None:
            decided[i] = RuleDecision(
                "kept", kept.name, kept.severity, kept.allow if kept.allow_pairs is None else None
            )
            others = replace(others, kept=_without(others.kept, kept))
            continue
        rejected = next((old for old in others.rejected if same_meaning(old.rule, rule, nulls=nulls)), None)
        if rejected is not None:
            decided[i] = RuleDecision("rejected", why=rejected.why)
            others = replace(others, rejected=tuple(old for old in others.rejected if old is not rejected))
    return Review(tuple(rules), nulls, decided, others)


def _without(rules: Iterable[Rule], gone: Rule) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule is not gone)
