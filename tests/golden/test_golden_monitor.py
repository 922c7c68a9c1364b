"""The worked examples of incremental detection: the packages of the less-than tree, and a schedule of three rules."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import holdfast as hf
from holdfast.monitor.lt_tree import LessThanTree
from holdfast.monitor.schedule import schedule

DATA = Path(__file__).parent / "data"
ALL = yaml.safe_load((DATA / "expected.yaml").read_text())
EXPECTED = ALL["packages.csv"]


def rows(name: str) -> list[dict[str, Any]]:
    with (DATA / name).open(newline="") as lines:
        return [{k: int(v) if v.isdigit() else v for k, v in row.items()} for row in csv.DictReader(lines)]


def test_packages_come_and_go() -> None:
    rules = [hf.parse_rule(one["dc"], name=one["name"]) for one in EXPECTED["rules"]]
    monitor = hf.Monitor(rules, key='"package code"')

    def found(when: str) -> None:
        for one in EXPECTED["rules"]:
            pairs = [tuple(pair) for pair in one.get(when, one["before"])]
            if one["name"] == "phi2":  # symmetric: each pair once, the smaller key left
                pairs = [pair for pair in pairs if pair[0] < pair[1]]
            assert sorted(monitor.violations(one["name"])) == sorted(pairs)
            assert monitor.totals[one["name"]] == len(pairs)

    monitor.insert(rows("packages.csv"))
    found("before")
    change = monitor.insert(rows(EXPECTED["insert"])[0])
    assert change.added == {"phi3": [(0, 5)]}
    found("after_insert")
    change = monitor.delete(EXPECTED["delete"])
    assert change.removed == {"phi2": [(2, 4)]}
    found("after_delete")


def test_tax_records_come() -> None:
    case = ALL["tax_r1.csv"]
    rules = [hf.parse_rule(one["dc"], name=one["name"]) for one in case["rules"]]
    one_by_one, together = (hf.Monitor(rules, key=case["key"]) for _ in range(2))
    for monitor in (one_by_one, together):
        monitor.insert(rows("tax_r1.csv"))
        assert not any(monitor.totals.values())
    for row in rows(case["insert"]):
        one_by_one.insert(row)
    change = together.insert(rows(case["insert"]))
    for one in case["rules"]:
        wanted = sorted(tuple(pair) for pair in one["after"])
        assert sorted(change.added.get(one["name"], [])) == wanted
        for monitor in (one_by_one, together):
            assert sorted(monitor.violations(one["name"])) == wanted


def test_rows_smaller_than_a_value() -> None:
    tree = LessThanTree()
    everything = rows("packages.csv") + rows(EXPECTED["insert"])
    for row in everything:
        tree.add(row["postage"], row["package code"])
        tree.assert_invariants()
    wanted = EXPECTED["less_than_tree"]
    assert tree.values == wanted["values_after_insert"]
    assert list(tree.smaller(50)) == wanted["smaller_than_50"]
    assert list(tree.smaller(100)) == wanted["smaller_than_100"]
    at_once = LessThanTree.of(
        np.array([row["postage"] for row in everything]),
        np.array([row["package code"] for row in everything], np.int32),
    )
    assert list(at_once.smaller(100)) == wanted["smaller_than_100"]


def test_three_rules_share_the_start_of_the_first() -> None:
    wanted = EXPECTED["schedule"]
    order = sorted({predicate for predicates in wanted["rules"].values() for predicate in predicates})
    made = schedule(wanted["rules"], order)
    assert list(made.rules) == wanted["execution_order"]
    (shared,) = made.shared
    assert shared.rule == wanted["shared_prefix"]["rule"]
    assert list(shared.predicates) == wanted["shared_prefix"]["predicates"]
    assert (shared.benefit, shared.potential) == (
        wanted["shared_prefix"]["benefit"],
        wanted["shared_prefix"]["potential"],
    )
    (other,) = made.not_shared
    assert other.rule == wanted["not_shared"]["rule"]
    assert (other.benefit, other.potential) == (wanted["not_shared"]["benefit"], wanted["not_shared"]["potential"])
