"""What a discovery says: rules are made when asked for, and what is shown is what goes on."""

from __future__ import annotations

import numpy as np

from holdfast.rules.rule import parse_rule
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import DiscoverOutcome, FoundRule, RankedRules


def found_rule(text: str, score: float = 0.5) -> FoundRule:
    rule = parse_rule(text)
    (constraint,) = rule.body.denials
    return FoundRule(rule, constraint, score, coverage=0.25, support=3)


TEXTS = ["unique(id)", "zip -> city", "zip -> city", "if t.a > s.a then t.b >= s.b"]
KINDS = ["key", "fd", "fd", "order"]


class Making:
    """Makes the rules of TEXTS, and remembers which."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __call__(self, i: int) -> FoundRule:
        self.made.append(i)
        return found_rule(TEXTS[i])


def ranked(making: Making) -> RankedRules:
    return RankedRules(making, KINDS, scores=np.full(len(KINDS), 0.5))


def outcome(found: RankedRules | tuple[FoundRule, ...], top: int | None) -> DiscoverOutcome:
    return DiscoverOutcome("t.csv", 3, 3, 12, 5, True, 0.25, found, DiscoverOptions(nulls="equal"), top)


def test_only_rules_that_are_asked_for_are_made_and_only_once() -> None:
    making = Making()
    rules = ranked(making)
    assert len(rules) == 4
    assert making.made == []
    assert [one.rule.name for one in rules[:2]] == ["unique-id", "zip-city"]
    assert making.made == [0, 1]
    assert rules[1] is rules[:3][1]
    assert making.made == [0, 1, 2]
    assert rules[-1].rule.kind == "order"
    assert making.made == [0, 1, 2, 3]


def test_a_name_does_not_depend_on_how_many_rules_are_shown() -> None:
    few, all_at_once = ranked(Making()), ranked(Making())
    assert few[2].rule.name == "zip-city-2"
    assert [one.rule.name for one in all_at_once] == ["unique-id", "zip-city", "zip-city-2", "a-b"]


def test_kinds_are_counted_without_making_rules() -> None:
    making = Making()
    assert outcome(ranked(making), 1).kinds == {"key": 1, "fd": 2, "order": 1}
    assert making.made == []
    assert outcome(tuple(map(found_rule, TEXTS[:2])), None).kinds == {"key": 1, "fd": 1}


def test_what_is_shown_goes_on() -> None:
    shown = outcome(ranked(Making()), 2)
    assert [str(rule) for rule in shown.rules] == TEXTS[:2]
    assert shown.rules.nulls == "equal"
    assert [entry["rule"] for entry in shown.to_dict()["rules"]] == TEXTS[:2]
    assert len(outcome(ranked(Making()), None).rules) == 4


def test_json_has_exactly_the_keys_of_the_design() -> None:
    told = outcome(ranked(Making()), 1).to_dict()
    # How nulls compare is told where it is not as SQL has it.
    assert list(told) == ["rows", "predicates", "evidence", "complete", "seconds", "engine", "nulls", "rules"]
    assert told["rules"] == [
        {
            "rule": "unique(id)",
            "dc": "not(t.id = s.id)",
            "kind": "key",
            "score": 0.5,
            "coverage": 0.25,
            "violating_pairs": 0,
            "accident": None,
            "entry": 1,
            "variant": False,
        }
    ]
