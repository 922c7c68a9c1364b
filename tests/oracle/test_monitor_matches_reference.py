"""A monitor that rows come to and go from tells the changes that the reference finds, after every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from holdfast import reference
from holdfast.errors import ChangeError
from holdfast.monitor.monitor import Keep, Monitor
from holdfast.monitor.partners import AccessPath
from holdfast.monitor.tuning import DEFAULT_TUNING, MonitorTuning
from holdfast.programs.lower import calculated_columns
from holdfast.reference import TableRow
from holdfast.states.row_changes import CHANGE_TYPE
from holdfast.states.violations_change import ViolationsChange
from strategies import DOMAINS, RandomRules, RandomTable, rule_sets, tables

Violations = Mapping[str, frozenset[reference.Violation]]


class Watched(RuleBasedStateMachine):
    """A table, a monitor on it, and all its violations as the reference finds them."""

    tuning = DEFAULT_TUNING

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.table: RandomTable = data.draw(tables(max_rows=9))
        self.random: RandomRules = data.draw(rule_sets(self.table, size=3))
        self.domains = {
            name: [*data.draw(st.lists(st.sampled_from(DOMAINS[kind]), min_size=1, max_size=3)), None]
            for name, kind in self.table.types.items()
            if name != "id"
        }
        keep: Keep = data.draw(st.sampled_from(("counts", "pairs")))
        schema = self.table.types if data.draw(st.booleans()) or self.mixed else None
        access: AccessPath = data.draw(st.sampled_from(("runs", "bitmaps")))
        self.monitor = Monitor(self.random.rules, keep=keep, schema=schema, access=access, tuning=self.tuning)
        self.rows: list[TableRow] = []
        self.violations: Violations = {one.name: frozenset() for one in self.random.rules}
        self.sum = ViolationsChange()
        self.fresh = 0
        self.told(self.monitor.insert(list(self.table.rows)), [], list(self.table.rows))
        self.fresh = len(self.rows)

    @property
    def mixed(self) -> bool:
        """Whether types cannot be told from values: of decimals, Arrow would tell others at every batch, and what is
        calculated with must have values from the start."""
        decimals = any(kind.startswith("decimal") for kind in self.table.types.values())
        return decimals or bool(calculated_columns(self.random.rules))

    def told(self, change: ViolationsChange, deleted: list[Any], inserted: list[TableRow]) -> None:
        self.rows = reference.changed(self.rows, deleted, inserted, ("id",))
        now = reference.violations(self.rows, self.random.rules, where=self.random.conditions)
        for one in self.random.rules:
            before = self.violations[one.name]
            added, removed = now[one.name] - before, before - now[one.name]
            found = change.rules.get(one.name)
            assert frozenset(found.added if found else ()) == added
            assert frozenset(found.removed if found else ()) == removed
            assert (found.added_count if found else 0) == len(added)
            assert (found.removed_count if found else 0) == len(removed)
            two_rows = any(constraint.two_rows for constraint in one.body.denials)
            total = sum(right is not None for _, right in now[one.name]) if two_rows else len(now[one.name])
            assert change.totals[one.name] == self.monitor.totals[one.name] == total
        self.violations = now
        self.sum = self.sum.plus(change)

    def row(self, data: st.DataObject, key: int) -> TableRow:
        return {"id": key, **{name: data.draw(st.sampled_from(values)) for name, values in self.domains.items()}}

    def new_rows(self, data: st.DataObject, many: int) -> list[TableRow]:
        first, self.fresh = self.fresh, self.fresh + many
        return [self.row(data, 1000 - first - i) for i in range(many)]

    def some_keys(self, data: st.DataObject) -> list[int]:
        keys = sorted(row["id"] for row in self.rows)
        return data.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4, unique=True)) if keys else []

    @rule(data=st.data())
    def one_comes(self, data: st.DataObject) -> None:
        (row,) = rows = self.new_rows(data, 1)
        self.told(self.monitor.insert(row), [], rows)

    @rule(data=st.data(), many=st.integers(0, 6), as_arrow=st.booleans())
    def many_come(self, data: st.DataObject, many: int, as_arrow: bool) -> None:
        rows = self.new_rows(data, many)
        given: Any = rows
        if as_arrow and rows:
            given = pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})
        self.told(self.monitor.insert(given), [], rows)

    @rule(data=st.data())
    def some_go(self, data: st.DataObject) -> None:
        keys = self.some_keys(data)
        self.told(self.monitor.delete(keys[0] if len(keys) == 1 else keys), keys, [])

    @rule(data=st.data())
    def some_change(self, data: st.DataObject) -> None:
        rows = [self.row(data, key) for key in self.some_keys(data)]
        self.told(self.monitor.update(rows), [row["id"] for row in rows], rows)

    @rule(data=st.data())
    def a_batch(self, data: st.DataObject) -> None:
        """Several changes of one key, too; the net effect counts."""
        there = {row["id"]: row for row in self.rows}
        before = dict(there)
        keys = [*self.some_keys(data), *(row["id"] for row in self.new_rows(data, 2))]
        changes = []
        for _ in range(data.draw(st.integers(0, 6))):
            key = data.draw(st.sampled_from(keys))
            row = self.row(data, key)
            if key not in there:
                changes.append({**row, CHANGE_TYPE: data.draw(st.sampled_from(["insert", None]))})
                there[key] = row
            elif data.draw(st.booleans()):
                changes.append({**there.pop(key), CHANGE_TYPE: "delete"})
            else:
                if data.draw(st.booleans()):
                    changes.append({**there[key], CHANGE_TYPE: "update_preimage"})
                changes.append({**row, CHANGE_TYPE: "update_postimage"})
                there[key] = row
        gone = [key for key, row in before.items() if there.get(key) is not row]
        come = [row for key, row in there.items() if before.get(key) is not row]
        self.told(self.monitor.apply(changes), gone, come)

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def what_cannot_be_is_refused(self, data: st.DataObject) -> None:
        there = data.draw(st.sampled_from(sorted(row["id"] for row in self.rows)))
        new = self.new_rows(data, 1)
        for refused in (
            lambda: self.monitor.insert([*new, self.row(data, there)]),
            lambda: self.monitor.insert([*new, *new]),
            lambda: self.monitor.insert([{**new[0], "id": None}]),
            lambda: self.monitor.insert([{"id": new[0]["id"]}]),
            lambda: self.monitor.delete([there, 5_000]),
            lambda: self.monitor.delete([there, there]),
            lambda: self.monitor.update([self.row(data, there), *new]),
            lambda: self.monitor.apply([{**new[0], CHANGE_TYPE: "upsert"}]),
            lambda: self.monitor.apply([{**new[0], CHANGE_TYPE: "insert"}, {**new[0], CHANGE_TYPE: "update_preimage"}]),
            lambda: self.monitor.apply([{**self.row(data, there), CHANGE_TYPE: None}]),
        ):
            with pytest.raises(ChangeError):
                refused()
        assert len(self.monitor) == len(self.rows)

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        if not hasattr(self, "monitor"):
            return
        self.monitor.assert_invariants()
        for name, found in self.violations.items():
            assert frozenset(self.monitor.violations(name)) == found
            assert frozenset(self.sum.added.get(name, ())) == found, "all changes added up are what is there"
            assert not self.sum.removed.get(name)


@pytest.mark.parametrize("in_tail", [1, 192])
def test_monitor_matches_reference(in_tail: int) -> None:
    """Also with runs of two rows, which only large tables would have otherwise."""
    run_state_machine_as_test(
        type("Watched", (Watched,), {"tuning": MonitorTuning(most_in_tail=in_tail)}),
        settings=settings(
            max_examples=150, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
