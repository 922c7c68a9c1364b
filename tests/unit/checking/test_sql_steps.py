"""Plans as data: what they say, and what they must not do."""

from __future__ import annotations

from dataclasses import replace

from holdfast.checking.plan_text import plan_text
from holdfast.checking.sql_steps import Grouping, sql_steps
from holdfast.encode.column_type import column_type
from holdfast.programs.bind import Schema
from holdfast.programs.plan import Plan, make_plan
from holdfast.programs.program import is_symmetric
from holdfast.programs.sql_forms import LISTED
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import Rule, parse_rule, rule_set

SCHEMA = Schema("people.csv", {name: column_type("bigint") for name in ("id", "a", "b", "c")})
WIDE = Schema("people.csv", {name: column_type("bigint") for name in ("id", "a", "b", "c", "d")})


def _names(plan: Plan, grouping: Grouping) -> tuple[str, ...]:
    return tuple(plan.programs.forms[form].column for form in grouping.left)


def test_a_symmetric_denial_of_a_rule_that_is_not_lists_both_orders() -> None:
    """Its pairs are ordered as those of the rule's other denials are."""
    plan = make_plan(rule_set(["if t.a != s.a then t.b < s.b and t.c = s.c"]), SCHEMA, ("id",))
    assert not is_symmetric(plan.programs.programs[0])
    assert "t.k < s.k" not in (sql_steps(plan).rules[0].pairs or "")
    symmetric = make_plan(rule_set(["not(t.a != s.a and t.c != s.c)"]), SCHEMA, ("id",))
    assert "t.k < s.k" in (sql_steps(symmetric).rules[0].pairs or "")


def test_the_explained_plan_names_the_scan_each_step_and_the_rules_it_serves() -> None:
    rules = ["unique(a)", "a -> b", "not(t.a = s.a and t.b > s.b)", "not(t.c > 3)", "not(t.b > s.b and t.c < s.c)"]
    plan = make_plan(rule_set([parse_rule(rule, name=f"r{i}") for i, rule in enumerate(rules)]), SCHEMA, ("id",))
    assert plan_text(plan).splitlines() == [
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


def test_a_left_side_its_subsets_and_its_conditional_kin_share_one_grouping() -> None:
    rules = ["a, b -> c", "b, a -> d", "a -> d", "a = 1, b -> c", "unique(a, b)", "unique(a, c)", "c -> d"]
    plan = make_plan(rule_set([parse_rule(r, name=f"r{i}") for i, r in enumerate(rules)]), WIDE, ("id",))
    steps = sql_steps(plan)
    assert [(_names(plan, g), g.which) for g in steps.groupings] == [
        (("a", "b"), (0, 1, 2, 3, 4)),
        (("a", "c"), (5,)),
        (("c",), (6,)),
    ]
    for i in steps.groupings[0].which:
        assert "{g0}" in (steps.rules[i].summary or "")
        assert "{rows}" not in (steps.rules[i].summary or "")  # nothing is grouped twice
    # By the forms of a, b, c and d; and by whether a pattern of the fourth rule fits, which follows from a.
    assert steps.table_sql("g0") == ("SELECT f0, f1, f2, f3, b0, count(*) AS n FROM {rows} GROUP BY f0, f1, f2, f3, b0")
    told = plan_text(plan).splitlines()
    at = told.index("group rows by a, b")
    assert told[at + 1 : at + 6] == [
        "  r0: one value of c in each group",
        "  r1: one value of d in each group",
        "  r2: one value of d in each group of a",
        "  r3: one value of c in each group where a pattern fits",
        "  r4: no two in one group",
    ]


def test_a_key_takes_in_no_smaller_left_side() -> None:
    """It has as many groups as rows when it holds: adding those up is no less work than counting rows."""
    plan = make_plan(rule_set(["unique(a, b)", "a -> c"]), WIDE, ("id",))
    groupings = sql_steps(plan).groupings
    assert [(_names(plan, g), g.which) for g in groupings] == [(("a", "b"), (0,)), (("a",), (1,))]
    assert not any(g.shared for g in groupings)


def test_a_shared_grouping_keeps_the_conditions_of_its_rules_apart() -> None:
    rules = [parse_rule("a -> b", name="all"), replace(parse_rule("a -> c", name="some"), where="d > 1")]
    plan = make_plan(rule_set(rules), WIDE, ("id",))
    steps = sql_steps(plan)
    (grouping,) = steps.groupings
    assert (grouping.flags, plan.flags) == ((0,), ("(w0)",))
    assert " AND b0" in (steps.rules[1].summary or "")
    assert "b0" not in (steps.rules[0].summary or "")


def test_a_long_tableau_is_looked_up_and_a_short_one_is_listed() -> None:
    def tableau(size: int) -> Rule:
        lines = tuple(Pattern((Constant(str(v), raw=True), None), (None,)) for v in range(size))
        return Rule("r0", CFD(("a", "b"), ("c",), lines))

    short, long = (make_plan(rule_set([tableau(size)]), WIDE, ("id",)) for size in (LISTED, 3_000))
    assert short.lookups == ()
    (lookup,) = long.lookups
    assert (lookup.names, lookup.types, len(lookup.lines)) == (("a",), ("BIGINT",), 3_000)
    assert ("7",) in lookup.lines
    (steps,) = sql_steps(long).rules
    for text in (steps.summary, steps.conflicts, *long.forms, *long.flags):
        assert len(text or "") < 5_000
    assert "m0" in long.flags[0]
