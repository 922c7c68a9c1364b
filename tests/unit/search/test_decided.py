"""Found rules beside decisions: what is left out, what is counted for it, and what moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.decisions import Decisions, parse_decisions
from holdfast.rules.rule import parse_rule
from holdfast.search.decided import LOOKED_AT, ColumnDecisions, column_decisions, new_rules
from holdfast.search.outcome import FoundRule, RankedRules


def found(text: str, score: float = 0.5) -> FoundRule:
    rule = parse_rule(text)
    (constraint,) = rule.body.denials
    return FoundRule(rule, constraint, score, coverage=0.25, support=3)


def no_counts(constraints: Sequence[DenialConstraint]) -> list[int]:
    assert not constraints, "nothing is to be counted"
    return []


def texts(rules: Sequence[FoundRule]) -> list[str]:
    return [str(entry.rule) for entry in rules]


def test_what_was_decided_is_left_out_however_it_is_written() -> None:
    decisions = parse_decisions(
        'kept: ["zip -> city, state"]\nrejected: ["not(t.b > s.b and t.a < s.a)", "not(t.c = s.c and t.d < s.d)"]'
    )
    rules = [found("zip -> city"), found("if t.a > s.a then t.b >= s.b"), found("c -> d"), found("x -> y")]
    new = new_rules(rules, decisions, decisions.kept, no_counts, top=10, nulls="sql")
    assert texts(new.rules) == ["x -> y"]
    assert new.left_out == {"kept": 1, "rejected": 2}


def test_what_follows_from_a_kept_rule_that_holds_is_left_out() -> None:
    decisions = parse_decisions('kept: ["zip -> city", "a -> b"]')
    rules = [found("zip, street -> city"), found("a, c -> b")]
    new = new_rules(rules, decisions, decisions.kept[:1], no_counts, top=10, nulls="sql")
    assert texts(new.rules) == ["a, c -> b"], "the rule a -> b is kept and no longer holds"
    assert new.left_out == {"following": 1}


def test_what_follows_from_several_kept_rules_together_is_left_out() -> None:
    decisions = parse_decisions('kept: ["area -> st", "st, salary -> rate", {rule: "a -> b", allow: 2}, "b -> c"]')
    rules = [found("area, salary -> rate"), found("area -> rate"), found("a -> c"), found("st, salary -> tax")]
    new = new_rules(rules, decisions, decisions.kept, no_counts, top=10, nulls="sql")
    assert {*texts(new.rules)} == {"area -> rate", "a -> c", "st, salary -> tax"}, "a rule with exceptions has no say"
    assert new.left_out == {"following": 1}


@pytest.mark.parametrize(("pairs", "left_out"), [(95, {"refining": 1}), (89, {})])
def test_a_refinement_of_a_rejected_rule_is_left_out_where_it_tests_the_same_pairs(
    pairs: int, left_out: dict[str, int]
) -> None:
    """Of the 100 pairs that agree on zip, so many agree on street, too."""
    counts = {
        "not(t.zip = s.zip)": 100, "not(t.city != s.city)": 900, "not(t.zip = s.zip and t.street = s.street)": pairs,
        "not(t.street = s.street and t.city != s.city)": 400, "not(t.zip = s.zip and t.city != s.city)": 3,
    }  # fmt: skip

    def count(constraints: Sequence[DenialConstraint]) -> list[int]:
        return [counts[str(constraint)] for constraint in constraints]

    decisions = parse_decisions('rejected: ["zip -> city"]')
    new = new_rules([found("zip, street -> city")], decisions, (), count, top=10, nulls="sql")
    assert new.left_out == left_out
    assert [entry.refines for entry in new.rules] == ([] if left_out else ["zip -> city"])


def test_columns_that_people_reject_come_later_and_those_they_keep_earlier() -> None:
    rejected = "\n".join(f'  - "unique(id, c{i})"' for i in range(6))
    decisions = parse_decisions(f'kept: ["zip -> city"]\nrejected:\n{rejected}')
    rules = [found("unique(id, x)", 0.6), found("a -> b", 0.5), found("zip -> state", 0.45), found("p -> zip", 0.2)]
    new = new_rules(rules, decisions, decisions.kept, no_counts, top=10, nulls="sql")
    assert texts(new.rules) == ["zip -> state", "a -> b", "unique(id, x)", "p -> zip"]
    moved = [entry.moved for entry in new.rules]
    assert moved[1] is None
    assert moved[2] is not None
    assert (moved[2].factor, moved[2].why) == (0.4, "you rejected 6 rules on id")
    assert [entry.score for entry in new.rules] == [0.45, 0.5, 0.6, 0.2], "the score says what the data say"


@pytest.mark.parametrize(("score", "moves"), [(0.24, False), (0.25, True), (0.26, True)])
def test_a_rule_that_few_pairs_test_stays_below_others_whatever_was_decided(score: float, moves: bool) -> None:
    decisions = parse_decisions('kept: ["zip -> city", "zip -> county", "zip -> area"]')
    rules = [found("a -> b", 0.27), found("zip -> state", score)]
    new = new_rules(rules, decisions, (), no_counts, top=10, nulls="sql")
    assert texts(new.rules) == (["zip -> state", "a -> b"] if moves else ["a -> b", "zip -> state"])


def test_a_column_is_told_by_what_people_decided() -> None:
    assert str(ColumnDecisions("a b", 1, 0)) == 'you kept 1 rule on "a b"'
    assert str(ColumnDecisions("a", 2, 1)) == "you rejected 1 and kept 2 rules on a"
    assert ColumnDecisions("a", 3, 3).factor == 1
    decisions = parse_decisions('kept: ["a -> b"]\nrejected: ["a -> c"]')
    assert {name: column.factor for name, column in column_decisions(decisions).items()} == {"b": 1.2, "c": 0.8, "a": 1}


def test_rules_beyond_those_looked_at_are_not_made() -> None:
    made: list[int] = []

    def make(i: int) -> FoundRule:
        made.append(i)
        return found(f"c{i} -> d", 1 / (i + 1))

    many = RankedRules(make, ["fd"] * 5000, scores=1 / np.arange(1, 5001))
    new = new_rules(many, parse_decisions('rejected: ["c3 -> d"]'), (), no_counts, top=5, nulls="sql")
    assert len(new.rules) == 4999
    assert len(new.rules.kinds) == 4999
    assert len(made) < 3 * LOOKED_AT
    assert str(new.rules[2].rule) == "c2 -> d"
    assert str(new.rules[3].rule) == "c4 -> d"
    assert str(new.rules[-1].rule) == "c4999 -> d"


def test_without_decisions_nothing_moves() -> None:
    rules = [found("a -> b", 0.5), found("b -> a", 0.4)]
    new = new_rules(rules, Decisions(), (), no_counts, top=None, nulls="sql")
    assert list(new.rules) == rules
    assert new.left_out == {}
