"""Many small batches leave few files, and none is forgotten."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from holdfast.api import EvolveState, WatchState
from holdfast.states.limits import StateLimits


def files_in(place: Path) -> int:
    return sum(path.is_file() for path in place.rglob("*"))


def changes_csv(number: int) -> str:
    """A row comes that is at odds with the one of the same zip; every third batch updates one instead."""
    if number % 3:
        return f"_change_type,id,zip,city\ninsert,{100 + number},{number % 10},c{number}\n"
    return f"_change_type,id,zip,city\nupdate_postimage,{number % 10},{number % 10},c{number}\n"


def apply_batches(state: WatchState | EvolveState, folder: Path, batches: int) -> list[float]:
    """Applies batches one after the other, and returns the seconds of each."""
    file, seconds = folder / "changes.csv", []
    for number in range(batches):
        file.write_text(changes_csv(number))
        started = time.monotonic()
        assert state.apply(file, batch=f"number {number}").applied
        seconds.append(time.monotonic() - started)
    return seconds


def with_few_versions(state: WatchState | EvolveState) -> None:
    state._table = state._table.with_limits(StateLimits(kept_versions=4))


def first_table(folder: Path) -> Path:
    data = folder / "data.csv"
    data.write_text("id,zip,city\n" + "".join(f"{i},{i},c\n" for i in range(10)))
    return data


def test_a_watch_of_many_batches_has_few_files(tmp_path: Path) -> None:
    state = WatchState.create(tmp_path / "s", first_table(tmp_path), ["zip -> city"], key="id", engine="local")
    with_few_versions(state)
    apply_batches(state, tmp_path, 60)
    few = files_in(tmp_path / "s")
    apply_batches_again(state, tmp_path, 60)
    assert few < 80
    assert_log_adds_up(state, tmp_path / "s")
    assert not WatchState.verify(tmp_path / "s").problems


def test_rules_that_evolve_have_few_files_and_a_history(tmp_path: Path) -> None:
    state = EvolveState.create(tmp_path / "s", first_table(tmp_path), key="id", engine="local")
    with_few_versions(state)
    apply_batches(state, tmp_path, 40)
    assert files_in(tmp_path / "s") < 80
    assert len(state.show().history) > 3
    assert not EvolveState.verify(tmp_path / "s").problems


def apply_batches_again(state: WatchState | EvolveState, folder: Path, batches: int) -> None:
    """No batch counts twice, however long ago it was."""
    file = folder / "changes.csv"
    for number in range(0, batches, 7):
        file.write_text(changes_csv(number))
        assert not state.apply(file, batch=f"number {number}").applied


def assert_log_adds_up(state: WatchState, place: Path) -> None:
    log = pq.read_table(place / "changes")
    assert sum(log.column("change").to_pylist()) == sum(state.status.totals.values())


@pytest.mark.soak
def test_a_thousand_batches_take_the_same_time_each(tmp_path: Path) -> None:
    state = WatchState.create(tmp_path / "s", first_table(tmp_path), ["zip -> city"], key="id", engine="local")
    seconds = apply_batches(state, tmp_path, 1000)
    assert files_in(tmp_path / "s") < 300
    early, late = sorted(seconds[50:150])[50], sorted(seconds[-100:])[50]
    assert late < 3 * early, f"{early:.3f} s for a batch at first, {late:.3f} s at last"
    apply_batches_again(state, tmp_path, 1000)
    assert_log_adds_up(state, tmp_path / "s")
    assert not WatchState.verify(tmp_path / "s").problems
