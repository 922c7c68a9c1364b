"""Rule files that an organisation keeps: thresholds, messages, labels, variables, and files that include others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import OptionError, RuleFileError
from holdfast.rules.message import Placeholder, message_parts
from holdfast.rules.rule import Allowance, RuleSet, allowance
from holdfast.rules.rule_file import as_rule_set, data_of, parse_rules, read_rules


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        place = folder / f"{name.replace('__', '/')}.yaml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return folder / "main.yaml"


def refused(rules: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises((RuleFileError, OptionError)) as caught:
        as_rule_set(rules, **options)
    return caught.value.message, caught.value.hint or ""


def entry(settings: str) -> RuleSet:
    return parse_rules(f'rules: [{{rule: "a -> b", {settings}}}]')


def test_one_threshold_is_a_severity_with_an_allowance_and_two_are_kept() -> None:
    only_warn, only_error, both = entry("warn: 2"), entry("error: 1%"), entry("warn: 2, error: 10")
    assert (only_warn[0].severity, only_warn[0].allow, only_warn[0].warn) == ("warn", Allowance(2), None)
    assert (only_error[0].severity, only_error[0].allow, only_error[0].warn) == ("error", allowance("1%"), None)
    assert (both[0].severity, both[0].allow, both[0].warn) == ("error", Allowance(10), Allowance(2))
    assert [both[0].judged(count, 100) for count in (2, 3, 10, 11)] == [None, "warn", "warn", "error"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("warn: 3, error: 2", "warn is 3, which is more than error, 2"),
        ("warn: 3%, error: 2%", "warn is 3%, which is more than error, 2%"),
        ("warn: 1, severity: warn", "warn and error say what severity"),
        ("error: 1, allow: 1", "warn and error say what severity"),
        ("warn: 1, allow_pairs: 1", "warn and error say what severity"),
        ("warn: some", "'some' is not an allowance"),
        ("message: '{a'", "in the message '{a' a { stands alone"),
        ("message: 'a}'", "in the message 'a}' a } stands alone"),
        ("tags: [a, '']", "'tags' is empty"),
        ("ownr: me", "there is no setting 'ownr'"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(settings: str, words: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        entry(settings)
    assert words in caught.value.message
    assert "rules, line 1" in caught.value.message


def test_a_message_has_columns_in_braces() -> None:
    assert message_parts("{zip code}: {{x}}") == (Placeholder("zip code"), ": ", "{", "x", "}")
    with pytest.raises(RuleFileError, match="over two tables cannot name"):
        parse_rules('rules: [{rule: "not(a.x = b.y)", message: "{x}"}]')
    inclusion = parse_rules('rules: [{rule: "a(x) in b(y)", message: "{x} is not there"}]')
    assert inclusion[0].message == "{x} is not there"
    with pytest.raises(RuleFileError) as caught:
        parse_rules('rules: [{rule: "a(x) in b(y)", message: "{z} is not there"}]')
    assert caught.value.hint == "it may name x."


def test_variables_are_given_or_have_defaults(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main="variables: {day: 2026-01-01}\nrules:\n"
        "  - {rule: \"not(t.day > date '${day}')\", where: \"x = '${ x }'\"}\n",
    )
    assert str(read_rules(main, variables={"x": "1"})[0]) == "not(t.day > date '2026-01-01')"
    chosen = as_rule_set(main, variables={"x": 1, "day": "2026-11-16"})
    assert (str(chosen[0]), chosen[0].where) == ("not(t.day > date '2026-11-16')", "x = '1'")
    message, hint = refused(main)
    assert message == f"{main}, line 3: the variable 'x' has no value."
    assert "--var x=VALUE" in hint
    assert refused(main, variables={"x": "1", "dya": "2"}) == (
        "no rule uses the variable 'dya'.",
        "did you mean 'day'? Variables: day, x.",
    )
    assert refused(main, variables={"x": "1", "a b": "2"})[0] == "a variable cannot be called 'a b'."
    assert str(as_rule_set("not(t.a = '${x}')", variables={"x": "y"})[0]) == "not(t.a = 'y')"
    assert refused("not(t.a = '${x}')")[0] == "the variable 'x' has no value."
    assert refused(as_rule_set("a -> b"), variables={"x": "y"})[0] == "no rule uses the variable 'x'."
    # A value is text of a rule: it makes no lines, and no settings.
    assert refused(main, variables={"x": "1", "day": "' or"})[0].startswith(f"{main}, line 3, rule 1")


def test_a_file_includes_others_relative_to_itself(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main="include: [shared/keys.yaml, shared/dates.yaml]\nvariables: {day: b}\nrules: [unique(id), 'x -> y']\n",
        shared__keys="key: id\nnulls: equal\nrules: [unique(id)]\n",
        shared__dates="include: keys.yaml\nvariables: {day: a, z: c}\nrules: [{name: dates, rule: '${day} -> ${z}'}]\n",
    )
    rules = read_rules(main)
    assert [(rule.name, str(rule)) for rule in rules] == [
        ("unique-id", "unique(id)"),
        ("dates", "b -> c"),
        ("unique-id-2", "unique(id)"),
        ("x-y", "x -> y"),
    ]
    assert (rules.key, rules.nulls, rules.origin) == (("id",), "equal", str(main))


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    main = write(tmp_path, main="include: a.yaml\n", a="include: b/c.yaml\nrules: []\n", b__c="include: ../a.yaml\n")
    assert refused(main)[0].endswith("c.yaml, line 1: '../a.yaml' includes this file.")
    main = write(tmp_path, main="include: main.yaml\n")
    assert "'main.yaml' includes this file" in refused(main)[0]
    main = write(tmp_path, main="include: away.yaml\n")
    assert refused(main)[0] == f"{main}, line 1: there is no rule file '{tmp_path / 'away.yaml'}'."
    main = write(
        tmp_path, main="include: a.yaml\nrules: [{name: n, rule: a -> b}]\n", a="rules:\n - {name: n, rule: c -> d}\n"
    )
    assert f"the name 'n' is taken by the rule in {tmp_path / 'a.yaml'}, line 2" in refused(main)[0]
    main = write(tmp_path, main="include: a.yaml\nnulls: sql\nrules: []\n", a="nulls: equal\nrules: []\n")
    assert "nulls is 'equal', and" in refused(main)[0]
    with pytest.raises(RuleFileError, match="only a rule file has include"):
        parse_rules("include: a.yaml\nrules: []\n")


def test_tables_of_an_included_file_lie_where_that_file_says(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main="include: shop/tables.yaml\nrules: ['orders(c) in customers(id)']\n",
        shop__tables="tables: {orders: o.csv, customers: {data: 's3://x/c.csv', key: id}}\nrules: []\n",
    )
    rules = read_rules(main)
    assert [data_of(rules, table) for table in rules.tables] == [str(tmp_path / "shop" / "o.csv"), "s3://x/c.csv"]
    main = write(tmp_path, main="include: shop/tables.yaml\ntables: {orders: other.csv}\nrules: []\n")
    assert "another file says otherwise of the table 'orders'" in refused(main)[0]


def test_rules_are_chosen_by_their_tags() -> None:
    rules = parse_rules("rules: [{rule: a -> b, tags: daily}, {rule: b -> c, tags: [daily, pii]}, a -> c]")
    assert [len(rules.tagged(*tags)) for tags in (("daily",), ("pii",), ("daily", "pii"))] == [2, 1, 2]
    assert len(as_rule_set(rules, tags="pii")) == 1
    assert refused(rules, tags="dayly") == ("no rule has the tag 'dayly'.", "did you mean 'daily'? Tags: daily, pii.")
