"""Rules that say the same in other words share an entry."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import Denial
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Column, comparison
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE
from holdfast.rules.rule import Rule, parse_rule
from holdfast.search.entries import LOOKED_AT, Entries, Reason, entries_of
from holdfast.search.outcome import FoundRule
from holdfast.search.row_orders import RowOrder

COLUMNS = ("a", "b", "c")


def found(text: str, *, coverage: float = 1.0, **more: Any) -> FoundRule:
    rule = parse_rule(text)
    (constraint,) = rule.body.denials
    return FoundRule(rule, constraint, 0.5, coverage, **more)


def folded(*texts: str) -> tuple[list[list[str]], list[str]]:
    """The rules of each entry, and those that are variants."""
    entries = entries_of([found(text) for text in texts])
    return [[texts[i] for i in members] for members in entries], [
        text for text, variant in zip(texts, entries.variants, strict=True) if variant
    ]


def test_a_chain_through_a_third_column_is_a_variant_of_its_last_link() -> None:
    entries, variants = folded("zip -> city", "zip -> state", "city -> state")
    assert sorted(map(len, entries)) == [1, 2]
    assert variants == ["zip -> state"]


def test_a_rule_that_stands_later_may_say_more() -> None:
    texts = ("zip, price -> sku", "city, price -> sku", "state, price -> sku", "zip -> city", "city -> state")
    entries, variants = folded(*texts)
    assert entries[0] == list(texts[:3])
    assert variants == list(texts[:2])


def test_an_order_rule_says_what_the_dependency_says() -> None:
    entries, variants = folded("tier, n -> rate", "if t.tier = s.tier and t.n <= s.n then t.rate <= s.rate")
    assert len(entries) == 1
    assert variants == ["tier, n -> rate"]


def test_columns_that_determine_each_other_are_one_fact() -> None:
    texts = ("customer -> name", "name -> customer", "customer -> zip", "name -> zip", "zip -> city")
    entries, variants = folded(*texts)
    assert entries == [list(texts[:4]), ["zip -> city"]]
    assert variants == ["name -> zip"]


def test_right_sides_of_one_left_side_are_one_fact() -> None:
    entries, _ = folded("id, day -> room", "id, day -> price")
    assert len(entries) == 1


def test_facts_that_do_not_follow_stay_apart() -> None:
    texts = ("unique(a)", "b -> c", "d -> c", "not(t.b < s.b and t.c > s.c)", "not(t.a > t.b)")
    entries, variants = folded(*texts)
    assert [len(members) for members in entries].count(1) >= 4
    assert "d -> c" not in variants


@pytest.mark.parametrize("odd", [{"violating_pairs": 3}, {"suspect_rows": None, "violating_pairs": 1}])
def test_a_rule_that_something_breaks_neither_follows_nor_lets_others_follow(odd: dict[str, Any]) -> None:
    whole = [found("zip -> city"), found("city -> state"), found("zip -> state")]
    assert entries_of(whole).variants == (False, False, True)
    assert entries_of([found("zip -> city", **odd), *whole[1:]]).variants == (False, False, False)
    assert entries_of([*whole[:2], found("zip -> state", **odd)]).variants == (False, False, False)


def test_rules_with_constants_are_entries_of_their_own() -> None:
    entries, variants = folded("a -> b", "not(t.a = 1 and t.b = 2)", "not(t.a = 1 and t.b = 3)")
    assert len(entries) == 3
    assert variants == []


def test_no_rules_are_no_entries_and_those_far_down_are_not_looked_at() -> None:
    assert entries_of([]) == Entries((), ())
    many = [found(f"x{i} -> y") for i in range(LOOKED_AT)]
    entries = entries_of([*many, found("z -> w"), found("w -> v"), found("z -> v")])
    assert entries.variants == (False,) * (LOOKED_AT + 3)


@st.composite
def constraints(draw: st.DrawFn) -> DenialConstraint:
    names = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3, unique=True))
    masks = st.sampled_from([EQ, EQ, NE, LT, LE, GT, GE])
    return DenialConstraint(tuple(comparison(Column("t", n), draw(masks), Column("s", n)) for n in names))


ROWS = [dict(zip(COLUMNS, values, strict=True)) for values in product(range(3), repeat=len(COLUMNS))]


@settings(max_examples=150)
@given(st.lists(constraints(), min_size=2, max_size=6, unique=True))
def test_what_keeps_the_others_keeps_the_variants(drawn: list[DenialConstraint]) -> None:
    rules = [FoundRule(Rule(f"r{i}", Denial(own)), own, 0.5, 1.0) for i, own in enumerate(drawn)]
    entries = entries_of(rules)
    variants = [own for own, variant in zip(drawn, entries.variants, strict=True) if variant]
    others = [own for own in drawn if own not in variants]
    for t, s in product(ROWS, ROWS):
        if variants and not any(_breaks(own, t, s) for own in others):
            assert not any(_breaks(own, t, s) for own in variants), (t, s)


def _breaks(constraint: DenialConstraint, t: dict[str, Any], s: dict[str, Any]) -> bool:
    return reference.violates(constraint, t, s, "sql") or reference.violates(constraint, s, t, "sql")


def test_a_constraint_that_another_implies_is_its_variant() -> None:
    strong, weak = parse_constraint("not(t.a <= s.a)"), parse_constraint("not(t.a < s.a and t.b = s.b)")
    rules = [FoundRule(Rule(name, Denial(own)), own, 0.5, 1.0) for name, own in (("w", weak), ("s", strong))]
    assert entries_of(rules) == Entries((1, 1), (True, False))


def test_each_rule_has_a_head_that_is_no_variant() -> None:
    entries = entries_of([found(text) for text in ("zip -> state", "zip -> city", "city -> state")])
    assert entries.variants == (True, False, False)
    assert [entries.head(place) for place in range(3)] == [2, 1, 2]


def test_a_dependency_is_not_folded_under_denials_that_say_it_together() -> None:
    denials = [
        found("not(t.a = s.a and t.b != s.b and t.c != s.c)"),
        found("not(t.a = s.a and t.b != s.b and t.c = s.c)"),
    ]
    assert entries_of([*denials, found("a -> b")]).variants == (True, True, False)
    assert entries_of([found("a -> c"), found("c -> b"), found("a -> b")]).variants == (False, False, True)


def test_a_rule_that_is_believed_is_not_folded_under_probable_accidents() -> None:
    chain, said = ("zip -> city", "city -> state"), found("zip -> state", accident=0.0)
    sure, likely = ([found(text, accident=accident) for text in chain] for accident in (0.01, 0.9))
    assert entries_of([*sure, said]).variants == (False, False, True)
    assert entries_of([*likely, said]).variants == (False, False, False)
    assert entries_of([*likely, found("zip -> state", accident=0.9)]).variants == (False, False, True)


def test_entries_that_are_likely_accidents_stand_last() -> None:
    entries = entries_of([found("unique(a)", accident=0.8), found("b -> c", accident=0.0), found("unique(d)")])
    assert list(entries) == [[1], [2], [0]]


def test_a_rule_is_not_folded_under_one_that_few_pairs_test() -> None:
    # Most values of `left` are null, so that the order rule says next to nothing of most rows.
    order = "if t.id <= s.id then t.left > s.left"
    few = entries_of([found("unique(id)"), found(order, coverage=0.03)])
    assert (list(few), few.variants) == ([[0], [1]], (False, False))
    many = entries_of([found("unique(id)"), found(order, coverage=0.9)])
    assert many.variants == (True, False)


def test_a_variant_stands_under_the_rule_that_concludes_it_and_nothing_else() -> None:
    texts = ("if t.x < s.x then t.y >= s.y", "z, y -> x", "z, w -> y", "z, w -> x")
    entries, variants = folded(*texts)
    assert variants == ["z, w -> x"]
    assert next(members for members in entries if "z, w -> x" in members)[0] == "z, y -> x"


def test_rules_that_follow_from_what_each_row_keeps_are_one_entry() -> None:
    texts = (
        "not(t.High < s.High and t.Close >= s.High)",
        "not(t.Close <= s.Close and t.Close > s.High)",
        "not(t.Low > s.High and t.Close < s.High)",
        "not(t.Close <= s.Low and t.Low > s.High)",
        "not(t.Close < s.Low and t.High > s.High)",
    )
    orders = (RowOrder("High", "Close", GE), RowOrder("Low", "Close", LE))
    entries = entries_of([found(text) for text in texts], orders)
    assert [list(members) for members in entries] == [[0, 1, 3], [2], [4]]
    assert entries.variants == (False, True, False, True, False)
    assert entries.reasons == {
        0: Reason((), orders[:1]), 1: Reason((), orders[:1]), 2: Reason((), orders[1:]), 3: Reason((), orders)
    }  # fmt: skip


def test_a_column_that_equals_another_in_each_row_has_no_entry_of_its_own() -> None:
    rules = [found(text) for text in ("unique(ident)", "unique(gps)", "not(t.gps = s.ident)")]
    assert entries_of(rules).numbers == (1, 2, 3)
    entries = entries_of(rules, (RowOrder("ident", "gps", EQ),))
    assert entries.numbers == (1, 1, 1)
    assert entries.reasons[1] == Reason((0,), (RowOrder("ident", "gps", EQ),))


def test_a_rule_on_single_rows_that_is_shown_takes_the_place_of_what_each_row_keeps() -> None:
    rules = [found(text) for text in ("not(t.High < s.High and t.Close >= s.High)", "not(t.Close > t.High)")]
    entries = entries_of(rules, (RowOrder("Close", "High", LE),))
    assert entries == Entries((1, 1), (True, False))
    assert entries.reasons == {0: Reason((1,), ())}


def test_what_a_variant_follows_from_has_nothing_to_spare() -> None:
    entries = entries_of([found(text) for text in ("unique(id)", "zip -> city", "city -> state", "zip -> state")])
    assert entries.reasons == {3: Reason((1, 2), ())}


FEW = ("a", "b")
STANDS = st.sampled_from([EQ, NE, LT, LE, GT, GE])


@st.composite
def across(draw: st.DrawFn) -> DenialConstraint:
    operands = draw(
        st.lists(st.tuples(st.sampled_from(FEW), st.sampled_from(FEW)), min_size=1, max_size=3, unique=True)
    )
    return DenialConstraint(tuple(comparison(Column("t", a), draw(STANDS), Column("s", b)) for a, b in operands))


@settings(max_examples=150)
@given(st.lists(across(), min_size=1, max_size=4, unique=True), st.lists(STANDS, max_size=1))
def test_exactly_what_follows_from_each_row_is_folded_under_it(drawn: list[DenialConstraint], kept: list[int]) -> None:
    rules = [FoundRule(Rule(f"r{i}", Denial(own)), own, 0.5, 1.0) for i, own in enumerate(drawn)]
    orders = tuple(RowOrder("a", "b", allowed) for allowed in kept)
    entries = entries_of(rules, orders)
    every = [dict(zip(FEW, values, strict=True)) for values in product(range(4), repeat=2)]
    rows = [row for row in every if not any(reference.violates(order.constraint, row, row, "sql") for order in orders)]
    others = [own for own, variant in zip(drawn, entries.variants, strict=True) if not variant]
    for place, own in enumerate(drawn):
        broken = [(t, s) for t in rows for s in rows if _breaks(own, t, s)]
        if orders:
            reason = entries.reasons.get(place)
            assert (reason == Reason((), orders)) == (not broken)
        if entries.variants[place]:
            assert all(any(_breaks(other, t, s) for other in others) for t, s in broken)
