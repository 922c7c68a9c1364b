"""Denial constraints: canonical form, mirror, implication, triviality, each held against the slow meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ctypes import c_float
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import TrivialRuleError
from holdfast.reference import satisfied, violates
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.parse import parse_constraint as dc
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, NullTest, Predicate, comparison
from holdfast.rules.relation import ANY, EQ, GE, GT, LE, LT, NE, complement, mask_of, operator_of, swapped

MASKS = (EQ, NE, LT, LE, GT, GE)
COLUMNS = ("A", "B")
VALUES = (None, 0, 1, 2, 3)
OPERANDS = [Column(row, name) for row in ("t", "s") for name in COLUMNS]


# Relations -----------------------------------------------------------------------------------------------------


def test_an_operator_is_a_set_of_relations() -> None:
    assert mask_of("<=") & mask_of("!=") == mask_of("<")
    assert mask_of("<=") & mask_of(">=") == mask_of("=")
    assert mask_of("<") & mask_of(">") == 0


@pytest.mark.parametrize("mask", MASKS)
def test_swapping_and_complementing_twice_change_nothing(mask: int) -> None:
    assert swapped(swapped(mask)) == mask
    assert complement(complement(mask)) == mask
    assert mask | complement(mask) == ANY
    assert mask_of(operator_of(mask)) == mask


# Canonical form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("not(t.A <= s.A and t.A != s.A)", "not(t.A < s.A)"),
        ("not(t.A <= s.A and t.A >= s.A)", "not(t.A = s.A)"),
        ("not(t.A >= s.A and s.A != t.A)", "not(t.A > s.A)"),
        ("not(s.A >= t.A and t.A != s.A and t.B = s.B)", "not(t.A < s.A and t.B = s.B)"),
        ("not(t.A <= 3 and t.A != 3)", "not(t.A < 3)"),
        ("not(3 >= t.A and t.A >= 3)", "not(t.A = 3)"),
        ("not(t.A <= t.B and t.B != t.A)", "not(t.A < t.B)"),
        ("not(t.A in (1, 2, 3) and t.A in (2, 3, 4))", "not(t.A in (2, 3))"),
        ("not(t.A not in (1, 2) and t.A not in (2, 3))", "not(t.A not in (1, 2, 3))"),
        ("not(t.A is null and t.A is null)", "not(t.A is null)"),
        ("not(t.A = s.A and t.A = s.A)", "not(t.A = s.A)"),
        ("not(t.A = 1 and t.A = 1.0)", "not(t.A = 1)"),
    ],
)
def test_predicates_on_one_operand_pair_become_one(written: str, canonical: str) -> None:
    assert str(dc(written)) == canonical
    assert dc(written) == dc(canonical)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("not(t.A = s.A and t.B != s.B)", "not(s.B != t.B and s.A = t.A)"),
        ("not(t.A < t.B)", "not(t.B > t.A)"),
        ("not(t.A < s.B)", "not(s.B > t.A)"),
        ("not(s.A > 3)", "not(t.A > 3)"),
        ("not(t.A in ('x', 'y'))", "not(t.A in ('y', 'x'))"),
        ("not(t.A = 1.50)", "not(t.A = 1.5)"),
    ],
)
def test_order_and_the_way_round_do_not_matter(one: str, other: str) -> None:
    assert dc(one) == dc(other)
    assert hash(dc(one)) == hash(dc(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("not(t.A < s.A)", "not(t.A > s.A)"),
        ("not(t.A < s.A)", "not(t.A <= s.A)"),
        ("not(t.A = 1)", "not(t.A = '1')"),
        ("not(t.A = 1)", "not(t.A = true)"),
        ("not(t.A < t.B)", "not(t.A < s.B)"),
        ("not(t.A is null)", "not(t.A is not null)"),
        ("not(t.A in (1))", "not(t.A not in (1))"),
        ("not(t.A = s.A)", "not(t.A = s.A and t.B = s.B)"),
    ],
)
def test_what_says_something_else_is_not_equal(one: str, other: str) -> None:
    assert dc(one) != dc(other)


# Mirror and symmetry -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mirror"),
    [
        ("not(t.A < s.A)", "not(t.A > s.A)"),
        ("not(t.A = s.A and t.B <= s.C)", "not(t.A = s.A and t.C >= s.B)"),
        ("not(t.A = s.A and t.B = 3)", "not(t.A = s.A and s.B = 3)"),
        ("not(t.A = s.A and t.B is null)", "not(t.A = s.A and s.B is null)"),
        ("not(t.A = s.A and s.B in (1, 2))", "not(t.A = s.A and t.B in (1, 2))"),
        ("not(t.A = s.A and t.B < t.C)", "not(t.A = s.A and s.B < s.C)"),
        ("not(t.A > 3)", "not(t.A > 3)"),
    ],
)
def test_the_mirror_swaps_the_rows(text: str, mirror: str) -> None:
    assert dc(text).mirrored() == dc(mirror)


@pytest.mark.parametrize(
    ("text", "symmetric"),
    [
        ("not(t.A = s.A)", True),
        ("not(t.A = s.A and t.B != s.B)", True),
        ("not(t.A = s.B and t.B = s.A)", True),
        ("not(t.A <= s.B and s.A <= t.B)", True),
        ("not(t.A = 3 and s.A = 3 and t.B != s.B)", True),
        ("not(t.A is null and s.A is null and t.B = s.B)", True),
        ("not(t.A > 3)", True),
        ("not(t.A < s.A)", False),
        ("not(t.A = s.B)", False),
        ("not(t.A = 3 and t.B = s.B)", False),
        ("not(t.A = 3 and s.A = 4 and t.B = s.B)", False),
        ("not(t.A > s.A and t.B < s.B)", False),
    ],
)
def test_a_constraint_is_symmetric_when_it_is_its_mirror(text: str, symmetric: bool) -> None:
    assert dc(text).symmetric is symmetric


# Implication ---------------------------------------------------------------------------------------------------


def test_the_staff_rule_implies_what_the_paper_says() -> None:
    rule = dc("not(t.ID <= s.ID and t.Hired > s.Hired)")
    assert rule.implies(dc("not(t.ID < s.ID and t.Hired > s.Hired)"))
    assert rule.implies(dc("not(t.ID > s.ID and t.Hired < s.Hired)"))  # through its mirror
    assert not dc("not(t.ID < s.ID and t.Hired > s.Hired)").implies(rule)


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("not(t.A = s.A)", "not(t.A = s.A and t.B != s.B)"),
        ("not(t.A <= s.A)", "not(t.A < s.A and t.B = s.B)"),
        ("not(t.A != s.A)", "not(t.A > s.A)"),
        ("not(t.A <= 3)", "not(t.A = 3)"),
        ("not(t.A < t.B)", "not(t.B > t.A and t.C = 1)"),
        ("not(t.A in (1, 2))", "not(t.A in (1))"),
        ("not(t.A not in (1))", "not(t.A not in (1, 2))"),
        ("not(t.A is null)", "not(t.A is null and t.B = 1)"),
        ("not(t.A < s.B)", "not(s.A < t.B and t.C = s.C)"),
    ],
)
def test_a_constraint_implies_what_allows_less(general: str, special: str) -> None:
    assert dc(general).implies(dc(special))
    assert not dc(special).implies(dc(general))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("not(t.A = s.A)", "not(t.B = s.B)"),
        ("not(t.A < s.A)", "not(t.A = s.A)"),
        ("not(t.A = 3)", "not(t.A = 4)"),
        ("not(t.A in (1, 2))", "not(t.A in (2, 3))"),
        ("not(t.A = s.A and t.B = s.B)", "not(t.A = s.A and t.C = s.C)"),
    ],
)
def test_what_speaks_of_other_things_is_not_implied(one: str, other: str) -> None:
    assert not dc(one).implies(dc(other))
    assert not dc(other).implies(dc(one))


def test_a_one_row_rule_implies_it_of_either_row() -> None:
    assert dc("not(t.A = 3)").implies(dc("not(t.B = s.B and t.A = 3)"))
    assert dc("not(t.A = 3)").implies(dc("not(t.B = s.B and s.A = 3)"))


# Triviality ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "not(t.A < s.A and t.A > s.A)",
        "not(t.A = s.A and s.A != t.A)",
        "not(t.A < s.A and s.A < t.B and t.B < t.A)",
        "not(t.A <= s.A and s.A <= t.B and t.B < t.A)",
        "not(t.A = s.A and s.A = t.B and t.B != t.A)",
        "not(t.A <= s.B and s.B <= t.C and t.C <= t.A and t.A != t.C)",
        "not(t.A = s.B and s.B = t.C and t.C = s.D and t.A < s.D)",
        "not(t.A < s.A and s.A < t.B and t.B < s.B and s.B < t.A)",
        "not(t.A != t.A)",
        "not(t.A < t.A and t.B = s.B)",
        "not(t.A = 3 and t.A = 4)",
        "not(t.A > 3 and t.A < 3)",
        "not(t.A > 4 and t.A < s.A and s.A < 3)",
        "not(t.A = 'x' and s.A = 'y' and t.A = s.A)",
        "not(t.A >= 'b' and t.A < 'a')",
        "not(t.A < date '2024-01-01' and t.A > date '2024-12-31')",
        "not(t.A = true and t.A = false)",
        "not(t.A in (1, 2) and t.A in (3, 4))",
        "not(t.A in (1, 2) and t.A > 5)",
        "not(t.A in (1, 2) and t.A not in (1, 2, 3))",
        "not(t.A = 1 and t.A not in (1, 2))",
        "not(t.A is null and t.A is not null)",
        "not(t.A is null and t.A = 3)",
        "not(t.A is null and t.A <= 3)",
        "not(t.A is null and t.A in (1, 2))",
    ],
)
def test_a_contradiction_is_refused(text: str) -> None:
    with pytest.raises(TrivialRuleError, match="no table could violate it"):
        dc(text)


@pytest.mark.parametrize(
    "text",
    [
        "not(t.A < s.A and s.A < t.B and t.A < t.B)",
        "not(t.A <= s.A and s.A <= t.B and t.B <= t.A)",
        "not(t.A != s.A and s.A != t.B and t.B != t.A)",
        "not(t.A > 3 and t.A < 4)",
        "not(t.A >= 3 and t.A <= 3)",
        "not(t.A != 3 and t.A != 4)",
        "not(t.A = 1 and s.A = 2)",
        "not(t.A = t.A)",
        "not(t.A <= t.A and t.B = s.B)",
        "not(t.A is null and t.A != 3)",
        "not(t.A is null and s.A is not null)",
        "not(t.A is null and t.A not in (1, 2))",
        "not(t.A in (1, 2) and t.A != 1)",
        "not(t.A in (1, 2) and s.A in (3) and t.A < s.A)",
        # One float, one date, one midnight, one moment of UTC: what a constant is depends on the column's type.
        "not(t.A in (0.1) and t.A in (0.10000000001))",
        "not(t.A in (0.10000000001) and t.A = 0.1)",
        "not(t.A in ('2024-01-31') and t.A in ('2024-01-31 00:00:00'))",
        "not(t.A in (date '2024-01-31') and t.A in (timestamp '2024-01-31 00:00:00'))",
        "not(t.A = timestamp '2024-01-31 00:00:00' and t.A = timestamp '2024-01-31 00:00:00+00:00')",
    ],
)
def test_what_some_table_violates_is_accepted(text: str) -> None:
    assert dc(text).predicates


def test_the_reason_names_the_predicates_that_contradict_each_other() -> None:
    with pytest.raises(TrivialRuleError) as caught:
        dc("not(t.A < s.A and t.C = s.C and s.A < t.B and t.B < t.A)")
    for part in ("t.A < s.A", "t.B > s.A", "t.B < t.A"):
        assert part in caught.value.message.split("could violate it: ")[1]
    assert "t.C = s.C" not in caught.value.message.split("could violate it: ")[1]


# Laws ----------------------------------------------------------------------------------------------------------


def random_predicates(*, only_comparisons: bool = False) -> st.SearchStrategy[Predicate]:
    columns, masks = st.sampled_from(OPERANDS), st.sampled_from(MASKS)
    constants = st.sampled_from([1, 2]).map(Constant)
    compared = st.builds(comparison, columns, masks, st.one_of(columns, columns, constants))
    if only_comparisons:
        return compared
    return st.one_of(
        compared,
        compared,
        st.builds(NullTest, columns, st.booleans()),
        st.builds(Membership, columns, st.frozensets(constants, min_size=1), st.booleans()),
    )


def predicate_lists(*, only_comparisons: bool = False, most: int = 4) -> st.SearchStrategy[list[Predicate]]:
    return st.lists(random_predicates(only_comparisons=only_comparisons), min_size=1, max_size=most)


@st.composite
def constraints(draw: st.DrawFn) -> DenialConstraint:
    try:
        return denial(draw(predicate_lists()))
    except TrivialRuleError:
        return denial([comparison(Column("t", "A"), draw(st.sampled_from(MASKS)), Column("s", "A"))])


@st.composite
def weakened(draw: st.DrawFn, of: DenialConstraint) -> DenialConstraint:
    """A constraint that the given one implies, or so one would think: with more predicates, or its mirror."""
    extra = draw(st.lists(random_predicates(), max_size=2))
    start = of.mirrored() if draw(st.booleans()) else of
    try:
        return denial([*start.predicates, *extra])
    except TrivialRuleError:
        return start


ROWS = st.fixed_dictionaries({name: st.sampled_from(VALUES) for name in COLUMNS})
TABLES = st.lists(ROWS, min_size=1, max_size=4)
NULLS = st.sampled_from(["sql", "equal"])
Table = Sequence[Mapping[str, Any]]


def bad_pairs(constraint: DenialConstraint, table: Table, nulls: Any) -> set[tuple[int, int]]:
    """Pairs of positions that violate the constraint; a row that does alone, with every row beside it."""
    places = range(len(table))
    if not constraint.two_rows:
        alone = {i for i in places if violates(constraint, table[i], table[i], nulls)}
        return {(i, j) for i in places for j in places if i != j and i in alone} | {(i, i) for i in alone}
    return {(i, j) for i in places for j in places if i != j and violates(constraint, table[i], table[j], nulls)}


@given(constraints())
def test_the_mirror_of_the_mirror_is_the_constraint(constraint: DenialConstraint) -> None:
    assert constraint.mirrored().mirrored() == constraint
    assert constraint.symmetric == (constraint.mirrored() == constraint)


@given(constraints(), TABLES, NULLS)
def test_the_mirror_has_the_pairs_the_other_way_round(constraint: DenialConstraint, table: Table, nulls: str) -> None:
    assume(constraint.two_rows)
    assert bad_pairs(constraint.mirrored(), table, nulls) == {(j, i) for i, j in bad_pairs(constraint, table, nulls)}


@given(constraints())
def test_implication_is_reflexive_up_to_mirror(constraint: DenialConstraint) -> None:
    assert constraint.implies(constraint)
    assert constraint.implies(constraint.mirrored())


@given(st.data())
def test_implication_is_transitive(data: st.DataObject) -> None:
    a = data.draw(constraints())
    assume(a.two_rows)  # of one row: test_a_one_row_rule_implies_it_of_either_row
    b = data.draw(weakened(a))
    c = data.draw(weakened(b))
    if a.implies(b) and b.implies(c):
        assert a.implies(c)


@given(st.data())
def test_adding_predicates_gives_something_implied(data: st.DataObject) -> None:
    a = data.draw(constraints())
    assume(a.two_rows)
    assert a.implies(data.draw(weakened(a)))


@given(st.data(), TABLES, NULLS)
@settings(max_examples=300)
def test_what_violates_the_implied_violates_the_implying(data: st.DataObject, table: Table, nulls: str) -> None:
    a = data.draw(constraints())
    b = data.draw(st.one_of(weakened(a), constraints()))
    assume(a.implies(b))
    general, special = bad_pairs(a, table, nulls), bad_pairs(b, table, nulls)
    assert all((i, j) in general or (j, i) in general for i, j in special)


def all_satisfied(predicates: Iterable[Predicate], t: Mapping[str, Any], s: Mapping[str, Any], nulls: Any) -> bool:
    return all(satisfied(predicate, t, s, nulls) for predicate in predicates)


@given(predicate_lists(), ROWS, ROWS, NULLS)
@settings(max_examples=300)
def test_the_canonical_form_is_violated_by_the_same_pairs(
    predicates: list[Predicate], t: Mapping[str, Any], s: Mapping[str, Any], nulls: Any
) -> None:
    rows = {column.row for predicate in predicates for column in predicate.columns()}
    try:
        constraint = denial(predicates)
    except TrivialRuleError:
        return
    if len(rows) == 1:
        s = t
    assert violates(constraint, t, s, nulls) == all_satisfied(predicates, t, s, nulls)


@given(predicate_lists(most=5))
@example([NullTest(Column("t", "A"), True), comparison(Column("t", "A"), NE, Constant(1))])
@settings(max_examples=200, deadline=None)
def test_nothing_violates_what_is_refused(predicates: list[Predicate]) -> None:
    rows = {column.row for predicate in predicates for column in predicate.columns()}
    try:
        denial(predicates)
    except TrivialRuleError:
        every = [dict(zip(COLUMNS, values, strict=True)) for values in product(VALUES, repeat=len(COLUMNS))]
        pairs = ((t, s) for t in every for s in every) if len(rows) == 2 else ((t, t) for t in every)
        for t, s in pairs:
            assert not any(all_satisfied(predicates, t, s, nulls) for nulls in ("sql", "equal")), (t, s)


@given(predicate_lists(only_comparisons=True, most=3))
@example(
    [
        comparison(Column("t", "B"), LT, Column("t", "A")),
        comparison(Column("s", "A"), LT, Constant(1)),
        comparison(Column("s", "A"), GT, Column("t", "A")),
    ]
)
@settings(max_examples=100, deadline=None)
def test_some_pair_violates_what_is_accepted(predicates: list[Predicate]) -> None:
    """Complete for comparisons: three of them need at most three values between, below or above the constants."""
    rows = {column.row for predicate in predicates for column in predicate.columns()}
    try:
        denial(predicates)
    except TrivialRuleError:
        return
    used = sorted({column for predicate in predicates for column in predicate.columns()})
    values = (-3, -2, -1, 1, 1.25, 1.5, 1.75, 2, 3, 4, 5)
    assert len(rows) in (1, 2)
    for assignment in product(values, repeat=len(used)):
        given_values = dict(zip(used, assignment, strict=True))
        t, s = ({name: given_values.get(Column(row, name), 0) for name in COLUMNS} for row in ("t", "s"))
        if all_satisfied(predicates, t, s, "sql"):
            return
    pytest.fail("nothing violates it")


def test_two_numbers_that_are_one_double_do_not_contradict_each_other() -> None:
    row = {"A": float(2**53)}
    predicates = [Comparison(Column("t", "A"), EQ, Constant(2**53 + i)) for i in (0, 1)]
    assert all_satisfied(predicates, row, row, "sql")
    assert denial(predicates)


def test_two_numbers_that_are_one_float_do_not_contradict_each_other() -> None:
    column, tenth, near = Column("t", "F"), Constant(Decimal("0.1")), Constant(Decimal("0.10000000001"))
    predicates: list[Predicate] = [Membership(column, frozenset({near}), True), comparison(column, EQ, tenth)]
    assert c_float(0.10000000001).value == c_float(0.1).value
    assert denial(predicates).predicates


def test_lists_that_may_share_a_value_stay_two_lists() -> None:
    rule = "not(t.F in (0.1, 2) and t.F in (0.10000000001, 2))"
    half, tenth, two = np.float32(0.5), np.float32(0.1), np.float32(2)
    rows = pa.table({"id": [1, 2, 3], "F": pa.array([half, tenth, two], pa.float32())})
    result = holdfast.check(rows, rule, key="id", engine="local")
    assert [row["key"] for row in result.rows] == [2, 3]
    assert str(dc(rule)) == rule
