"""Keys, dependencies and implications: what they are called, and the denials they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings

from holdfast.errors import RuleSyntaxError, TrivialRuleError
from holdfast.rules.dependency import (
    CFD,
    FD,
    KINDS,
    Body,
    Key,
    Pattern,
    as_dependency,
    dependency_of,
    is_symmetric,
    kind_of,
)
from holdfast.rules.parse import parse_body, parse_constraint
from holdfast.rules.predicate import Constant
from strategies import DOMAINS, NAMES, bodies

GOLDEN = yaml.safe_load((Path(__file__).parents[2] / "golden/data/expected.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("unique(A)", "key"),
        ("unique(A, B)", "key"),
        ("not(t.A = s.A and t.B = s.B)", "key"),
        ("A -> B", "fd"),
        ("A, B -> C, D", "fd"),
        ("not(t.A = s.A and t.B != s.B)", "fd"),
        ("if t.A = s.A then t.B = s.B", "fd"),
        ("if t.A = s.A then t.B = s.B and t.C = s.C", "fd"),
        ("not(t.A != s.A)", "fd"),  # one value for the whole table
        ("A = 3 -> B", "cfd"),
        ("A = 3 -> B = 4", "cfd"),
        ("A -> B = 4", "cfd"),
        ("A = 3, B -> C = 4, D", "cfd"),
        ("not(t.A = 3 and s.A = 3 and t.B = s.B and t.C != s.C)", "cfd"),
        ("if t.A = 3 and s.A = 3 and t.B = s.B then t.C = s.C", "cfd"),
        ("not(t.A < s.A and t.B >= s.B)", "order"),
        ("not(t.A = s.A and t.B < s.B and t.C > s.C)", "order"),
        ("if t.A = s.A and t.B < s.B then t.C <= s.C", "order"),
        ("not(t.A < s.A)", "dc"),
        ("not(t.A < s.A and t.B < s.B and t.C < s.C)", "dc"),
        ("not(t.A < s.B and t.B >= s.A)", "dc"),  # not on single columns
        ("not(t.A = s.A and t.B != s.B and t.C != s.C)", "dc"),
        ("not(t.A < s.A and t.B != s.B)", "dc"),
        ("not(t.A = 3 and t.B = s.B and t.C != s.C)", "dc"),  # the constant on one row only
        ("not(t.A = 3 and s.A = 4 and t.B != s.B)", "dc"),
        ("not(t.A = s.A and t.B is null)", "dc"),
        ("not(t.A = s.A and t.B in (1, 2))", "dc"),
        ("if t.A = s.A then t.B = s.B and t.C <= s.C", "dc"),
        ("not(t.A > t.B)", "row"),
        ("not(t.A = 3)", "row"),
        ("not(t.A is null)", "row"),
        ("if t.A = 3 then t.B = 4", "row"),
        ("if s.A = 3 then s.B = 4", "row"),
    ],
)
def test_a_rule_is_called_what_it_is(text: str, kind: str) -> None:
    assert parse_body(text).kind == kind
    assert kind in KINDS


@pytest.mark.parametrize(
    ("text", "denials"),
    [
        ("unique(A, B)", ["not(t.A = s.A and t.B = s.B)"]),
        ("A, B -> C", ["not(t.A = s.A and t.B = s.B and t.C != s.C)"]),
        ("A -> B, C", ["not(t.A = s.A and t.B != s.B)", "not(t.A = s.A and t.C != s.C)"]),
        ("A = 1 -> B = 2", ["not(t.A = 1 and t.B != 2)"]),
        ("A = 1, B -> C", ["not(t.A = 1 and s.A = 1 and t.B = s.B and t.C != s.C)"]),
        ("A = 1 -> B", ["not(t.A = 1 and s.A = 1 and t.B != s.B)"]),
        (
            "A = 1, B -> C = 2, D",
            ["not(t.A = 1 and t.C != 2)", "not(t.A = 1 and s.A = 1 and t.B = s.B and t.D != s.D)"],
        ),
        ("if t.A = s.A then t.B != 3", ["not(t.A = s.A and t.B = 3)"]),
    ],
)
def test_a_rule_stands_for_its_denials(text: str, denials: list[str]) -> None:
    assert parse_body(text).denials == tuple(map(parse_constraint, denials))


@pytest.mark.parametrize(
    ("texts", "dependency"),
    [
        (["not(t.A = s.A)"], Key(("A",))),
        (["not(s.B = t.B and t.A = s.A)"], Key(("B", "A"))),
        (["not(t.A = s.A and t.B != s.B)"], FD(("A",), ("B",))),
        (["not(t.B != s.B and t.A = s.A)", "not(t.A = s.A and t.C != s.C)"], FD(("A",), ("B", "C"))),
        (["not(t.A != s.A)"], FD((), ("A",))),
        (
            ["not(t.A = 3 and s.A = 3 and t.B = s.B and t.C != s.C)"],
            CFD(("A", "B"), ("C",), (Pattern((Constant(3), None), (None,)),), inline=True),
        ),
        (["not(t.A = s.A and t.B != s.B)", "not(t.C = s.C and t.D != s.D)"], None),
        (["not(t.A = s.A)", "not(t.B = s.B)"], None),
        (["not(t.A = s.A)", "not(t.A = s.A and t.B != s.B)"], None),
        (["not(t.A < s.A and t.B != s.B)"], None),
        (["not(t.A = 3 and s.A = 3)"], None),
        (["not(t.A > 3)"], None),
        ([], None),
    ],
)
def test_the_dependency_of_denials_is_found_where_there_is_one(texts: list[str], dependency: Body | None) -> None:
    assert dependency_of([parse_constraint(text) for text in texts]) == dependency


@given(bodies(dict(zip(NAMES, sorted(DOMAINS), strict=False))))
@settings(max_examples=300, deadline=None)
def test_the_dependency_of_a_rule_has_its_denials(body: Body) -> None:
    dependency = as_dependency(body)
    if dependency is not None:
        assert set(dependency.denials) == set(body.denials)
    if isinstance(body, Key | FD):
        assert dependency_of(body.denials) == body
        assert kind_of(body.denials) == body.kind


def test_a_mixed_rule_of_the_salary_table_splits_as_the_paper_says() -> None:
    wanted = GOLDEN["salary.csv"]["normal_form"]
    body = parse_body(wanted["rule"])
    assert isinstance(body, CFD)
    parts = body.normal_form()
    assert [str(part) for part in parts] == wanted["splits_into"]
    assert tuple(constraint for part in parts for constraint in part.denials) == body.denials


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A = 1 -> B = 2", ["A = 1 -> B = 2"]),
        ("A = 1, B -> C", ["A = 1, B -> C"]),
        ("A = 1, B -> C, D", ["A = 1, B -> C, D"]),
        ("A = 1, B -> C = 2, D = 3, E", ["A = 1 -> C = 2", "A = 1 -> D = 3", "A = 1, B -> E"]),
    ],
)
def test_the_normal_form_has_constants_or_variables_alone_on_the_right(text: str, parts: list[str]) -> None:
    body = parse_body(text)
    assert isinstance(body, CFD)
    assert [str(part) for part in body.normal_form()] == parts


def test_the_normal_form_of_a_tableau_is_a_rule_per_line() -> None:
    one, two, edi = (Constant(value, raw=True) for value in ("1", "2", "EDI"))
    body = CFD(
        ("A", "B"), ("C",), (Pattern((one, None), (None,)), Pattern((one, two), (edi,)), Pattern((None, None), (None,)))
    )
    assert [str(part) for part in body.normal_form()] == ["A = 1, B -> C", "A = 1, B = 2 -> C = 'EDI'", "A, B -> C"]


def test_the_normal_form_of_a_tableau_says_at_least_what_the_tableau_says() -> None:
    """`_` matches no null under sql, which a left column that is left out cannot say; elsewhere both say the same."""
    one, edi = (Constant(value, raw=True) for value in ("1", "EDI"))
    body = CFD(("A", "B"), ("C",), (Pattern((one, None), (edi,)),))
    (whole,), (part,) = body.denials, body.normal_form()[0].denials
    assert part.implies(whole)
    assert not whole.implies(part)


@pytest.mark.parametrize(
    ("text", "symmetric"),
    [
        ("unique(A)", True),
        ("A -> B", True),
        ("A = 3, B -> C = 2, D", True),
        ("if t.A = s.B then t.B = s.A", False),
        ("not(t.A < s.A and t.B > s.B)", False),
        ("if t.A != s.A then t.B <= s.B and t.B >= s.B", True),  # each denial is the other's mirror
    ],
)
def test_a_rule_is_symmetric_when_its_denials_are_closed_under_mirror(text: str, symmetric: bool) -> None:
    assert is_symmetric(parse_body(text)) is symmetric


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Key(("A", "A")), RuleSyntaxError),
        (lambda: FD(("A", "A"), ("B",)), RuleSyntaxError),
        (lambda: FD(("A",), ("B", "B")), RuleSyntaxError),
        (lambda: FD(("A",), ("A",)), TrivialRuleError),
        (lambda: parse_body("A = 3, B -> A = 3"), TrivialRuleError),
        (lambda: parse_body("A = 3, B -> A"), TrivialRuleError),
    ],
)
def test_a_column_twice_is_refused(make: object, problem: type[Exception]) -> None:
    with pytest.raises(problem):
        make()  # type: ignore[operator]


def test_a_constant_may_stand_right_of_its_own_column() -> None:
    assert str(parse_body("A -> A = 3")) == "A -> A = 3"
    assert parse_body("A -> A = 3").denials == (parse_constraint("not(t.A != 3)"),)
