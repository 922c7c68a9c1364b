"""A monitor of two tables tells, of random histories, the changes that reference.py finds between before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ChangeError
from holdfast.monitor.monitor import Keep, Monitor
from holdfast.monitor.partners import AccessPath
from holdfast.monitor.tuning import MonitorTuning
from holdfast.programs.lower import calculated_columns
from holdfast.rules.joint_rules import joint_rules
from holdfast.states.row_changes import CHANGE_TYPE
from holdfast.states.violations_change import ViolationsChange
from oracle.test_check_matches_reference import slowly
from oracle.test_tables_watch_matches_reference import Event, History, after, histories, one_by_one, totals, violations
from several_tables import NAMES, arrow_of

Given = dict[str, list[Mapping[str, Any]]]


def as_changes(events: Sequence[Event]) -> Given:
    """The events as batches of changes by table."""
    by_table: Given = {}
    for name, kind, row in events:
        by_table.setdefault(name, []).append({**row, CHANGE_TYPE: kind})
    return by_table


def rows_of(history: History) -> Given:
    return {name: list(table.rows) for name, table in history.case.tables.items()}


class Followed:
    """A monitor of the case's tables, and all violations as the reference finds them."""

    def __init__(
        self, history: History, *, keep: Keep = "counts", access: AccessPath = "auto", in_tail: int = 192
    ) -> None:
        self.case, rules = history.case, history.case.rules
        self.monitor = Monitor(
            rules,
            key=dict.fromkeys(NAMES, "id"),
            schema={name: table.types for name, table in self.case.tables.items()} if _needs_types(history) else None,
            keep=keep,
            access=access,
            tuning=MonitorTuning(most_in_tail=in_tail, least_at_once=3),
        )
        self.rows: Mapping[str, Sequence[Mapping[str, Any]]] = dict.fromkeys(NAMES, ())
        self.now = violations(self.rows, rules, self.case.conditions)
        self.sum = ViolationsChange()

    def told(self, change: ViolationsChange, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """The change is the difference between the violations before and after; what is kept is what is there."""
        rules, before, monitor = self.case.rules, self.now, self.monitor
        now = violations(rows, rules, self.case.conditions)
        for name in now:
            for listed, wanted in (
                (change.added, now[name] - before[name]),
                (change.removed, before[name] - now[name]),
            ):
                found = list(listed.get(name, ()))
                assert len(found) == len(set(found))
                assert frozenset(found) == wanted, (name, self.case)
            assert frozenset(monitor.violations(name)) == now[name]
        assert change.added_count == sum(len(now[name] - before[name]) for name in now)
        assert change.removed_count == sum(len(before[name] - now[name]) for name in now)
        assert change.totals == monitor.totals == totals(rules, now)
        assert len(monitor) == sum(map(len, rows.values()))
        monitor.assert_invariants()
        self.rows, self.now, self.sum = rows, now, self.sum.plus(change)
        assert {name: frozenset(found) for name, found in self.sum.added.items()} == {n: v for n, v in now.items() if v}
        assert not self.sum.removed


def _needs_types(history: History) -> bool:
    """Whether types cannot be told from values: of decimals, Arrow would tell others at every change, and what is
    calculated with must have values from the start."""
    kinds = {kind for table in history.case.tables.values() for kind in table.types.values()}
    calculated = bool(calculated_columns(joint_rules(history.case.rules).rules))
    return calculated or any(kind.startswith("decimal") for kind in kinds)


def assert_followed(
    history: History, batches: Sequence[Sequence[Event]], *, together: bool, in_arrow: bool, **how: Any
) -> None:
    followed, tables = Followed(history, **how), history.case.tables
    first = {name: arrow_of(table) if in_arrow else list(table.rows) for name, table in tables.items()}
    if together:
        followed.told(followed.monitor.insert(first), {name: table.rows for name, table in tables.items()})
    else:
        for name in NAMES:
            rows = {**followed.rows, name: tables[name].rows}
            followed.told(followed.monitor.insert(first[name], table=name), rows)
    for events in batches:
        followed.told(followed.monitor.apply(as_changes(events)), after(followed.rows, events))


@settings(slowly, max_examples=200)
@given(
    history=histories(),
    together=st.booleans(),
    in_arrow=st.booleans(),
    keep=st.sampled_from(("counts", "pairs")),
    access=st.sampled_from(("auto", "runs", "bitmaps")),
    in_tail=st.sampled_from((1, 192)),
)
def test_changes_one_batch_after_the_other(history: History, together: bool, in_arrow: bool, **how: Any) -> None:
    """Also with runs of two rows, which only large tables would have otherwise."""
    assert_followed(history, history.batches, together=together, in_arrow=in_arrow, **how)


@settings(slowly, max_examples=100)
@given(history=histories(), in_tail=st.sampled_from((1, 192)))
def test_changes_one_by_one(history: History, in_tail: int) -> None:
    assert_followed(history, one_by_one(history), together=True, in_arrow=False, in_tail=in_tail)


@settings(slowly, max_examples=100)
@given(history=histories(), keep=st.sampled_from(("counts", "pairs")))
def test_changes_as_one_batch(history: History, keep: Keep) -> None:
    together = [event for events in history.batches for event in events]
    assert_followed(history, [together], together=False, in_arrow=False, keep=keep)


@settings(slowly, max_examples=100)
@given(history=histories(), in_tail=st.sampled_from((1, 192)))
def test_inserts_deletes_and_updates_by_their_names(history: History, in_tail: int) -> None:
    followed = Followed(history, in_tail=in_tail)
    followed.told(followed.monitor.insert(rows_of(history)), rows_of(history))
    for ((name, kind, row),) in ([e for e in events if e[1] != "update_preimage"] for events in one_by_one(history)):
        monitor, rows = followed.monitor, after(followed.rows, [(name, kind, row)])
        if kind == "delete":
            followed.told(monitor.delete({name: [row["id"]]}), rows)
        elif kind == "insert":
            followed.told(monitor.insert(row, table=name), rows)
        else:
            followed.told(monitor.update({name: row}), rows)


@settings(slowly, max_examples=50)
@given(history=histories())
def test_what_cannot_be_is_refused_and_changes_nothing(history: History) -> None:
    followed, tables = Followed(history), history.case.tables
    followed.told(followed.monitor.insert(rows_of(history)), rows_of(history))
    monitor, (first, second) = followed.monitor, NAMES
    plain = {name: dict.fromkeys(tables[name].types) for name in NAMES}
    new = {name: {**plain[name], "id": 5_000} for name in NAMES}
    refused = [
        lambda: monitor.insert({first: new[first], second: {**new[second], "id": None}}),
        lambda: monitor.insert({first: [new[first], new[first]]}),
        lambda: monitor.insert({"gamma": new[first]}),
        lambda: monitor.insert(new[first]),
        lambda: monitor.insert(new[first], table="gamma"),
        lambda: monitor.delete({first: 5_000}),
        lambda: monitor.delete({second: [5_000]}),
        lambda: monitor.update({first: new[first]}),
        lambda: monitor.apply({first: {**new[first], CHANGE_TYPE: "upsert"}, second: new[second]}),
    ]
    there = [dict(row) for row in tables[first].rows[:1]]
    if there:
        refused.append(lambda: monitor.insert({second: new[second], first: there}))
    for refuse in refused:
        with pytest.raises(ChangeError):
            refuse()
        monitor.assert_invariants()
        assert len(monitor) == sum(map(len, followed.rows.values()))
        assert monitor.totals == totals(history.case.rules, followed.now)
