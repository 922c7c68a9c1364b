"""JUnit XML and SARIF are what their schemas say, whatever the table, its rules and its values are called."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.checking.outcome import CheckOutcome, RuleOutcome, TableSummary
from holdfast.report.junit import junit_text
from holdfast.report.openlineage import openlineage_text
from holdfast.report.sarif import sarif_text
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import Rule, allowance, parse_rule
from holdfast.violations.witness import Witness, WorstRow
from valid_formats import wrong_in_junit, wrong_in_openlineage, wrong_in_sarif

# Names of files and columns may hold nearly anything, also halves of characters.
ODD = ['"', "<b>", "a&b", "]]>", "{0}", "[x](1)", "%41", "c:\\d", "//h/t", "#", "?", " ", "\x1b[1m", "🐘", "a\nb"]
NASTY = st.one_of(
    st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=12),
    st.sampled_from(ODD),
    st.text(st.characters(categories=["Cs", "Cc", "Co", "Cn"]), min_size=1, max_size=4),
)
VALUES = st.one_of(NASTY, st.none(), st.floats(), st.integers(), st.binary(max_size=5), st.dates(), st.decimals())


def _can_be_a_name(text: str) -> bool:
    """Whether a rule can name a column so; half of a surrogate pair is in no rule, but may be in a value."""
    return bool(text.strip()) and not any("\ud800" <= character <= "\udfff" for character in text)


@st.composite
def outcomes(draw: st.DrawFn) -> CheckOutcome:
    """Rules of each kind and verdict, in an outcome whose every name and value is drawn."""
    columns = draw(st.lists(NASTY.filter(_can_be_a_name), min_size=2, max_size=2, unique=True))
    a, b = (quoted_name(column) for column in columns)
    texts = [f"unique({a})", f"{a} -> {b}", f"not(t.{a} > s.{a} and t.{b} < s.{b})", f"not(t.{a} is null)"]
    rules = []
    for name in draw(st.lists(NASTY, max_size=5, unique=True)):
        body = parse_rule(draw(st.sampled_from(texts))).body
        severity, description = draw(st.sampled_from(["error", "warn"])), draw(st.none() | NASTY)
        where, allow = draw(st.none() | NASTY), allowance(draw(st.sampled_from(["0", "3", "1%"])))
        rule = Rule(name, body, severity=severity, where=where, allow=allow, description=description)  # type: ignore[arg-type]
        rows, holds, pairs = draw(st.integers(0, 3)), draw(st.booleans()), draw(st.integers(0, 9))
        left, right = ({column: draw(VALUES) for column in columns} for _ in "ts")
        witness = Witness(draw(VALUES), left, draw(VALUES), right, tuple(columns), (columns[1],))
        if body.kind == "row":
            witness = replace(witness, right_key=None, right=None)
        worst = tuple(WorstRow(draw(VALUES), n) for n in range(3, 1, -1)) if draw(st.booleans()) else ()
        counts = (None if body.kind == "row" else pairs, rows, draw(st.none() | st.integers(0, 3)), None)
        new = draw(st.none() | st.integers(0, 2))
        found = RuleOutcome(rule, holds or not rows, *counts, False, witness if rows else None, worst, new)
        rules.append(found)
    key = tuple(draw(st.lists(NASTY, max_size=2)))
    fail_on = draw(st.sampled_from(["error", "warn"]))
    return CheckOutcome(draw(NASTY), 240, key, 1.5, tuple(rules), fail_on=fail_on)  # type: ignore[arg-type]


HALF = CheckOutcome("caf\udce9.csv", 2, (), 0.1, (RuleOutcome(parse_rule("a -> b", name="\ud800"), False, 1, 2, 1, 1),))


@settings(max_examples=60)
@given(outcomes())
@example(CheckOutcome("t", 0, (), 0.0, ()))
@example(HALF)
def test_sarif_is_valid(outcome: CheckOutcome) -> None:
    text = sarif_text(outcome)
    text.encode()  # what cannot be written is not in it
    assert wrong_in_sarif(text) == []
    (run,) = json.loads(text)["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(ids)) == len(outcome.rules)
    assert [result["ruleId"] for result in run["results"]] == [ids[result["ruleIndex"]] for result in run["results"]]


@settings(max_examples=60)
@given(outcomes())
@example(CheckOutcome("t", 0, (), 0.0, ()))
@example(HALF)
def test_junit_is_valid(outcome: CheckOutcome) -> None:
    text = junit_text(outcome)
    text.encode()
    assert wrong_in_junit(text) == []
    (suite,) = ET.fromstring(text.encode())
    failed = [found for found in outcome.rules if not found.holds and outcome.counts(found)]
    assert len(suite) == int(suite.get("tests", "")) == len(outcome.rules)
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures", "")) == len(failed)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('"2.1.0"', '"2.2.0"'),
        ('"level": "error"', '"level": "fatal"'),
        ('"uri": "my%20orders.csv"', '"uri": "my orders.csv"'),
        ('"startLine": 1', '"startLine": 0'),
        ('"ruleIndex": 0', '"ruleIndex": "0"'),
    ],
)
def test_what_is_wrong_in_sarif_is_seen(good: str, bad: str) -> None:
    outcome = replace(HALF, table="my orders.csv")
    assert good in sarif_text(outcome)
    assert wrong_in_sarif(sarif_text(outcome).replace(good, bad)) != []


@pytest.mark.parametrize(("good", "bad"), [(" tests=", " cases="), ("failure", "fault"), ("testcase", "case")])
def test_what_is_wrong_in_junit_is_seen(good: str, bad: str) -> None:
    assert good in junit_text(HALF)
    assert wrong_in_junit(junit_text(HALF).replace(good, bad)) != []


@settings(max_examples=60)
@given(outcomes())
def test_openlineage_is_what_its_schemas_say(outcome: CheckOutcome) -> None:
    text = openlineage_text(outcome, namespace="shop")
    assert wrong_in_openlineage(text) == []
    (table,) = json.loads(text)["inputs"]
    assertions = table["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [assertion["success"] for assertion in assertions] == [result.holds for result in outcome.rules]
    assert {a["column"] for a in assertions if a["assertion"] == "not_null"} <= {
        column for result in outcome.rules for column in result.rule.body.columns
    }


def test_what_is_no_event_is_seen() -> None:
    event = json.loads(openlineage_text(CheckOutcome("t", 1, (), 0.1, ())))
    for broken in (
        {name: value for name, value in event.items() if name != "run"},
        {**event, "inputs": [{"namespace": "x"}]},
        {
            **event,
            "inputs": [{"namespace": "x", "name": "t", "inputFacets": {"dataQualityAssertions": {"assertions": 3}}}],
        },
    ):
        assert wrong_in_openlineage(json.dumps(broken)) != []


def test_a_rule_over_two_tables_is_asserted_of_the_first() -> None:
    rule = Rule("r", parse_rule("orders(customer) in customers(id)").body)
    tables = (TableSummary("customers", 2, ("id",)), TableSummary("orders", 3, ("id",)))
    outcome = CheckOutcome("shop", 5, (), 0.1, (RuleOutcome(rule, False, None, 1, 1, 1),), tables=tables)
    text = openlineage_text(outcome)
    assert wrong_in_openlineage(text) == []
    customers, orders = json.loads(text)["inputs"]
    assert customers["inputFacets"]["dataQualityAssertions"]["assertions"] == []
    (assertion,) = orders["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (assertion["assertion"], assertion["column"], assertion["actual"]) == ("relationships", "customer", "1")
