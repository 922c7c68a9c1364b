"""On tables with many runs, levels and heavy groups, a monitor counts what comparing all pairs counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.rules.predicate import Column, Comparison, Constant
from holdfast.rules.relation import EQ, GT, LT
from holdfast.rules.rule import rule_set

RULES = (
    "unique(state, salary)",
    "state -> child",
    "state -> child, kids",
    "not(t.state = s.state and t.salary > s.salary and t.rate < s.rate)",
    "not(t.salary > s.salary and t.rate <= s.rate)",
    "not(t.salary >= s.salary and t.rate != s.rate and t.child < s.child)",
    "not(t.salary > s.rate and t.child = s.kids and t.kids != s.child)",
    "if t.salary < s.salary then t.rate <= s.rate and t.child <= s.child",
    "not(t.state = 0 and s.state = 1 and t.salary < s.salary)",
)


def rows(many: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    salary = rng.integers(0, 3_000, many)
    return {
        "state": np.where(rng.random(many) < 0.6, 0, rng.integers(0, 5, many)),
        "salary": salary,
        "rate": np.where(rng.random(many) < 0.1, rng.integers(0, 300, many), salary // 10),
        "child": rng.integers(0, 3, many),
        "kids": rng.integers(0, 3, many),
    }


def counted(table: dict[str, np.ndarray], rules: Any) -> dict[str, int]:
    """By comparing every row with every other."""
    found = {}
    many = len(table["state"])
    for rule in rules:
        held = np.zeros((many, many), bool)
        for constraint in rule.body.denials:
            all_of = ~np.eye(many, dtype=bool)
            for predicate in constraint.predicates:
                assert isinstance(predicate, Comparison)
                sides = []
                for operand in predicate.operands:
                    if isinstance(operand, Column):
                        values = table[operand.name]
                        sides.append(values[:, None] if operand.row == "t" else values[None, :])
                    else:
                        assert isinstance(operand, Constant)
                        sides.append(np.array([[operand.value]]))
                a, b = sides
                all_of &= (np.where(a < b, LT, np.where(a == b, EQ, GT)) & predicate.allowed) > 0
            held |= all_of
        symmetric = (held == held.T).all()
        found[rule.name] = int(held.sum()) // (2 if symmetric else 1)
    return found


@pytest.mark.parametrize("access", ["runs", "bitmaps", "auto"])
def test_counts_are_those_of_all_pairs_as_rows_come_and_go(access: Any) -> None:
    rules = rule_set(RULES)
    many = 1_800
    everything = rows(many, seed=3)
    monitor = hf.Monitor(rules, key="id", limit=50, access=access)
    there = np.zeros(many, bool)

    def batch(ids: np.ndarray, table: dict[str, np.ndarray]) -> pa.Table:
        return pa.table({"id": ids, **{name: values[ids] for name, values in table.items()}})

    def as_it_is() -> None:
        now = {name: values[there] for name, values in everything.items()}
        assert monitor.totals == counted(now, rules)
        monitor.assert_invariants()

    for low, high in ((0, 900), (900, 905), (905, 1_300), (1_300, 1_301)):
        ids = np.arange(low, high)
        change = monitor.insert(batch(ids, everything))
        there[ids] = True
        assert all(len(rule.added) == min(rule.added_count, 50) for rule in change.rules.values())
    as_it_is()
    gone = np.random.default_rng(4).choice(np.flatnonzero(there), 500, replace=False)
    monitor.delete(pa.array(gone))
    there[gone] = False
    as_it_is()
    fresh = rows(many, seed=5)
    changed = np.random.default_rng(6).choice(np.flatnonzero(there), 300, replace=False)
    before = monitor.totals
    change = monitor.update(batch(changed, fresh))
    for name, values in everything.items():
        values[changed] = fresh[name][changed]
    as_it_is()
    for name, rule in change.rules.items():
        assert before[name] + rule.added_count - rule.removed_count == monitor.totals[name]
    ids = np.arange(1_301, many)
    monitor.insert(batch(ids, everything))
    there[ids] = True
    as_it_is()


def test_first_rows_are_counted_as_later_ones_are() -> None:
    table = rows(2_500, seed=8)
    data = pa.table({"id": np.arange(2_500), **table})
    at_once, in_parts = (hf.Monitor(RULES, key="id", limit=None) for _ in range(2))
    first = at_once.insert(data)
    parts = [in_parts.insert(data.slice(at, 500)) for at in range(0, 2_500, 500)]
    assert at_once.totals == in_parts.totals
    for name, rule in first.rules.items():
        later = {pair for part in parts for pair in part.added.get(name, ())}
        assert set(rule.added) == later
        assert rule.added_count == len(later)
