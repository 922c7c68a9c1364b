"""What a task tells in lines of bytes is what it found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from holdfast.discovery import task
from holdfast.discovery.column_rules import column_rules
from holdfast.discovery.task import (
    ConditionalTask,
    ConstantsTask,
    EncodeTask,
    FindTask,
    SolveTask,
    TableTask,
    read_columns,
    read_search,
)
from holdfast.encode.column_type import column_type
from holdfast.rules.rule import Nulls
from holdfast.search.find import find, find_in_coded
from holdfast.search.lines import LINE
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import SearchResult

TABLE = pa.table({"a": [1, 2, 3, 3], 'q"t': ["x", "y", None, "x"], "Ünï": [0.5, 1.5, 2.0, 0.5]})
TYPES = {name: column_type(kind) for name, kind in zip(TABLE.column_names, ("bigint", "string", "double"), strict=True)}


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_lines_in_any_order_are_what_was_found(piece: int) -> None:
    options = DiscoverOptions(cross_columns=0.0)
    found = find(TABLE, TYPES, options)
    told = FindTask(TYPES, options, piece_bytes=piece)(iter(TABLE.to_batches()))
    lines = [tuple(row.values()) for batch in told for row in batch.to_pylist()]
    assert (len(lines) > 7) == (piece < 1 << 20)
    back = read_search(lines[::-1])
    assert back is not None
    assert len(back.masks)
    assert back.space == found.space
    for name in ("masks", "support"):
        assert np.array_equal(getattr(back, name), getattr(found, name))
    assert found.accidents is not None
    assert back.accidents is not None
    assert np.array_equal(back.accidents, found.accidents, equal_nan=True)
    assert np.array_equal(back.evidence.words, found.evidence.words)
    assert np.array_equal(back.evidence.counts, found.evidence.counts)
    assert (back.rows, back.distinct_rows, back.strategy) == (found.rows, found.distinct_rows, found.strategy)
    assert (back.exact, back.complete, back.why) == (found.exact, found.complete, found.why)
    assert back.phases.keys() == found.phases.keys()


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_tasks_of_a_cluster_estimate_what_one_task_does(nulls: Nulls) -> None:
    """Also of keys, for which the values themselves count, and not only their codes."""
    options = DiscoverOptions(top=20, nulls=nulls)
    ids = np.arange(60)
    table = pa.table({"id": ids, "zip": ids % 12, "city": ids % 12 // 3, "noise": ids * 7 % 5})
    types = {name: column_type("bigint") for name in table.column_names}
    wanted = find(table, types, options)
    encoded = EncodeTask(types, options, 2)(iter(table.to_batches()))
    solved = SolveTask(options)(pa.RecordBatch.from_pylist(batch.to_pylist(), LINE) for batch in encoded)
    back = read_search(tuple(row.values()) for batch in solved for row in batch.to_pylist())
    assert back is not None
    assert back.accidents is not None
    assert wanted.accidents is not None
    assert np.array_equal(back.masks, wanted.masks)
    assert np.array_equal(back.accidents, wanted.accidents, equal_nan=True)
    assert np.nanmin(back.accidents) < 0.01


def test_a_task_without_rows_tells_nothing() -> None:
    assert list(FindTask(TYPES, DiscoverOptions())(iter([]))) == []
    assert read_search([]) is None


def test_batches_are_one_table() -> None:
    renamed = TABLE.rename_columns(["c0", "c1", "c2"])
    told = FindTask(TYPES, DiscoverOptions())(iter(renamed.to_batches(max_chunksize=1)))
    back = read_search(tuple(row.values()) for batch in told for row in batch.to_pylist())
    assert back is not None
    assert np.array_equal(back.masks, find(TABLE, TYPES, DiscoverOptions()).masks)


@pytest.mark.parametrize("task", [FindTask, ConstantsTask, ConditionalTask, EncodeTask])
def test_each_task_on_all_rows_also_looks_at_single_columns(task: type[TableTask]) -> None:
    table = pa.table({"tier": ["a", "b", "b"] * 20, "n": range(60)})
    types = {"tier": column_type("string"), "n": column_type("bigint")}
    options = DiscoverOptions(conditional=task is ConditionalTask, constants=task is ConstantsTask, time_limit=60.0)
    cores = (2,) if task is EncodeTask else ()

    def lines(*, wanted: bool) -> list[tuple[str, int, bytes]]:
        told = task(types, options, *cores, column_rules=wanted)(iter(table.to_batches()))
        return [tuple(row.values()) for batch in told for row in batch.to_pylist()]

    assert read_columns(lines(wanted=True)) == column_rules(table, types)
    assert len(column_rules(table, types).rules) == 5
    assert read_columns(lines(wanted=False)) is None


def test_the_search_no_longer_holds_the_values_that_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    held = []

    def searched(*given: Any, **more: Any) -> SearchResult:
        held.append(pa.total_allocated_bytes())
        return find_in_coded(*given, **more)

    monkeypatch.setattr(task, "find_in_coded", searched)
    texts = [f"number {i}" for i in range(20_000)]
    before = pa.total_allocated_bytes()
    arriving = (pa.record_batch([pa.array(texts)], names=["c0"]) for _ in range(1))
    told = FindTask({"name": column_type("string")}, DiscoverOptions(top=5))(arriving)
    assert list(told)
    assert held[0] - before < sum(map(len, texts)) / 2
