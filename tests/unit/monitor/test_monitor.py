"""A monitor as a service meets it: what it takes, what it tells, what it refuses."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import holdfast as hf
from holdfast import reference
from holdfast.errors import ChangeError, ConditionError, HoldfastError, OptionError, TypeMismatchError
from holdfast.monitor.tuning import MonitorTuning
from holdfast.rules.rule_file import parse_rules

ZIP = [
    {"id": 1, "zip": "10115", "city": "Berlin"},
    {"id": 2, "zip": "10115", "city": "Berlin"},
    {"id": 3, "zip": "10115", "city": "Bärlin"},
]


@pytest.mark.parametrize(
    "given",
    [ZIP, iter(ZIP), pa.Table.from_pylist(ZIP), pa.Table.from_pylist(ZIP).to_batches()[0], pd.DataFrame(ZIP)],
    ids=["dicts", "iterator", "table", "batch", "pandas"],
)
def test_rows_come_as_they_are_at_hand(given: Any) -> None:
    monitor = hf.Monitor("zip -> city", key="id")
    change = monitor.insert(given)
    assert change.added == {"zip-city": [(1, 3), (2, 3)]}
    assert change.to_dict() == {
        "added": [
            {"rule": "zip-city", "left": 1, "right": 3},
            {"rule": "zip-city", "left": 2, "right": 3},
        ],
        "removed": [],
        "added_count": 2,
        "removed_count": 0,
        "totals": {"zip-city": 2},
    }
    assert change.to_arrow().to_pylist()[0] == {"rule": "zip-city", "left": 1, "right": 3, "change": 1}
    assert monitor.delete(3).removed_count == 2
    assert monitor.totals == {"zip-city": 0}
    assert len(monitor) == 2


def test_a_key_of_several_columns_is_a_tuple() -> None:
    monitor = hf.Monitor("zip -> city", key=["zip", "id"])
    monitor.insert(ZIP[:2])
    assert monitor.insert(ZIP[2]).added == {"zip-city": [(("10115", 1), ("10115", 3)), (("10115", 2), ("10115", 3))]}
    assert monitor.delete(("10115", 3)).removed_count == 2
    assert monitor.delete([("10115", 1), ("10115", 2)]).to_dict()["removed"] == []
    assert len(monitor) == 0


@pytest.mark.parametrize("keys", [["b", "a"], [dt.date(2024, 1, 2), dt.date(2024, 1, 1)], [2.5, -1.0], [True, False]])
def test_keys_of_any_kind_are_told_as_they_are(keys: list[Any]) -> None:
    monitor = hf.Monitor("unique(v)", key="k")
    change = monitor.insert([{"k": key, "v": 1} for key in keys])
    assert change.added == {"unique-v": [(keys[1], keys[0])]}
    assert monitor.delete(keys).removed_count == 1


def test_a_row_that_is_replaced_by_its_like_changes_nothing() -> None:
    monitor = hf.Monitor("zip -> city", key="id")
    monitor.insert(ZIP)
    assert not monitor.update(ZIP[2])
    change = monitor.update({"id": 3, "zip": "10115", "city": "Berlin"})
    assert (change.added_count, change.removed_count) == (0, 2)


@pytest.mark.parametrize("least_at_once", [2, 2_000])
def test_all_rows_may_be_replaced_by_as_many_others(least_at_once: int) -> None:
    """What went is told, also where the rows that come are counted at once, as first rows are."""
    tuning = MonitorTuning(least_at_once=least_at_once)
    rules = parse_rules("rules: [{rule: not(t.a < s.a and t.b < s.b and t.c < s.c), name: r}]")
    monitor = hf.Monitor(rules, key="id", tuning=tuning)
    rows = [{"id": i, "a": i, "b": i, "c": 5} for i in range(3)] + [{"id": 3, "a": 9, "b": 9, "c": 9}]
    monitor.insert(rows)
    went = [{**row, "_change_type": "delete"} for row in rows]
    come = [{**row, "id": row["id"] + 10, "_change_type": "insert"} for row in rows]
    change = monitor.apply(went + come)
    assert change.removed == {"r": [(0, 3), (1, 3), (2, 3)]}
    assert change.added == {"r": [(10, 13), (11, 13), (12, 13)]}
    change = monitor.update([{**row, "id": row["id"] + 10, "c": 5} for row in rows])
    assert (change.added_count, change.removed_count, monitor.totals) == (0, 3, {"r": 0})


def test_a_rule_of_one_row_counts_rows() -> None:
    monitor = hf.Monitor(["not(t.a > t.b)", "not(t.a is null)"], key="id")
    change = monitor.insert([{"id": 1, "a": 2, "b": 1}, {"id": 2, "a": None, "b": 1}])
    assert change.added == {"a-b": [(1, None)], "a": [(2, None)]}
    assert change.to_dict()["added"][0] == {"rule": "a-b", "left": 1}
    assert monitor.totals == {"a-b": 1, "a": 1}
    assert monitor.violations("a") == [(2, None)]


def test_lists_are_cut_and_counts_are_not() -> None:
    monitor = hf.Monitor("unique(v)", key="id", limit=3)
    change = monitor.insert([{"id": i, "v": 0} for i in range(100)])
    assert len(change.added["unique-v"]) == 3
    assert (change.added_count, change.rules["unique-v"].cut) == (4950, True)
    assert len(monitor.violations("unique-v", limit=7)) == 7
    assert len(monitor.violations("unique-v")) == 4950


@pytest.mark.parametrize("keep", ["counts", "pairs"])
def test_a_row_that_breaks_a_rule_alone_is_listed_before_its_pairs(keep: Any) -> None:
    rules = parse_rules("rules: [{rule: a -> b, name: r, patterns: [{a: 1, b: 2}, {a: '_', b: '_'}]}]")
    monitor = hf.Monitor(rules, key="id", keep=keep)
    monitor.insert([{"id": 1, "a": 1, "b": 2}, {"id": 2, "a": 1, "b": 3}, {"id": 3, "a": 1, "b": 4}])
    assert monitor.violations("r") == [(1, 2), (1, 3), (2, None), (2, 3), (3, None)]
    assert len(monitor.violations("r", limit=3)) == 3


@pytest.mark.parametrize("access", ["runs", "bitmaps"])
@pytest.mark.parametrize("rule", ["not(t.v < s.w)", "unique(v)", "not(t.v != s.v and t.w > s.w)"])
def test_the_violations_as_things_are_are_those_of_the_reference(rule: str, access: Any) -> None:
    rows = [{"id": i, "v": i * 7 % 5, "w": i * 3 % 4} for i in range(12)]
    monitor = hf.Monitor(rule, key="id", access=access)
    monitor.insert(rows[:7])
    for row in rows[7:]:
        monitor.insert(row)
    monitor.delete([0, 8])
    there = [row for row in rows if row["id"] not in (0, 8)]
    ((name, wanted),) = reference.violations(there, replace(monitor.rules, key=("id",))).items()
    assert frozenset(monitor.violations(name)) == wanted
    assert len(monitor.violations(name, limit=2)) == 2


def test_many_pairs_are_counted_without_being_met() -> None:
    rows = 100_000
    monitor = hf.Monitor(["unique(v)", "v -> w"], key="id", limit=10)
    data = pa.table({"id": np.arange(rows), "v": np.zeros(rows, np.int64), "w": np.arange(rows) % 2})
    monitor.insert(data)
    assert monitor.totals == {"unique-v": rows * (rows - 1) // 2, "v-w": rows * rows // 4}


def test_numbers_of_different_types_compare_by_value() -> None:
    monitor = hf.Monitor("not(t.a = s.b)", key="id", schema={"id": "bigint", "a": "bigint", "b": "double"})
    monitor.insert([{"id": 1, "a": 2**53 + 1, "b": 0.5}])
    assert monitor.insert({"id": 2, "a": 0, "b": float(2**53)}).added_count == 0
    assert monitor.insert({"id": 3, "a": 2**53, "b": 1.0}).added == {"a-b": [(3, 2)]}
    decimals = hf.Monitor("not(t.a < s.a)", key="id")
    decimals.insert([{"id": 1, "a": Decimal("0.10")}, {"id": 2, "a": Decimal("0.1")}])
    assert decimals.totals == {"a": 0}
    assert decimals.insert({"id": 3, "a": Decimal("1E+30")}).added_count == 2


def test_whole_numbers_are_calculated_exactly_beyond_doubles() -> None:
    exact = hf.Monitor(["not(t.a + 1 > 9007199254740993)"], key="id", schema={"id": "bigint", "a": "bigint"})
    exact.insert([{"id": 1, "a": 2**53}, {"id": 2, "a": 2**53 + 1}])
    (name,) = exact.totals
    assert set(exact.violations(name)) == {(2, None)}


def test_text_is_ordered_also_when_it_comes_in_no_order() -> None:
    monitor = hf.Monitor("not(t.a < s.a and t.b > s.b)", key="id")
    words = [format(i * 7919 % 1009, "b") for i in range(300)]
    monitor.insert([{"id": i, "a": word, "b": i} for i, word in enumerate(words[:50])])
    for i, word in enumerate(words[50:], start=50):
        monitor.insert({"id": i, "a": word, "b": i})
    wanted = sum(words[i] < words[j] for i in range(300) for j in range(i))
    assert monitor.totals["a-b"] == wanted
    monitor.assert_invariants()


def test_room_of_rows_that_went_is_given_back() -> None:
    monitor, after_first = hf.Monitor("a -> b", key="id"), 0
    for at in range(0, 30_000, 3_000):
        monitor.insert([{"id": f"k{i}", "a": f"a{i // 2}", "b": i} for i in range(at, at + 3_000)])
        assert monitor.totals == {"a-b": 1_500}
        monitor.delete([f"k{i}" for i in range(at, at + 3_000)])
        monitor.assert_invariants()
        after_first = monitor.bytes if at == 0 else after_first
    assert monitor.totals == {"a-b": 0}
    assert monitor.bytes <= after_first, "ten times the rows need no more room, as those before them went"


def test_a_column_without_values_gets_its_type_when_they_come() -> None:
    monitor = hf.Monitor(["not(t.a < s.b)", "a -> c"], key="id")
    monitor.insert([{"id": 1, "a": None, "b": None, "c": None}])
    monitor.insert({"id": 2, "a": 1, "b": None, "c": "x"})
    assert monitor.insert({"id": 3, "a": None, "b": 1.5, "c": "x"}).added == {"a-b": [(2, 3)]}
    with pytest.raises(TypeMismatchError, match="'a-b' compares"):
        hf.Monitor("not(t.a < s.b)", key="id").insert({"id": 1, "a": 1, "b": "x"})


REFUSED: list[tuple[Any, str]] = [
    (lambda m: m.insert(ZIP[0]), "row with key 1 already"),
    (lambda m: m.insert([{**ZIP[0], "id": 9}, {**ZIP[0], "id": 9}]), "9 is named twice"),
    (lambda m: m.insert({**ZIP[0], "id": None}), "no value in the key column 'id'"),
    (lambda m: m.insert({"id": 9, "zip": "1"}), "no column 'city'"),
    (lambda m: m.insert({**ZIP[0], "id": 9, "town": 1}), "other columns than the rows before: town"),
    (lambda m: m.insert([{**ZIP[0], "id": 9}, {"id": 10, "zip": "1"}]), "differ in their columns: city"),
    (lambda m: m.insert({"id": 9, "zip": 10115, "city": "x"}), "key 9 has 10115 in column 'zip'"),
    (lambda m: m.insert([{"id": 9, "zip": "1", "city": "x"}, {"id": 10, "zip": "1", "city": 5}]), "key 10 has 5"),
    (lambda m: m.insert([5]), "5 is no row"),
    (lambda m: m.delete(9), "no row with key 9"),
    (lambda m: m.delete([1, 1]), "1 is named twice"),
    (lambda m: m.delete("one"), "'one' is no key"),
    (lambda m: m.update([ZIP[0], {**ZIP[0], "id": 9}]), "no row with key 9"),
    (lambda m: m.apply([{**ZIP[0], "_change_type": "upsert"}]), "'upsert' is no kind of change"),
    (lambda m: m.apply([{**ZIP[0], "_change_type": "insert"}]), "row with key 1 already"),
    (lambda m: m.apply([{**ZIP[0], "_change_type": "update_preimage"}]), "1 has an update_preimage without its"),
    (
        lambda m: m.apply([{**ZIP[0], "_change_type": f"update_{i}image"} for i in ("pre", "post", "pre")]),
        "1 has an update_preimage without its",
    ),
    (lambda m: m.apply([{**ZIP[0], "_change_type": i} for i in ("update_preimage", "delete")]), "without its"),
    (lambda m: m.apply([{**ZIP[0], "_change_type": None}]), "row with key 1 already"),
    (lambda m: m.apply([{"zip": "1", "city": "x", "_change_type": "delete"}]), "no key column 'id'"),
]


@pytest.mark.parametrize(("change", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_cannot_be_is_refused_whole(change: Any, told: str) -> None:
    monitor = hf.Monitor("zip -> city", key="id")
    monitor.insert(ZIP)
    with pytest.raises(ChangeError, match=told):
        change(monitor)
    assert (len(monitor), monitor.totals) == (3, {"zip-city": 2})
    monitor.assert_invariants()


def test_nothing_is_learned_from_what_is_refused() -> None:
    monitor = hf.Monitor("zip -> city", key="id")
    with pytest.raises(ChangeError, match="no value in the key"):
        monitor.insert({"id": None, "zip": 10115, "city": 1, "town": 1})
    assert monitor.insert(ZIP).added_count == 2


def test_a_change_without_a_kind_comes() -> None:
    monitor = hf.Monitor("zip -> city", key="id")
    monitor.insert(ZIP)
    more = [{"id": 8, "zip": "10115", "city": "x", "_change_type": None}, {**ZIP[0], "_change_type": "delete"}]
    monitor.apply(more)
    assert len(monitor) == 3
    nine = {"id": pa.array([9]), "zip": pa.array(["10115"]), "city": pa.array(["y"]), "_change_type": pa.nulls(1)}
    assert monitor.apply(pa.table(nine)).added_count == 3


def test_deletes_need_only_the_key() -> None:
    monitor = hf.Monitor("zip -> city", key="id")
    monitor.insert(ZIP)
    assert monitor.apply([{"id": 3, "_change_type": "delete"}]).removed_count == 2


def test_options_are_looked_at_first() -> None:
    with pytest.raises(OptionError, match="key"):
        hf.Monitor("zip -> city")
    with pytest.raises(OptionError, match="keep"):
        hf.Monitor("zip -> city", key="id", keep="all")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="limit"):
        hf.Monitor("zip -> city", key="id", limit=-1)
    with pytest.raises(HoldfastError, match="no rule"):
        hf.Monitor("zip -> city", key="id").violations("x")
    rule = hf.Rule("r", hf.parse_rule("zip -> city").body, where="soundex(city) = 'B645'")
    with pytest.raises(ConditionError, match="without Spark"):
        hf.Monitor([rule], key="id")


def test_a_monitor_explains_how_it_finds_partners() -> None:
    rules = ["zip -> city", "not(t.a < s.a and t.b > s.b and t.c > s.c)", "not(t.a > 5)"]
    tuning = MonitorTuning(least_for_sets=1_000, seconds_per_candidate=1.0)
    monitor = hf.Monitor(rules, key="id", tuning=tuning)
    rng = np.random.default_rng(1)
    numbers = {name: rng.integers(0, 50, 2_000) for name in ("zip", "city", "a", "b", "c")}
    monitor.insert(pa.table({"id": np.arange(2_000), **numbers}))
    told = monitor.explain()
    assert "as left row: rows by zip, in order of city (2,000 rows in 1 run)" in told
    assert "each row by itself" in told
    assert "a-b-c: t.a < s.a, then t.b > s.b, then t.c > s.c" in told
    monitor.assert_invariants()


@pytest.mark.parametrize("value", ["\ud800", Decimal("Infinity"), Decimal("NaN"), Decimal("sNaN")], ids=ascii)
def test_a_value_that_no_column_holds_is_refused_and_changes_nothing(value: Any) -> None:
    usual: Any = "x" if isinstance(value, str) else Decimal(2)
    rules = parse_rules("rules: [{rule: unique(v)}, {rule: not(t.id = 0), where: w is null}]")
    for odd in ({"v": value, "w": usual}, {"v": usual, "w": value}):
        monitor = hf.Monitor(rules, key="id")
        for rows in ([{"id": 1, **odd}], [{"id": 1, **odd}, {"id": 2, "v": usual, "w": usual}]):
            with pytest.raises(ChangeError):
                monitor.insert(rows)
            assert len(monitor) == 0
        monitor.insert({"id": 1, "v": usual, "w": usual})
        with pytest.raises(ChangeError):
            monitor.insert({"id": 2, **odd})
        assert monitor.insert({"id": 2, "v": usual, "w": usual}).added_count == 1
        monitor.assert_invariants()


def test_a_constant_beyond_all_doubles_is_above_them() -> None:
    monitor = hf.Monitor(f"not(t.v < 1{'0' * 400})", key="id")
    assert monitor.insert([{"id": 1, "v": 1.5}, {"id": 2, "v": float("inf")}]).added_count == 1
