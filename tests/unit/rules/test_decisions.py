"""Files of decisions: what they say, what is wrong with them, and when two rules mean the same."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.errors import DecisionsError, SourceNotFoundError
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.decisions import covers, dump_decisions, parse_decisions, read_decisions, same_meaning
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Column, comparison
from holdfast.rules.rule import Nulls, parse_rule

FULL = """\
version: 1
kept:
  - rule: "zip -> city"
    name: one-zip
    severity: warn
    allow: 3
  - "country -> currency"
  - {rule: "zip -> city, state", allow: "0.5%", allow_pairs: "0.001%"}
rejected:
  - {rule: "unique(n)", why: "a number: not a name"}
  - not(t.a < s.a and t.b > s.b)
"""


def test_decisions_are_read_as_they_are_written() -> None:
    read = parse_decisions(FULL)
    first, second, third = read.kept
    assert (first.name, first.severity, first.allow.count) == ("one-zip", "warn", 3)
    assert (second.name, second.severity, str(second.allow)) == ("country-currency", "error", "0")
    assert (str(third.allow), str(third.allow_pairs)) == ("0.5%", "0.001%")
    assert [(str(entry.rule), entry.why) for entry in read.rejected] == [
        ("unique(n)", "a number: not a name"),
        ("not(t.a < s.a and t.b > s.b)", None),
    ]
    assert read.named == {"one-zip"}
    assert len(read) == 5
    again = parse_decisions(dump_decisions(read))
    assert again == read
    assert parse_decisions("version: 1\nkept:\nrejected: []\n").kept == ()


def test_names_that_are_not_given_are_made_unique() -> None:
    names = [rule.name for rule in parse_decisions('kept: ["zip -> city", {rule: "a -> b", name: zip-city}]').kept]
    assert names == ["zip-city-2", "zip-city"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("- zip -> city", "holds no decisions"),
        ("kept: 5", "line 1: 'kept' should be a list"),
        ("version: 2", "line 1: version is '2'"),
        ("versoin: 1", "did you mean 'version'"),
        ("kept:\n  - {rule: a -> b, sevrity: warn}", "line 2: there is no setting 'sevrity'"),
        ("kept:\n  - {name: x}", "line 2: 'rule' is missing"),
        ("kept:\n  - rule:\n", "line 2: 'rule' is empty"),
        ("kept:\n  - [a]", "line 2: this entry is not a decision"),
        ("kept:\n  - a -> b\n  - rule: 'a ->'", "line 3, kept 2:"),
        ("kept:\n  - rule: a -> b\n    allow: many", "line 3, kept 1: 'many' is not an allowance"),
        ("kept:\n  - {rule: a -> b, severity: bad}", "severity is 'bad'"),
        ("rejected:\n  - {rule: a -> b, severity: warn}", "there is no setting 'severity'"),
        ("kept:\n  - {rule: a -> b, name: x}\n  - {rule: b -> a, name: x}", "taken by the rule in line 2"),
        ("kept:\n  - a -> b\nrejected:\n  - not(s.b != t.b and t.a = s.a)", "rejected here, and kept in line 2"),
        ("rejected:\n  - orders(a) in places(b)", "names the tables"),
        ("kept: [a -> b", "this is not YAML"),
        ("kept: []\nkept: []", "'kept' stands twice"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DecisionsError) as problem:
        parse_decisions(text, origin="d.yaml")
    assert str(problem.value).startswith("d.yaml")
    assert message in str(problem.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="there is no file of decisions"):
        read_decisions(tmp_path / "no.yaml")
    (tmp_path / "d.yaml").write_text(FULL, encoding="utf-8")
    assert len(read_decisions(tmp_path / "d.yaml")) == 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("zip -> city", "not(s.city != t.city and t.zip = s.zip)"),
        ("zip -> city", "not(t.zip = s.zip and t.city < s.city)"),
        ("zip -> city, state", "zip -> state, city"),
        ("if t.a > s.a then t.b >= s.b", "not(t.a < s.a and t.b > s.b)"),
        ("not(t.a > t.b)", "not(t.b < t.a)"),
    ],
)
def test_rules_are_compared_by_meaning(one: str, other: str) -> None:
    assert same_meaning(parse_rule(one), parse_rule(other))
    assert same_meaning(parse_rule(other), parse_rule(one))


def test_a_rule_covers_those_that_refine_it() -> None:
    general = parse_rule("zip -> city, state")
    assert covers(general, parse_rule("zip -> city"))
    assert covers(general, parse_rule("zip, street -> state"))
    assert not covers(parse_rule("zip -> city"), general)
    assert not covers(general, parse_rule("street -> city"))
    ordered = parse_rule("not(t.a = s.a and t.b < s.b)")
    assert not same_meaning(parse_rule("a -> b"), ordered, nulls="equal"), "a null is not less than a value"


ALLOWED = st.integers(1, 6)
MASKS = st.fixed_dictionaries({}, optional={"a": ALLOWED, "b": ALLOWED, "c": ALLOWED}).filter(bool)


def constraint_of(masks: dict[str, int]) -> DenialConstraint:
    return DenialConstraint(
        tuple(comparison(Column("t", name), mask, Column("s", name)) for name, mask in masks.items())
    )


def violated_pairs(constraint: DenialConstraint, pairs: list[tuple[Any, Any]], nulls: Nulls) -> set[int]:
    return {
        i
        for i, (t, s) in enumerate(pairs)
        if reference.violates(constraint, t, s, nulls) or reference.violates(constraint, s, t, nulls)
    }


@settings(max_examples=120)
@given(general=MASKS, special=MASKS, nulls=st.sampled_from(["sql", "equal"]))
@example({"a": 2, "b": 1}, {"a": 2, "b": 5}, "sql")
@example({"a": 2, "b": 1}, {"a": 2, "b": 5}, "equal")
def test_covering_is_what_the_pairs_of_rows_say(general: dict[str, int], special: dict[str, int], nulls: Nulls) -> None:
    """All pairs of values, two of each relation and nulls: enough to tell columns that are compared with themselves."""
    names = sorted({*general, *special})
    states = [(0, 0), (0, 1), (1, 0), (None, 0), (0, None), (None, None)]
    pairs = []
    for values in product(states, repeat=len(names)):
        left, right = zip(*values, strict=True)
        pairs.append((dict(zip(names, left, strict=True)), dict(zip(names, right, strict=True))))
    one, other = constraint_of(general), constraint_of(special)
    really = violated_pairs(other, pairs, nulls) <= violated_pairs(one, pairs, nulls)
    assert one.covers(other, nulls_equal=nulls == "equal") == really


def test_covering_knows_other_predicates() -> None:
    one = parse_constraint("not(t.x in ('a', 'b') and s.x in ('a', 'b') and t.n < s.n)")
    assert one.covers(parse_constraint("not(t.x in ('a') and s.x in ('b') and t.n < s.n and t.m = s.m)"))
    assert not one.covers(parse_constraint("not(t.x in ('a', 'c') and s.x in ('b') and t.n < s.n)"))
    assert parse_constraint("not(t.n > 5)").covers(parse_constraint("not(t.n > 5 and t.m = 1)"))
