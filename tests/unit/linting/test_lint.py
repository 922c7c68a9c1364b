"""A linter says what is wrong with rules, and nothing of rules that are well."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast import reference
from holdfast.errors import OptionError, SourceNotFoundError
from holdfast.linting.lint import implied_by_one, implied_by_several
from holdfast.rules.rule import Rule, RuleSet
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
    table, (rule, *others) = case
    without = [row for row in table.rows if None not in row.values()]
    for implied, rows in ((implied_by_one, table.rows), (implied_by_several, without)):
        names = implied(rule, others, nulls)  # type: ignore[arg-type]
        used = RuleSet((rule, *(other for other in others if other.name in names)), ("id",), nulls)  # type: ignore[arg-type]
        first, *given_rules = reference.check(rows, used)
        if names and not any(found.conflicts for found in given_rules):
            assert not first.conflicts
