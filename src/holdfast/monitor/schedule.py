"""In which order the predicates of several rules are looked at, and which work rules share (Weever 5)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.programs.program import Compare
from holdfast.rules.predicate import quoted_name
from holdfast.rules.relation import EQ, NE, operator_of

P = TypeVar("P", bound=Hashable)
R = TypeVar("R", bound=Hashable)


@dataclass(frozen=True)
class SharedPrefix(Generic[R, P]):
    """The first predicates of a rule, all of which other rules have too: what they leave is found once.

    `benefit` is how many refinements that saves the others. `potential` is how many the rule itself gives up: once its
    own start is shared, the starts of others cannot be used for it.
    """

    rule: R
    predicates: tuple[P, ...]
    others: tuple[R, ...]
    benefit: int
    potential: int


@dataclass(frozen=True)
class Schedule(Generic[R, P]):
    """Rules in the order in which they are worked on, each with its predicates in order; and what is shared."""

    rules: Mapping[R, tuple[P, ...]]
    shared: tuple[SharedPrefix[R, P], ...]
    not_shared: tuple[SharedPrefix[R, P], ...]


def predicate_order(compares: Sequence[Compare], cardinality: Callable[[int], int]) -> list[Compare]:
    """The comparisons, best first: equalities, then non-equalities, then inequalities; of one column before two.

    Equalities on many values let least through, non-equalities on few; inequalities on few values cost least.
    """

    def place(compare: Compare) -> tuple[int, bool, int, int, int, int]:
        many = max(cardinality(compare.left), cardinality(compare.right))
        kind = 0 if compare.allowed == EQ else 1 if compare.allowed == NE else 2
        return (
            kind,
            compare.left != compare.right,
            -many if kind == 0 else many,
            compare.left,
            compare.right,
            compare.allowed,
        )

    return sorted(compares, key=place)


def schedule(rules: Mapping[R, Sequence[P]], order: Sequence[P]) -> Schedule[R, P]:
    """The rules scheduled, given all predicates in their order.

    Rules whose best predicate comes later go first: what they look at may settle others before their own start. The
    start of a rule is shared where that saves others more than it costs the rule itself.
    """
    place = {predicate: at for at, predicate in enumerate(order)}
    sorted_rules = {rule: tuple(sorted(ps, key=place.__getitem__)) for rule, ps in rules.items()}
    execution = sorted(sorted_rules, key=lambda rule: -place[sorted_rules[rule][0]] if sorted_rules[rule] else 0)
    ordered = {rule: sorted_rules[rule] for rule in execution}
    candidates = {rule: start for rule in execution if (start := _prefix(rule, ordered)) is not None}
    shared: list[SharedPrefix[R, P]] = []
    not_shared: list[SharedPrefix[R, P]] = []
    for rule in sorted(candidates, key=lambda rule: place[ordered[rule][0]]):
        predicates, others = candidates[rule]
        # A rule whose start is shared takes no part in what others share.
        fixed = {prior.rule for prior in shared}
        helped = tuple(other for other in others if other not in fixed)
        benefit = (len(predicates) - 1) * len(helped)
        gains = [
            len(theirs) - 1
            for other, (theirs, whom) in candidates.items()
            if other != rule and rule in whom and other not in {prior.rule for prior in not_shared}
        ]
        potential = max(gains, default=0)
        prefix = SharedPrefix(rule, predicates, helped, benefit, potential)
        (shared if benefit > potential else not_shared).append(prefix)
    return Schedule(ordered, tuple(shared), tuple(not_shared))


def _prefix(rule: R, rules: Mapping[R, tuple[P, ...]]) -> tuple[tuple[P, ...], tuple[R, ...]] | None:
    """The start of the rule that saves most when shared, and the rules that have all of it; None where none do."""
    best: tuple[int, tuple[P, ...], tuple[R, ...]] | None = None
    predicates = rules[rule]
    for many in range(2, len(predicates) + 1):
        start = predicates[:many]
        others = tuple(o for o, ps in rules.items() if o != rule and set(start) <= set(ps))
        saved = (many - 1) * len(others)
        if saved and (best is None or saved > best[0]):
            best = (saved, start, others)
    return None if best is None else best[1:]


def schedule_lines(
    schedule: Schedule[tuple[int, int], Compare], rules: Sequence[str], columns: Sequence[str]
) -> Iterator[str]:
    """The rules that go by sets of rows, in words: their predicates in order, and the starts that they share."""

    def compare_text(compare: Compare) -> str:
        left, right = quoted_name(columns[compare.left]), quoted_name(columns[compare.right])
        return f"t.{left} {operator_of(compare.allowed)} s.{right}"

    def several(compares: Sequence[Compare]) -> str:
        return " and ".join(map(compare_text, compares))

    for prefix in schedule.shared:
        helped = ", ".join(dict.fromkeys(rules[at] for at, _ in prefix.others))
        yield f"once for {rules[prefix.rule[0]]} and {helped}: {several(prefix.predicates)}"
    for (at, _), predicates in schedule.rules.items():
        yield f"{rules[at]}: {', then '.join(map(compare_text, predicates))}"
