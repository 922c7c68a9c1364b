"""A batch whose values find no room between the codes that are there: all codes move, and rows get other slots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.encode.column_type import column_type
from holdfast.evolving.live_table import LiveTable
from holdfast.monitor.monitor import Monitor

RULE = "not(t.v < s.v and t.w > s.w)"


def first_rows() -> list[dict[str, Any]]:
    return [{"id": i, "v": f"a{i:03}", "w": i} for i in range(100)]


def closing_in() -> Iterator[list[dict[str, Any]]]:
    """Batches in which a row goes and one comes, whose text is ever closer to that of the row 3."""
    for step in range(80):
        come = {"id": 1000 + step, "v": "a003" + "0" * (80 - step) + "1", "w": step % 7, "_change_type": "insert"}
        yield [{"id": 99 - step, "v": None, "w": None, "_change_type": "delete"}, come]


def there_in_the_end() -> list[dict[str, Any]]:
    came = [{name: batch[1][name] for name in ("id", "v", "w")} for batch in closing_in()]
    return [row for row in first_rows() if 3 <= row["id"] < 20] + came


def test_a_monitor_takes_the_rows_that_a_batch_names_when_codes_move() -> None:
    monitor, fresh = Monitor(RULE, key="id"), Monitor(RULE, key="id")
    monitor.insert(first_rows())
    monitor.delete([0, 1, 2])  # so that rows get other slots
    for batch in closing_in():
        monitor.apply(batch)
    monitor.assert_invariants()
    fresh.insert(there_in_the_end())
    assert monitor.totals == fresh.totals
    assert [monitor.violations(rule) for rule in monitor.totals] == [fresh.violations(rule) for rule in fresh.totals]


def test_a_live_table_takes_the_rows_that_a_batch_names_when_codes_move() -> None:
    types = {"id": column_type("bigint"), "v": column_type("string"), "w": column_type("bigint")}
    table = LiveTable(["id"], types, {name: (name,) for name in types}, frozenset(["v"]))
    table.make(table.inserting(first_rows()))
    table.make(table.deleting([0, 1, 2]))
    for batch in closing_in():
        table.make(table.applying(batch))
    assert table.generation > 0, "codes have moved"
    table.assert_invariants()
    there = table.slots_but(table.deleting([]).gone)
    assert sorted(map(table.key_of, there.tolist())) == sorted(row["id"] for row in there_in_the_end())


def below_another_and_no_constant(constants: int) -> str:
    """A rule that compares with constants in order: each halves the room that is left below the next value."""
    return "not(t.v < s.v and " + " and ".join(f"t.v != 'm{i:03}'" for i in range(constants)) + ")"


def test_constants_that_find_no_room_move_codes_before_rows_have_theirs() -> None:
    rule = below_another_and_no_constant(200)
    rows = [{"id": i, "v": v} for i, v in enumerate(["a", "z", "m100", "m199"])]
    monitor = Monitor(rule, key="id")
    monitor.insert(rows)
    assert [*monitor.totals.values()] == [3]
    assert [pair for name in monitor.totals for pair in monitor.violations(name)] == [(0, 1), (0, 2), (0, 3)]


def test_constants_have_their_place_again_after_values_are_forgotten() -> None:
    rule = below_another_and_no_constant(60)
    monitor = Monitor(rule, key="id")
    monitor.insert([{"id": i, "v": f"m0{i % 60:02}"} for i in range(5000)])
    monitor.delete(list(range(5000)))  # so many that codes are forgotten
    monitor.insert([{"id": 1, "v": "a"}, {"id": 2, "v": "z"}])
    change = monitor.insert([{"id": 3, "v": "m030"}, {"id": 4, "v": "m059"}])
    assert [*change.added.values()] == [[(1, 3), (1, 4)]]
    assert [*monitor.totals.values()] == [3]
