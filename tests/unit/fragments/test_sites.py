"""SplitTable files: what the YAML says is what is planned, and a bad file is told file, line and site."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, SitesError, SourceNotFoundError
from holdfast.fragments.condition_columns import condition_columns
from holdfast.fragments.parts import parts_of
from holdfast.fragments.shipment_plan import plan_shipments
from holdfast.fragments.sites import parse_sites, read_sites
from holdfast.rules.rule import rule_set

GOOD = """
key: id
sites:
  V2: {columns: [street, city, zip], data: v2.parquet}
  V3: {columns: [CC, AC], data: "jdbc:postgresql://h/db#t"}
rules: ["CC = 44, zip -> street"]
"""


def test_a_file_of_the_design_is_read(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text('key: id\nnulls: equal\nrules: ["grade -> salary"]\n')
    (tmp_path / "h1.csv").write_text("id,grade,salary\n")
    rows = "  H1: {where: \"grade = 'A'\", data: h1.csv}\n  H2: {where: \"grade = 'B'\"}\n"
    text = f"key: id\nsites:\n{rows}rules: rules.yaml\n"
    (tmp_path / "sites.yaml").write_text(text)
    sites = read_sites(tmp_path / "sites.yaml")
    assert sites.split == "horizontal"
    assert sites.sites[0].data == str(tmp_path / "h1.csv")  # beside the sites file, wherever the process runs
    assert sites.rules.nulls == "equal"
    assert parse_sites(sites.to_yaml()).rules == sites.rules.__class__(sites.rules.rules, ("id",), "equal", "sites")
    assert parse_sites(GOOD).split == "vertical"
    assert parse_sites(GOOD).sites[1].data == "jdbc:postgresql://h/db#t"


def test_sites_of_one_condition_hold_the_same_rows() -> None:
    text = """
key: [a, b]
sites:
  X: {where: "g = 1", columns: [c]}
  Y: {where: "g =  1", columns: [d, g]}
  Z: {where: "g = 2", columns: [c, d, g]}
rules: ["c -> d"]
"""
    sites = parse_sites(text)
    assert sites.split == "hybrid"
    assert [group.sites for group in sites.row_groups] == [(0, 1), (2,)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace("zip ->", "zap ->"), "names the column 'zap', which no site holds"),
        (GOOD.replace("key: id\n", ""), "'key' is missing"),
        (GOOD.replace("columns: [CC", "colums: [CC"), "line 5, site 'V3': there is no setting 'colums'"),
        (GOOD.replace("[street, city, zip]", "[street, street, zip]"), "names the column 'street' twice"),
        (GOOD.replace("V3:", "V2:"), "'V2' stands twice"),
        (GOOD.replace("  V3: {", '  V3: {where: "CC = 1", '), "'V2' holds all rows, but 'V3' only those where CC = 1"),
        (GOOD.replace("columns: [CC, AC], ", ""), "does not say which columns it holds"),
        (GOOD.replace('["CC = 44, zip -> street"]', "[]"), "there are no rules"),
        (GOOD.replace("CC = 44, zip -> street", "CC = 44, zip - street"), "line 6, rule 1"),
        (GOOD.replace("CC = 44, zip -> street", "unique(zip)"), "is no dependency"),
        ("[1, 2]", "names no sites"),
        ("key: id\nsites: {}\nrules: [a -> b]", "'sites' is empty"),
    ],
)
def test_what_is_wrong_is_named(text: str, told: str) -> None:
    with pytest.raises(HoldfastError) as problem:
        parse_sites(text)
    assert told in str(problem.value)


def test_a_missing_file_is_told() -> None:
    with pytest.raises(SourceNotFoundError, match="no sites file"):
        read_sites("/nowhere/sites.yaml")


@pytest.mark.parametrize(
    "rule", ["unique(a, b)", "not(t.a < s.a and t.b > s.b)", "not(t.a = s.a and t.b = 1 and s.c != t.c)"]
)
def test_rules_that_are_no_dependency_are_refused(rule: str) -> None:
    with pytest.raises(SitesError, match="no dependency"):
        parts_of(rule_set([rule]))


def test_denials_that_say_the_same_are_the_same_parts() -> None:
    written = ["a, b -> c", "a = 1, b -> c", "a = 1 -> c = 2"]
    denied = [
        "not(t.a = s.a and t.b = s.b and t.c != s.c)",
        "not(t.a = 1 and s.a = 1 and t.b = s.b and t.c != s.c)",
        "not(t.a = 1 and t.c != 2)",
    ]
    assert parts_of(rule_set(written)) == parts_of(rule_set(denied))


def test_a_where_needs_a_site_that_can_tell() -> None:
    text = GOOD.replace('["CC = 44, zip -> street"]', '[{rule: "zip -> street", where: "CC = 44 and city <> \'CC\'"}]')
    with pytest.raises(SitesError, match="no site holds all of"):
        plan_shipments(parse_sites(text))
    assert condition_columns("a = 'b' and `c d` is null or B > 1", ["a", "b", "c d", "B2"]) == ("a", "b", "c d")
