"""Contracts of the Open Data Contract Standard: their rules in, ours out, and all else as it was."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import holdfast as hf
from holdfast.demo.run import bundled
from holdfast.errors import OptionError, RuleFileError
from holdfast.exchange.imported import ImportedRules
from holdfast.exchange.odcs import read_contract, written_contract
from holdfast.rules.rule import RuleSet
from holdfast.rules.rule_file import parse_rules
from valid_formats import FORMATS

CONTRACT = bundled("contract.yaml").decode()
RULES = parse_rules(bundled("rules.yaml").decode(), origin="rules.yaml")


@cache
def _validator() -> Any:
    schema = json.loads((FORMATS / "odcs-3.2.0.json").read_text("utf-8"))
    return jsonschema.Draft201909Validator(schema)


def wrong(text: str) -> list[str]:
    return [problem.message for problem in _validator().iter_errors(yaml.safe_load(text))]


def read(*properties: dict[str, Any], **table: Any) -> ImportedRules:
    orders = {"name": "orders", "properties": list(properties), **table}
    return read_contract({"kind": "DataContract", "apiVersion": "v3.1.0", "schema": [orders]}, origin="contract.yaml")


def said(found: ImportedRules) -> list[str]:
    return [str(rule) for rule in found.rules]


@pytest.mark.parametrize(
    ("settings", "rules"),
    [
        ({"required": True}, ["not(t.a is null)"]),
        ({"unique": True}, ["unique(a)"]),
        ({"primaryKey": True}, ["unique(a)", "not(t.a is null)"]),
        ({"enum": [{"value": "x"}, {"value": "y"}]}, ["not(t.a not in ('x', 'y'))"]),
        ({"logicalTypeOptions": {"pattern": "^[a-z]$"}}, ["not(t.a not matches '[a-z]')"]),
        ({"logicalTypeOptions": {"minLength": 1, "maxLength": 3}}, ["not(length(t.a) < 1)", "not(length(t.a) > 3)"]),
        ({"logicalTypeOptions": {"minimum": 1, "maximum": 3}}, ["not(t.a < 1)", "not(t.a > 3)"]),
        ({"logicalTypeOptions": {"exclusiveMinimum": 1, "exclusiveMaximum": 3}}, ["not(t.a <= 1)", "not(t.a >= 3)"]),
        ({"logicalTypeOptions": {"multipleOf": 5}}, ["not(t.a % 5 != 0)"]),
        ({"quality": [{"metric": "nullValues", "mustBe": 0}]}, ["not(t.a is null)"]),
        ({"quality": [{"metric": "duplicateValues", "mustBe": 0}]}, ["unique(a)"]),
        (
            {"quality": [{"metric": "missingValues", "arguments": {"missingValues": [None, "N/A"]}, "mustBe": 0}]},
            ["not(t.a is null)", "not(t.a in ('N/A'))"],
        ),
        (
            {"quality": [{"metric": "invalidValues", "arguments": {"validValues": ["x"]}, "mustBe": 0}]},
            ["not(t.a not in ('x'))"],
        ),
        (
            {"quality": [{"metric": "invalidValues", "arguments": {"pattern": "^x$"}, "mustBe": 0}]},
            ["not(t.a not matches 'x')"],
        ),
        ({"quality": [{"rule": "nullCheck"}]}, ["not(t.a is null)"]),
    ],
)
def test_what_a_property_asks_is_a_rule(settings: dict[str, Any], rules: list[str]) -> None:
    found = read({"name": "a", **settings})
    assert said(found) == [str(hf.parse_rule(text)) for text in rules]
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("bound", "allow"),
    [
        ({"mustBeLessOrEqualTo": 3}, "3"),
        ({"mustBeLessThan": 3}, "2"),
        ({"mustBeLessOrEqualTo": 2.5, "unit": "percent"}, "2.5%"),
        ({"mustBeBetween": [0, 7]}, "7"),
    ],
)
def test_a_bound_is_what_is_allowed(bound: dict[str, Any], allow: str) -> None:
    (rule,) = read(
        {"name": "a", "quality": [{"metric": "nullValues", "name": "few", "severity": "warning", **bound}]}
    ).rules
    assert (str(rule.allow), rule.name, rule.severity) == (allow, "few", "warn")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"logicalTypeOptions": {"format": "date"}}, "--types"),
        ({"logicalTypeOptions": {"pattern": "(?=x)"}}, "look-around"),
        ({"quality": [{"metric": "rowCount", "mustBeGreaterThan": 3}]}, "whole table"),
        ({"quality": [{"metric": "nullValues", "mustBeGreaterThan": 3}]}, "at most so many"),
        ({"quality": [{"metric": "nullValues"}]}, "no bound"),
        ({"quality": [{"type": "sql", "query": "select 1", "mustBe": 0}]}, "query"),
        ({"quality": [{"type": "text", "description": "good"}]}, "for people"),
        ({"quality": [{"type": "custom", "engine": "soda", "implementation": "x"}]}, "it is for soda"),
        ({"quality": [{"type": "custom", "engine": "holdfast", "implementation": {"rule": "a ->"}}]}, "expected"),
        ({"properties": [{"name": "b"}]}, "inside of a value"),
    ],
)
def test_what_cannot_be_said_is_told(settings: dict[str, Any], reason: str) -> None:
    found = read({"name": "a", **settings})
    assert found.rules == ()
    assert reason in found.left_out[0].reason


def test_keys_and_references_of_several_tables() -> None:
    orders = {
        "name": "orders",
        "properties": [
            {"name": "line", "primaryKey": True, "primaryKeyPosition": 2},
            {"name": "id", "primaryKey": True, "primaryKeyPosition": 1},
            {"name": "customer", "relationships": [{"to": "customers.id"}]},
        ],
        "relationships": [{"from": ["orders.a", "orders.b"], "to": ["places.c", "places.d"]}],
    }
    content = {"kind": "DataContract", "apiVersion": "v3.0.2", "schema": [orders, {"name": "customers"}]}
    found = read_contract(content, origin="x")
    assert said(found)[:2] == ["unique(id, line)", "orders(a, b) in places(c, d)"]
    assert said(found)[-1] == "orders(customer) in customers(id)"
    assert found.rules[0].table == "orders"
    assert [(table.name, table.key) for table in found.rule_set.tables] == [
        ("orders", ("id", "line")),
        ("customers", ()),
        ("places", ()),
    ]


def test_the_contract_of_the_demo_is_valid_and_read() -> None:
    assert wrong(CONTRACT) == []
    found = read_contract(yaml.safe_load(CONTRACT), origin="contract.yaml")
    assert (len(found.rules), found.left_out, found.rule_set.key) == (7, (), ("order_id",))


def test_rules_go_into_a_contract_and_come_back() -> None:
    written = written_contract(CONTRACT, RULES, origin="contract.yaml")
    assert wrong(written) == []
    own = [line for line in written.splitlines() if line in CONTRACT.splitlines()]
    assert [line for line in CONTRACT.splitlines() if line not in written.splitlines()] == []
    assert "# What the shop promises of its orders" in own
    assert "          - metric: nullValues      # a few orders come by telephone" in own
    back = {rule.name: rule for rule in read_contract(yaml.safe_load(written), origin="x").rules}
    assert [back[rule.name] for rule in RULES] == list(RULES)


def test_tags_and_dimensions_are_those_of_the_standard() -> None:
    text = "rules:\n- {name: r, rule: unique(zip), tags: [shop, eu], dimension: uniqueness, owner: ann}\n"
    text += "- {name: s, rule: unique(city), tags: [shop], dimension: uniqueness}\n"
    rules = parse_rules(text, origin="x")
    written = written_contract(CONTRACT, rules, origin="x")
    assert wrong(written) == []
    first, second = yaml.safe_load(written)["schema"][0]["quality"]
    assert (first["type"], first["tags"], first["dimension"]) == ("custom", ["shop", "eu"], "uniqueness")
    assert (second["type"], second["tags"], second["dimension"]) == ("library", ["shop"], "uniqueness")
    back = {rule.name: rule for rule in read_contract(yaml.safe_load(written), origin="x").rules}
    assert [back["r"], back["s"]] == list(rules)


def test_a_rule_that_is_there_is_replaced_and_others_stay() -> None:
    once = written_contract(CONTRACT, RULES, origin="x")
    assert written_contract(once, RULES, origin="x") == once
    fewer = RuleSet((hf.parse_rule("zip -> country", name="zip-place"),))
    changed = written_contract(once, fewer, origin="x")
    assert wrong(changed) == []
    back = {rule.name: str(rule) for rule in read_contract(yaml.safe_load(changed), origin="x").rules}
    assert back["zip-place"] == "zip -> country"
    assert back["ship-date"] == "not(t.shipped < t.ordered)"


def test_each_rule_goes_to_its_table(tmp_path: Path) -> None:
    text = CONTRACT.replace("support:", "  - name: customers\n    properties: []\nsupport:")
    rules = parse_rules(
        "tables: {orders: {}, customers: {}}\nrules:\n"
        "- {rule: unique(zip), table: customers}\n- orders(customer) in customers(id)",
        origin="x",
    )
    written = yaml.safe_load(written_contract(text, rules, origin="x"))
    assert [[entry["name"] for entry in table["quality"]] for table in written["schema"]] == [
        ["orders-customer-in-customers"],
        ["unique-zip"],
    ]
    with pytest.raises(OptionError, match="to which table rule 'unique-zip' belongs"):
        written_contract(text, RuleSet((hf.parse_rule("unique(zip)"),)), origin="x")
    with pytest.raises(OptionError, match="no table 'order'"):
        written_contract(text, RuleSet((hf.parse_rule("unique(zip)"),)), origin="x", table="order")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1", "is no contract"),
        ("[1", "is not YAML"),
        (CONTRACT.replace("v3.1.0", "v2.2.2"), "version v2.2.2"),
        ("kind: DataContract\napiVersion: v3.1.0\nschema: [{name: orders}]", "line by line"),
    ],
)
def test_other_files_are_refused(text: str, said: str) -> None:
    with pytest.raises(RuleFileError, match=said):
        written_contract(text, RULES, origin="contract.yaml")
