"""Plans as data: what they say, and what they must not do."""

from __future__ import annotations

from holdfast.detect.bind import Schema
from holdfast.detect.plan import make_plan
from holdfast.encode.column_type import column_type
from holdfast.rules.rule import parse_rule, rule_set

SCHEMA = Schema("people.csv", {name: column_type("bigint") for name in ("id", "a", "b", "c")})


def test_a_symmetric_denial_of_a_rule_that_is_not_lists_both_orders() -> None:
    """Its pairs are ordered as those of the rule's other denials are."""
    (step,) = make_plan(rule_set(["if t.a != s.a then t.b < s.b and t.c = s.c"]), SCHEMA, ("id",)).steps
    assert not step.symmetric
    assert "t.k < s.k" not in (step.pairs or "")
    (alone,) = make_plan(rule_set(["not(t.a != s.a and t.c != s.c)"]), SCHEMA, ("id",)).steps
    assert "t.k < s.k" in (alone.pairs or "")


def test_the_explained_plan_names_the_scan_each_step_and_the_rules_it_serves() -> None:
    rules = ["unique(a)", "a -> b", "not(t.a = s.a and t.b > s.b)", "not(t.c > 3)", "not(t.b > s.b and t.c < s.c)"]
    told = make_plan(
        rule_set([parse_rule(rule, name=f"r{i}") for i, rule in enumerate(rules)]), SCHEMA, ("id",)
    ).explain()
    assert told.splitlines() == [
        "scan people.csv once",
        "  columns: a, b, c",
        "  rows are named by id",
        "group rows by a",
        "  r0: no two in one group",
        "  r1: one value of b in each group",
        "compare rows that agree on a",
        "  r2: t.b > s.b",
        "filter rows",
        "  r3: t.c > 3",
        "compare all rows",
        "  r4: t.b > s.b and t.c < s.c",
    ]
