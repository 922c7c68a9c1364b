"""A check as other programs read it: JUnit XML and SARIF."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.junit import junit_text
from holdfast.report.sarif import sarif_text
from holdfast.rules.rule import Rule, allowance, parse_rule
from holdfast.violations.witness import Witness, WorstRow

BAD = 'a\x00<b> & "c"\ufffe'
WITNESS = Witness(1, {"zip": "10", "city": BAD}, 2, {"zip": "10", "city": None}, ("zip", "city"), ("city",))
OUTCOME = CheckOutcome(
    "my orders.csv",
    240,
    ("id",),
    1.5,
    (
        RuleOutcome(Rule(BAD, parse_rule("zip -> city").body), False, 3, 4, 1, 1, False, WITNESS, (WorstRow(2, 3),)),
        RuleOutcome(Rule("w", parse_rule("not(t.a > 5)").body, severity="warn"), False, None, 1, 1, None),
        RuleOutcome(Rule("a", parse_rule("unique(a)").body, allow=allowance(9)), True, 1, 2, 1, None),
        RuleOutcome(parse_rule("unique(b)"), True, 0, 0, 0, None),
    ),
)


def test_a_rule_is_a_test_case() -> None:
    root = ET.fromstring(junit_text(OUTCOME).encode())
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("time")) == ("4", "1", "1.500")
    first, warned, allowed, holding = suite
    (failure,) = first
    assert (failure.tag, failure.get("type")) == ("failure", "violated")
    assert failure.get("message") == "3 pairs, 4 rows, 1 suspect, 1 group"
    assert first.get("name") == 'a\ufffd<b> & "c"\ufffd'
    assert "id 1: zip = 10, city = a\\x00<b>" in (failure.text or "")
    assert "worst rows: 2 (3 pairs)" in (failure.text or "")
    assert [one.tag for one in (*warned, *allowed)] == ["system-out", "system-out"]
    assert "(allowed: 9)" in (allowed[0].text or "")
    assert len(holding) == 0
    assert ET.fromstring(junit_text(replace(OUTCOME, fail_on="warn")).encode())[0].get("failures") == "2"


def test_a_broken_rule_is_a_result() -> None:
    found = json.loads(sarif_text(OUTCOME))
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert [rule["id"] for rule in rules] == [BAD, "w", "a", "unique-b"]
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == ["error", "warning", "error", "error"]
    assert [(one["ruleIndex"], one["level"]) for one in results] == [(0, "error"), (1, "warning"), (2, "note")]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20orders.csv"
    assert "3 pairs, 4 rows" in results[0]["message"]["text"]
    assert len({one["partialFingerprints"]["rule/v1"] for one in results}) == 3
    assert json.loads(sarif_text(replace(OUTCOME, fail_on="warn")))["runs"][0]["results"][1]["level"] == "error"
