"""The reference says of the papers' tables what the papers say."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast import reference
from holdfast.rules.dependency import is_symmetric
from holdfast.rules.relation import EQ, GT, LT
from holdfast.rules.rule import Rule, allowance, parse_rule, rule_set

DATA = Path(__file__).parents[1] / "golden/data"
GOLDEN = yaml.safe_load((DATA / "expected.yaml").read_text(encoding="utf-8"))


def number_or_text(text: str) -> Any:
    try:
        return Decimal(text)
    except ArithmeticError:
        return text


def golden_rows(*names: str) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        with (DATA / name).open(encoding="utf-8", newline="") as file:
            rows += [{k: number_or_text(v) for k, v in row.items()} for row in csv.DictReader(file)]
    return rows


def rule_text(entry: Mapping[str, Any]) -> str:
    return next(entry[form] for form in ("fd", "cfd", "dc") if form in entry)


def checked(rows: Sequence[Mapping[str, Any]], rule: str | Rule, **options: Any) -> reference.RuleResult:
    options.setdefault("key", ("id",))
    (result,) = reference.check(rows, rule_set([rule], **options))
    return result


def both_ways(result: reference.RuleResult) -> set[tuple[Any, Any]]:
    """The pairs as the papers list them: of a symmetric rule in both orders."""
    pairs = list(result.pairs or ())
    return {*pairs, *((b, a) for a, b in pairs)} if is_symmetric(result.rule.body) else set(pairs)


def divided(result: reference.RuleResult) -> list[list[list[Any]]]:
    """The groups as the papers list them: per group, the keys of each value."""
    by_group: dict[Any, list[list[Any]]] = {}
    for group in result.groups or ():
        by_group.setdefault((group.left, group.column), []).append(list(group.keys))
    return sorted(sorted(sides) for sides in by_group.values())


def assert_as_listed(result: reference.RuleResult, entry: Mapping[str, Any]) -> None:
    if "tuples" in entry:
        assert sorted(result.conflicts) == sorted(entry["tuples"])
    if "pairs" in entry:
        wanted = {tuple(pair) for pair in entry["pairs"]}
        assert both_ways(result) == wanted
        assert len(result.pairs or ()) == (len(wanted) // 2 if is_symmetric(result.rule.body) else len(wanted))
    if "groups" in entry:
        assert divided(result) == sorted(sorted(sides) for sides in entry["groups"])
        assert result.violating_groups == len(entry["groups"])


CASES = [(table, entry) for table in ("salary.csv", "elevation.csv", "emp.csv") for entry in GOLDEN[table]["rules"]]


@pytest.mark.parametrize(("table", "entry"), CASES, ids=[f"{table} {rule_text(entry)}" for table, entry in CASES])
def test_the_papers_violations_are_found(table: str, entry: Mapping[str, Any]) -> None:
    assert_as_listed(checked(golden_rows(table), rule_text(entry)), entry)


def test_the_parts_of_the_salary_rule_have_the_papers_answers() -> None:
    normal = GOLDEN["salary.csv"]["normal_form"]
    for text, answer in zip(normal["splits_into"], normal["answers"], strict=True):
        assert_as_listed(checked(golden_rows("salary.csv"), text), answer)


@pytest.mark.parametrize("entry", GOLDEN["packages.csv"]["rules"], ids=lambda entry: entry["name"])
def test_packages_before_and_after_the_insert_and_the_delete(entry: Mapping[str, Any]) -> None:
    before = golden_rows("packages.csv")
    after = golden_rows("packages.csv", GOLDEN["packages.csv"]["insert"])
    key = (GOLDEN["packages.csv"]["key"],)
    assert_as_listed(checked(before, rule_text(entry), key=key), {"pairs": entry["before"]})
    assert_as_listed(checked(after, rule_text(entry), key=key), {"pairs": entry["after_insert"]})
    if "after_delete" in entry:
        left = [row for row in after if row[key[0]] not in GOLDEN["packages.csv"]["delete"]]
        assert_as_listed(checked(left, rule_text(entry), key=key), {"pairs": entry["after_delete"]})


@pytest.mark.parametrize("entry", GOLDEN["tax_r1.csv"]["rules"], ids=lambda entry: entry["name"])
def test_taxes_before_and_after_the_insert(entry: Mapping[str, Any]) -> None:
    assert_as_listed(checked(golden_rows("tax_r1.csv"), rule_text(entry)), {"pairs": entry["before"]})
    after = golden_rows("tax_r1.csv", GOLDEN["tax_r1.csv"]["insert"])
    assert_as_listed(checked(after, rule_text(entry)), {"pairs": entry["after"]})


def test_the_changes_of_the_emp_table_have_the_papers_answers() -> None:
    rows = golden_rows("emp.csv")
    rules = {entry["name"]: rule_text(entry) for entry in GOLDEN["emp.csv"]["rules"]}
    for change in GOLDEN["emp.csv"]["changes"]:
        before = set(checked(rows, rules[change["rule"]]).conflicts)
        if "insert" in change:
            rows += golden_rows(change["insert"])
        else:
            rows = [row for row in rows if row["id"] not in change["delete"]]
        after = set(checked(rows, rules[change["rule"]]).conflicts)
        assert (after - before, before - after) == (set(change["added"]), set(change["removed"]))


# The definitions -----------------------------------------------------------------------------------------------


def table(*values: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [{"id": i, **dict(zip("ABC", row, strict=False))} for i, row in enumerate(values)]


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (1, 2, LT),
        (1, 1.0, EQ),
        (2**53 + 1, float(2**53), GT),
        (0.1, Decimal("0.1"), GT),
        (-0.0, 0.0, EQ),
        (math.nan, math.nan, EQ),
        (math.nan, math.inf, GT),
        (math.inf, math.nan, LT),
        ("Z", "a", LT),
        ("\ue000", "\U0001f40c", LT),  # by UTF-8 bytes, not by UTF-16 units
        ((1, "b"), (1, "a"), GT),
    ],
)
def test_values_are_in_one_relation(a: Any, b: Any, wanted: int) -> None:
    assert reference.relation(a, b) == wanted


@pytest.mark.parametrize(
    ("operator", "two_nulls", "null_and_value"),
    [("=", True, False), ("!=", False, True), ("<", False, False), ("<=", True, False), (">=", True, False)],
)
def test_nulls_compare_as_the_mode_says(operator: str, two_nulls: bool, null_and_value: bool) -> None:
    rule = f"not(t.A {operator} s.A)"
    for rows, wanted in ((table((None,), (None,)), two_nulls), (table((None,), (1,)), null_and_value)):
        assert not checked(rows, rule).pairs
        assert bool(checked(rows, rule, nulls="equal").pairs) is wanted


def test_not_in_is_not_satisfied_by_null_unless_nulls_are_values() -> None:
    rows = table((None,), (1,), (3,))
    assert set(checked(rows, "not(t.A not in (1, 2))").conflicts) == {2}
    assert set(checked(rows, "not(t.A not in (1, 2))", nulls="equal").conflicts) == {0, 2}
    assert set(checked(rows, "not(t.A is null)").conflicts) == {0}


def test_of_a_duplicated_key_all_but_one_row_are_suspect() -> None:
    result = checked(table((1,), (1,), (1,), (2,)), "unique(A)")
    assert result.pairs == ((0, 1), (0, 2), (1, 2))
    assert result.suspects == {1, 2}
    assert result.conflicts == {0: 2, 1: 2, 2: 2}
    assert (result.groups, result.violating_groups) == (None, None)


def test_one_typo_in_a_group_is_one_suspect() -> None:
    rows = table(*[(1, "x")] * 4, (1, "y"), (2, "z"))
    result = checked(rows, "A -> B")
    assert result.suspects == {4}
    assert len(result.pairs or ()) == 4
    assert result.violating_groups == 1
    assert [(g.value, g.rows, g.keys) for g in result.groups or ()] == [("x", 4, (0, 1, 2, 3)), ("y", 1, (4,))]


def test_pairs_of_several_right_columns_are_the_union_and_groups_are_per_column() -> None:
    result = checked(table((1, 1, 1), (1, 2, 2), (1, 1, 2)), "A -> B, C")
    assert result.pairs == ((0, 1), (0, 2), (1, 2))
    assert result.violating_groups == 2
    assert {group.column for group in result.groups or ()} == {"B", "C"}


def test_the_cover_takes_the_row_in_most_pairs_and_on_a_tie_the_largest_key() -> None:
    assert checked(table((5,), (1,), (2,), (3,)), "not(t.A > 4 and s.A <= 4)").suspects == {0}
    assert checked(table((1,), (2,)), "not(t.A < s.A)").suspects == {1}


def test_allow_goes_by_suspects() -> None:
    rows = table(*[(1, "x")] * 9, (1, "y"))
    for allow, holds in (("0", False), ("1", True), ("9%", False), ("10%", True)):
        assert checked(rows, Rule("r", parse_rule("A -> B").body, allow=allowance(allow))).holds is holds


def test_a_key_that_repeats_or_is_null_names_no_row() -> None:
    for first in (1, None):
        assert checked([{"id": first, "A": 1}, {"id": 1, "A": 1}], "unique(A)").pairs == ((0, 1),)


def test_a_condition_says_which_rows_a_rule_speaks_of() -> None:
    rows = table((1, 1), (1, 2), (1, 3))
    rules = rule_set([parse_rule("A -> B", name="r")], key=("id",))
    (result,) = reference.check(rows, rules, where={"r": lambda row: row["B"] < 3})
    assert result.pairs == ((0, 1),)


def test_no_rows_and_one_row_hold_every_two_row_rule() -> None:
    for rows in (table(), table((1, 2))):
        assert checked(rows, "not(t.A = s.A)").holds
        assert checked(rows, "A -> B").pairs == ()
