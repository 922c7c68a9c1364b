"""Arithmetic, tolerances and intervals on tables small enough to count by hand, in every job that runs here."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import holdfast as hf

INVOICES: dict[str, Any] = {
    "rows": [
        {"id": 1, "net": 100, "tax": 19, "total": 119},
        {"id": 2, "net": 200, "tax": 38, "total": 239},
        {"id": 3, "net": 50, "tax": None, "total": 51},
    ],
    "rule": "not(t.total != t.net + t.tax)",
    "violations": {(2, None)},
}
READINGS: dict[str, Any] = {
    "rows": [
        {"id": 1, "sensor": "a", "at": dt.datetime(2024, 3, 1, 12), "temp": 20.5},
        {"id": 2, "sensor": "a", "at": dt.datetime(2024, 3, 1, 12, 0, 40), "temp": 26.0},
        {"id": 3, "sensor": "a", "at": dt.datetime(2024, 3, 1, 12, 1, 0), "temp": 25.5},
        {"id": 4, "sensor": "a", "at": dt.datetime(2024, 3, 1, 12, 5), "temp": 40.0},
        {"id": 5, "sensor": "b", "at": dt.datetime(2024, 3, 1, 12, 0, 10), "temp": 3.0},
    ],
    "rule": "not(t.sensor = s.sensor and abs(t.at - s.at) <= 60 and abs(t.temp - s.temp) > 5)",
    "violations": {(1, 2)},  # 1 and 3 are exactly 60 seconds and exactly 5 degrees apart
}
BOOKINGS: dict[str, Any] = {
    "rows": [
        {"id": 1, "room": "x", "start": 9, "end": 11},
        {"id": 2, "room": "x", "start": 11, "end": 12},
        {"id": 3, "room": "x", "start": 10, "end": 13},
        {"id": 4, "room": "y", "start": 9, "end": 13},
    ],
    "rule": "no_overlap(room; start, end)",
    "violations": {(1, 3), (2, 3)},
}
TABLES = [INVOICES, READINGS, BOOKINGS]


@pytest.mark.parametrize("golden", TABLES, ids=["sum", "tolerance", "interval"])
def test_a_check_finds_what_can_be_counted_by_hand(golden: dict[str, Any]) -> None:
    result = hf.check(pa.Table.from_pylist(golden["rows"]), golden["rule"], key="id", engine="local")
    pairs = {(pair["left"], pair["right"]) for pair in result.pairs}
    found = pairs or {(row["key"], None) for row in result.rows}
    assert found == golden["violations"]
    assert str(result.outcome.rules[0].rule) == golden["rule"]


@pytest.mark.parametrize("golden", TABLES, ids=["sum", "tolerance", "interval"])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_a_monitor_finds_what_can_be_counted_by_hand(golden: dict[str, Any], one_by_one: bool) -> None:
    monitor = hf.Monitor(golden["rule"], key="id")
    for rows in [[row] for row in golden["rows"]] if one_by_one else [golden["rows"]]:
        monitor.insert(rows)
    (name,) = monitor.totals
    assert set(monitor.violations(name)) == golden["violations"]
    worst = max(key for pair in golden["violations"] for key in pair if key is not None)
    monitor.delete(worst)
    assert not monitor.violations(name)


@pytest.mark.parametrize("golden", TABLES, ids=["sum", "tolerance", "interval"])
def test_a_state_finds_what_can_be_counted_by_hand(golden: dict[str, Any], tmp_path: Any) -> None:
    table = pa.Table.from_pylist(golden["rows"])
    pq.write_table(table.slice(0, 1), tmp_path / "first.parquet")
    pq.write_table(table.slice(1), tmp_path / "rest.parquet")
    state = hf.WatchState.create(
        str(tmp_path / "state"), str(tmp_path / "first.parquet"), golden["rule"], key="id", engine="local"
    )
    change = state.apply(str(tmp_path / "rest.parquet"))
    (added,) = change.to_dict()["totals"].values()
    assert added == len(golden["violations"])


def test_an_expression_says_what_a_cell_should_be() -> None:
    result = hf.check(pa.Table.from_pylist(INVOICES["rows"]), INVOICES["rule"], key="id", engine="local")
    told = result.explain(2)
    assert ("total", "238") in {(change.column, str(change.suggested)) for change in told.suggestions}


def test_a_monitor_wants_types_of_what_it_calculates_with() -> None:
    monitor = hf.Monitor("not(t.a + t.b > 3)", key="id")
    monitor.insert({"id": 1, "a": 1, "b": None})
    with pytest.raises(hf.HoldfastError, match="has its first values only now"):
        monitor.insert({"id": 2, "a": 1, "b": 3})
    named = hf.Monitor("not(t.a + t.b > 3)", key="id", schema={"a": "bigint", "b": "bigint"})
    named.insert({"id": 1, "a": 1, "b": None})
    assert named.insert({"id": 2, "a": 1, "b": 3}).added_count == 1


@pytest.mark.parametrize("rule", ["not(t.x - s.x = 0)", "not(abs(t.x - s.x) = 0)", "not(abs(t.x - s.x) < 0.5)"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.decimal128(21, 2)])
def test_a_pair_of_a_difference_that_is_its_own_mirror_is_listed_once(rule: str, kind: pa.DataType) -> None:
    table = pa.table({"id": [0, 1, 2], "x": pa.array([0, 0, 0]).cast(kind)})
    with hf.check(table, [rule], key="id", limit=None) as result:
        assert sorted((pair["left"], pair["right"]) for pair in result.pairs) == [(0, 1), (0, 2), (1, 2)]
        assert sorted(row["key"] for row in result.suspects) == [1, 2]


def test_a_sum_of_doubles_that_is_off_by_its_last_digit_is_spoken_of() -> None:
    table = pa.table({"id": [1, 2], "net": [0.1, 1.0], "tax": [0.2, 0.5], "total": [0.3, 1.5]})
    rule = "not(t.total != t.net + t.tax)"
    with hf.check(table, [rule, "not(t.total != 2.0)", "not(t.net + t.tax > 1)"], key="id") as result:
        assert [outcome.violating_rows for outcome in result.outcome.rules] == [1, 2, 1]
        assert [note.split(" is ")[0] for note in result.outcome.notes] == ["rule 'total-net-tax': t.net + t.tax"]
    exact = table.cast(
        pa.schema([("id", pa.int64()), *((name, pa.decimal128(9, 2)) for name in table.column_names[1:])])
    )
    for rows in (exact, table.slice(1)):
        with hf.check(rows, [rule], key="id") as result:
            assert (result.holds, result.outcome.notes) == (True, ())


def test_a_quotient_of_decimals_is_a_double_and_is_spoken_of() -> None:
    table = pa.table({"id": [1], "a": pa.array([1], pa.decimal128(9, 2)), "b": pa.array([3], pa.decimal128(9, 2))})
    with hf.check(table, ["not(t.a / t.b * 3 + t.a / t.b != 1)"], key="id") as result:
        assert result.outcome.rules[0].violating_rows == 1
        (note,) = result.outcome.notes
        assert note.endswith("is not 0.3; compare abs(a - b) > 0.005")
