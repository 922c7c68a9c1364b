"""A linter says what is wrong with rules, and nothing of rules that are well."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast import reference
from holdfast.errors import OptionError, SourceNotFoundError
from holdfast.linting.implied import MOST_TOGETHER, denials_of, implied_rules
from holdfast.linting.lint import _about_one_operand, _contradiction
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.relation import ANY, EQ, GT, LT
from holdfast.rules.rule import Allowance, Rule, RuleSet, parse_rule
from holdfast.search.consequences import Denied, both_ways, on_columns, slots_of
from strategies import RandomTable, bodies, tables

COLUMNS = pa.table({"id": [1], "zip": ["02139"], "city": ["a"], "n": [3], "note": pa.array([None], pa.null())})


def findings(
    folder: Path, *rules: str, head: str = "", data: pa.Table | None = None
) -> list[tuple[str, int | None, str]]:
    file = folder / "rules.yaml"
    file.write_text(f"{head}rules:\n" + "".join(f"  - {rule}\n" for rule in rules), encoding="utf-8")
    return [(found.check, found.line, found.message) for found in hf.lint(file, data).findings]


def checks(folder: Path, *rules: str, data: pa.Table | None = None) -> list[tuple[str, int | None]]:
    return [(check, line) for check, line, _ in findings(folder, *rules, data=data)]


def test_of_rules_that_are_well_nothing_is_said(tmp_path: Path) -> None:
    well = ("zip -> city", "unique(id)", '"not(t.n > 5)"', '"not(t.n < 3)"', '"not(t.note > 3)"')
    assert checks(tmp_path, *well) == []
    assert checks(tmp_path, *well, data=COLUMNS) == []


def test_each_rule_that_cannot_be_read_is_named_with_its_line_and_the_character(tmp_path: Path) -> None:
    (first, second) = findings(tmp_path, '"not(t.x > )"', "zip -> city", '"not(t.A < s.A and t.A > s.A)"')
    assert first[:2] == ("rule", 2)
    assert first[2].endswith("\n\n  not(t.x > )\n            ^")
    assert second[:2] == ("rule", 4)
    assert "no table could violate it" in second[2]
    assert checks(tmp_path, "{rule: a -> b, sverity: warn}") == [("file", 2)]
    assert checks(tmp_path, "{rule: a -> b, name: x}", "{rule: b -> c, name: x}") == [("name", 3)]
    with pytest.raises(SourceNotFoundError):
        hf.lint(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (["a -> b", '"not(s.a = t.a and t.b != s.b)"'], [("duplicate", 3)]),
        (["a -> b", "{rule: a -> b, where: c > 1}"], [("implied", 3)]),
        (["a -> b", '"a, c -> b"'], [("implied", 3)]),
        (["a -> b", "b -> c", "a -> c"], [("implied", 4)]),
        (['"a, c -> b"', "a -> b"], [("implied", 2)]),
        (["{rule: a -> b, allow: 1}", '"a, c -> b"'], []),
        (["{rule: a -> b, severity: warn}", '"a, c -> b"'], []),
        (["{rule: a -> b, where: c > 1}", '"a, c -> b"'], []),
        (['"not(t.n > 5)"', '"not(t.n <= 5)"'], [("contradiction", 3)]),
        (['"not(t.n < 7)"', '"not(t.n > 5)"'], [("contradiction", 3)]),
        (['"not(t.n != 7)"', '"not(t.n = 7)"'], [("contradiction", 3)]),
        (['"not(t.n < 5)"', '"not(t.n > 5)"'], []),
        (['"not(t.n is null)"', '"not(t.n is not null)"'], [("contradiction", 3)]),
        (['"not(t.n > 5)"', "{rule: not(t.n <= 5), where: x = 1}"], []),
        (["\"not(t.c = 'ab' and t.c matches '[0-9]')\""], [("pattern", 2)]),
        (["\"not(t.c = 'a' and t.c matches '[a-z]')\""], []),
    ],
)
def test_what_is_said_twice_follows_or_leaves_nothing_is_told(
    tmp_path: Path, rules: list[str], found: list[tuple[str, int]]
) -> None:
    assert checks(tmp_path, *rules) == found


def test_a_pattern_that_no_text_matches_is_told(tmp_path: Path) -> None:
    everything = "\\0-\\U0010FFFF"
    assert checks(tmp_path, f"\"not(t.c not matches 'a[^{everything}]')\"") == [("pattern", 2)]


def test_rules_are_compared_with_the_columns_of_a_table(tmp_path: Path) -> None:
    found = findings(
        tmp_path, "zip -> ctiy", "\"not(t.n = 'ab')\"", "zip -> city", "{rule: n -> id, message: '{zp}'}", data=COLUMNS
    )
    assert [(check, line) for check, line, _ in found] == [("column", 2), ("type", 3), ("column", 5)]
    assert "compares 'ctiy'" in found[0][2]
    assert "compares t.n (integer) with 'ab' (text)" in found[1][2]
    (tmp_path / "rules.yaml").write_text("rules: ['orders(c) in customers(id)', 'not(orders.x > 1)']", encoding="utf-8")
    two = {"orders": pa.table({"c": [1]}), "customers": pa.table({"id": ["a"]})}
    assert [found.check for found in hf.lint(tmp_path / "rules.yaml", two).findings] == ["type", "column"]
    with pytest.raises(OptionError):
        hf.lint(tmp_path / "rules.yaml", "spark:db.table")


@st.composite
def implications(draw: st.DrawFn) -> tuple[RandomTable, list[Rule]]:
    table = draw(tables(max_columns=3))
    types = {name: kind for name, kind in table.types.items() if name != "id"}
    return table, [Rule(f"r{i}", draw(bodies(types))) for i in range(4)]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(implications(), st.sampled_from(["sql", "equal"]))
def test_a_rule_that_is_said_to_follow_holds_where_the_others_do(
    case: tuple[RandomTable, list[Rule]], nulls: str
) -> None:
    table, rules = case
    without = [row for row in table.rows if None not in row.values()]
    for place, names in implied_rules(rules, nulls):  # type: ignore[arg-type]
        used = RuleSet((rules[place], *(other for other in rules if other.name in names)), ("id",), nulls)  # type: ignore[arg-type]
        first, *given_rules = reference.check(table.rows if len(names) == 1 else without, used)
        if not any(found.conflicts for found in given_rules):
            assert not first.conflicts


def slowly_implied(rules: list[Rule], nulls: str) -> list[tuple[int, list[str]]]:
    """As `implied_rules`, where each rule is compared with each other one."""
    found, left = [], list(range(len(rules)))
    for several in (False, True):
        for place in reversed(range(len(rules))):
            others = [
                other
                for at in left
                if at != place
                and (other := rules[at]).where in (None, rules[place].where)
                and (other.allow, other.allow_pairs, other.warn) == (Allowance(), None, None)
                and (other.severity == "error" or rules[place].severity == "warn")
            ]
            wanted = denials_of(rules[place])
            if several:
                together = others[:MOST_TOGETHER]
                kept = list(together) if follow(wanted, together) else []
                for other in list(kept):
                    rest = [one for one in kept if one is not other]
                    kept = rest if follow(wanted, rest) else kept
            else:
                covering = (other for other in others if covers_all(other, wanted, nulls))
                kept = [other for other in [next(covering, None)] if other is not None]
            if place in left and kept:
                left.remove(place)
                found.append((place, [other.name for other in kept]))
    return found


def follow(wanted: tuple[DenialConstraint, ...], others: list[Rule]) -> bool:
    given = [denial for other in others for denial in denials_of(other)]
    ways = [way for other in given if on_columns(other) for way in both_ways(other)]
    return all(on_columns(denial) and _broken_with(slots_of(denial.predicates), ways) for denial in wanted)


def _broken_with(own: Denied, ways: list[Denied]) -> bool:
    single = [[relation for relation in (LT, EQ, GT) if allowed & relation] for allowed in own.values()]
    equal, _ = _closed({slot: EQ for slot, allowed in own.items() if allowed == EQ}, ways)
    for chosen in product(*single):
        known = {slot: equal.get(slot, ANY) & relation for slot, relation in zip(own, chosen, strict=True)}
        if all(known.values()) and _closed({**equal, **known}, ways)[1]:
            return False
    return True


def _closed(relations: Denied, ways: list[Denied]) -> tuple[dict[Any, int], bool]:
    known, grown = dict(relations), True
    while grown:
        grown = False
        for denied in ways:
            unmet = [slot for slot, allowed in denied.items() if known.get(slot, ANY) & ~allowed]
            if not unmet:
                return known, False
            possible = known.get(unmet[0], ANY)
            if len(unmet) == 1 and possible & denied[unmet[0]]:
                known[unmet[0]] = possible & ~denied[unmet[0]]
                grown = True
    return known, True


def covers_all(other: Rule, wanted: tuple[DenialConstraint, ...], nulls: str) -> bool:
    own = denials_of(other)
    return all(any(one.covers(denial, nulls_equal=nulls == "equal") for one in own) for denial in wanted)


@st.composite
def many_rules(draw: st.DrawFn) -> list[Rule]:
    types = {name: kind for name, kind in draw(tables(max_columns=3)).types.items() if name != "id"}
    terms: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {
            "where": st.sampled_from([None, None, "A > 1"]),
            "severity": st.sampled_from(["error", "error", "warn"]),
            "allow": st.sampled_from([Allowance(), Allowance(), Allowance(1)]),
        }
    )
    return [Rule(f"r{i}", draw(bodies(types)), **draw(terms)) for i in range(draw(st.integers(2, 12)))]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(many_rules(), st.sampled_from(["sql", "equal"]))
def test_rules_follow_as_where_each_is_compared_with_each_other(rules: list[Rule], nulls: str) -> None:
    assert list(implied_rules(rules, nulls)) == slowly_implied(rules, nulls)  # type: ignore[arg-type]


OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["t.a is null", "t.a is not null", "t.a = t.b", "t.a != t.b"]),
            st.builds("t.{} {} {}".format, st.sampled_from("ab"), st.sampled_from(OPERATORS), st.integers(0, 2)),
        ),
        min_size=2,
        max_size=7,
        unique=True,
    )
)
def test_each_two_rules_that_leave_no_value_are_told(predicates: list[str]) -> None:
    rules = [parse_rule(f"not({predicate})") for predicate in predicates]
    pairs = [(i, j) for i, j in combinations(range(len(rules)), 2) if _contradiction(rules[i], rules[j])]
    looked_at = _about_one_operand(rules)
    assert [pair for pair in looked_at if pair in pairs] == pairs
