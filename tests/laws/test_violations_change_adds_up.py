"""Changes of violations add up: in any grouping, and what came and went again is not told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.states.violations_change import RuleViolationsChange, Violation, ViolationsChange

RULES = ("r", "s")
VIOLATIONS: list[Violation] = [(1, 2), (2, 1), (1, None), (("a", 1), ("b", 2))]
Held = dict[str, set[Violation]]


@st.composite
def histories(draw: st.DrawFn) -> list[ViolationsChange]:
    """What is there changes from step to step; each step tells the difference."""
    steps = draw(st.lists(st.fixed_dictionaries({r: st.sets(st.sampled_from(VIOLATIONS)) for r in RULES}), min_size=4))
    changes = []
    for before, now in pairwise(steps):
        rules = {}
        for rule in RULES:
            added, removed = sorted(now[rule] - before[rule], key=str), sorted(before[rule] - now[rule], key=str)
            if added or removed:
                rules[rule] = RuleViolationsChange(added, removed, len(added), len(removed))
        changes.append(ViolationsChange(rules, {rule: len(now[rule]) for rule in RULES}))
    return changes


def said(change: ViolationsChange) -> tuple[dict[str, tuple[set[Violation], set[Violation], int, int]], dict[str, int]]:
    rules = {
        name: (set(rule.added), set(rule.removed), rule.added_count, rule.removed_count)
        for name, rule in change.rules.items()
    }
    return rules, dict(change.totals)


@given(histories())
def test_adding_nothing_changes_nothing(changes: Sequence[ViolationsChange]) -> None:
    a = changes[0]
    assert said(a.plus(ViolationsChange())) == said(ViolationsChange().plus(a)) == said(a)


@given(histories())
def test_the_sum_is_the_difference_of_the_ends(changes: Sequence[ViolationsChange]) -> None:
    total = ViolationsChange()
    for change in changes:
        total = total.plus(change)
    for rule in RULES:
        signs = {
            v: sum((v in c.added.get(rule, ())) - (v in c.removed.get(rule, ())) for c in changes) for v in VIOLATIONS
        }
        assert set(total.added.get(rule, ())) == {v for v, sign in signs.items() if sign > 0}
        assert set(total.removed.get(rule, ())) == {v for v, sign in signs.items() if sign < 0}


def test_counts_of_lists_that_were_cut_are_sums() -> None:
    cut = RuleViolationsChange([(1, 2)], [], 5, 0)
    assert cut.cut
    both = cut.plus(RuleViolationsChange([], [(1, 2)], 0, 1))
    assert (both.added_count, both.removed_count) == (5, 1)


def test_lines_have_a_sign() -> None:
    change = ViolationsChange({"r": RuleViolationsChange([(1, 2)], [(3, None)], 1, 1)}, {"r": 1})
    assert change.to_arrow().to_pylist() == [
        {"rule": "r", "left": 1, "right": 2, "change": 1},
        {"rule": "r", "left": 3, "right": None, "change": -1},
    ]
