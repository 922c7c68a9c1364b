"""Rules of one meaning share a fingerprint, and others do not."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import Denial
from holdfast.rules.fingerprint import rule_fingerprint
from holdfast.rules.parse import parse_body
from holdfast.rules.rule import Rule, allowance, parse_rule
from strategies import DOMAINS, NAMES, bodies

TYPES = dict(zip(NAMES, sorted(DOMAINS), strict=False))


@given(bodies(TYPES), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_writing_a_rule_otherwise_leaves_its_fingerprint(body: object, random: object) -> None:
    rule = Rule("r", body)  # type: ignore[arg-type]
    told = rule_fingerprint(rule, "sql")
    assert (
        rule_fingerprint(Rule("other", parse_body(str(body)), "warn", allowance(3)), "sql") == told
        or rule.kind == "cfd"
    )
    assert rule_fingerprint(replace(rule, description="x", tags=("y",), message="z"), "sql") == told
    if len(rule.body.denials) == 1:
        (denial,) = rule.body.denials
        shuffled = list(denial.mirrored().predicates)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        assert rule_fingerprint(Rule("s", Denial(DenialConstraint(tuple(shuffled)))), "sql") == told


def test_what_a_rule_says_and_of_which_rows_counts() -> None:
    rule = parse_rule("a -> b")
    others = [
        replace(rule, where="c > 1"),
        replace(rule, table="orders"),
        parse_rule("b -> a"),
        parse_rule("a, c -> b"),
        parse_rule("not(t.a = s.a and t.b < s.b)"),
    ]
    told = [rule_fingerprint(one, "sql") for one in (rule, *others)] + [rule_fingerprint(rule, "equal")]
    assert len(set(told)) == len(told)
    assert rule_fingerprint(replace(rule, where=" c  > 1"), "sql") == told[1]
    # The same in every version: what a table of metrics has must be found again.
    assert told[0] == "beababeb90c1a827"
