"""A row that comes or goes alone is asked of all indexes at once, and nothing else is told of it than in a batch."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.monitor.monitor import Monitor
from holdfast.monitor.tuning import MonitorTuning
from holdfast.states.violations_change import ViolationsChange

RULES = [
    "zip -> city",
    "unique(zip, phone)",
    "not(t.state = s.state and t.salary > s.salary and t.rate < s.rate)",
    "not(t.salary > s.salary and t.rate < s.rate and t.phone != s.phone)",
]


def _rows(many: int, seed: int) -> list[dict[str, Any]]:
    """Rows with many ties, and nulls."""
    rng = np.random.default_rng(seed)
    names = {"zip": 9, "city": 12, "phone": 20, "state": 3, "salary": 40, "rate": 40}
    columns = {name: rng.integers(0, most, many).tolist() for name, most in names.items()}
    rows = [{"id": at, **{name: columns[name][at] for name in names}} for at in range(many)]
    for at in rng.integers(0, many, many // 4).tolist():
        rows[at][list(names)[at % len(names)]] = None
    return rows


def _net(changes: list[ViolationsChange]) -> dict[str, set[Any]]:
    total = ViolationsChange()
    for change in changes:
        total = total.plus(change)
    return {name: set(listed) for name, listed in total.added.items()}


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("in_tail", [0, 3, 192])
def test_rows_one_by_one_are_told_as_one_batch(nulls: Any, in_tail: int) -> None:
    rows, tuning = _rows(300, 1), MonitorTuning(most_in_tail=in_tail)
    alone = Monitor(RULES, key="id", nulls=nulls, tuning=tuning, access="runs")
    batch = Monitor(RULES, key="id", nulls=nulls, tuning=tuning, access="runs")
    for monitor in (alone, batch):
        monitor.insert(rows[:100])
    told = [alone.insert(row) for row in rows[100:]]
    at_once = batch.insert(rows[100:])
    assert _net(told) == {name: set(listed) for name, listed in at_once.added.items()}
    alone.assert_invariants()
    changed = [{**row, "city": 99, "rate": 41 - (row["rate"] or 0)} for row in rows[50:150]]
    told = [alone.update(row) for row in changed]
    at_once = batch.update(changed)
    assert _net(told) == {name: set(listed) for name, listed in at_once.added.items()}
    assert alone.totals == batch.totals
    alone.assert_invariants()
    for row in rows:
        alone.delete(row["id"])
    assert set(alone.totals.values()) == {0}
    alone.assert_invariants()


@pytest.mark.parametrize("limit", [None, 10])
def test_all_pairs_of_a_row_are_listed_of_each_rule_up_to_the_limit(limit: int | None) -> None:
    """More than a monitor has room for at first."""
    many = 1_500
    rules = ["zip -> city", "zip -> state", "not(t.zip = s.zip and t.salary > s.salary)"]
    monitor = Monitor(rules, key="id", limit=limit)
    monitor.insert([{"id": at, "zip": 1, "city": 1, "state": 1, "salary": 5} for at in range(many)])
    change = monitor.insert({"id": many, "zip": 1, "city": 2, "state": 2, "salary": 9})
    assert [rule.added_count for rule in change.rules.values()] == [many] * 3
    for rule in change.rules.values():
        listed = list(rule.added)
        assert len(set(listed)) == len(listed) == (limit or many)
        assert all(set(pair) > {many} for pair in listed)
    assert all(pair[0] == many for pair in list(change.rules.values())[2].added), "the richer row is the left one"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda monitor: pickle.loads(pickle.dumps(monitor))])
def test_a_copy_of_a_monitor_is_on_its_own(copied: Callable[[Monitor], Monitor]) -> None:
    """Neither sees the rows of the other, also when the first is gone."""
    rows = _rows(300, 2)
    monitor, wanted = Monitor(RULES, key="id"), Monitor(RULES, key="id")
    for each in (monitor, wanted):
        each.insert(rows[:200])
        each.insert(rows[200])
    other = copied(monitor)
    for row in rows[201:250]:
        monitor.insert(row)
    assert other.totals == wanted.totals
    monitor.assert_invariants()
    del monitor
    for row in rows[250:]:
        told, meant = other.insert(row), wanted.insert(row)
        assert {name: set(listed) for name, listed in told.added.items()} == {
            name: set(listed) for name, listed in meant.added.items()
        }
    other.assert_invariants()
