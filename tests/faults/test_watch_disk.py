"""A state on a disk that takes no more: an error, and the last version as it was."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.api import WatchState
from holdfast.errors import OutputError, StateError
from holdfast.states.manifest import WatchBody
from holdfast.states.store import open_store
from holdfast.states.versions import latest


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no disk of a given size can be had here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def table(path: Path, keys: range) -> Path:
    path.write_text("id,g,text\n" + "\n".join(f"{i},{i % 7},{'x' * 40}{i}" for i in keys) + "\n")
    return path


def test_a_full_disk_leaves_the_last_version(small_disk: Path, tmp_path: Path, spark: SparkSession) -> None:
    state = small_disk / "state"
    WatchState.create(state, table(tmp_path / "t.csv", range(50)), ["g -> text"], key="id")
    before = latest(open_store(state), WatchBody)
    with pytest.raises(OutputError, match="No space left on device") as told:
        WatchState.open(state).apply(table(tmp_path / "much.csv", range(100, 9000)), limit=10)
    assert "make room" in str(told.value)
    assert latest(open_store(state), WatchBody) == before
    assert WatchState.open(state).show().totals == before.totals
    done = WatchState.open(state).apply(table(tmp_path / "little.csv", range(100, 110)), limit=10)
    assert done.applied
    assert WatchState.open(state).show().totals == done.totals


def test_a_state_that_cannot_be_written_is_still_read(tmp_path: Path, spark: SparkSession) -> None:
    state = tmp_path / "state"
    WatchState.create(state, table(tmp_path / "t.csv", range(20)), ["g -> text"], key="id")
    before = latest(open_store(state), WatchBody)
    (state / "pending").rename(tmp_path / "elsewhere")
    (state / "pending").write_text("in the way")
    with pytest.raises(OutputError, match="cannot write to the state"):
        WatchState.open(state).apply(table(tmp_path / "more.csv", range(30, 40)))
    assert latest(open_store(state), WatchBody) == before
    assert WatchState.open(state).show().totals == before.totals


def test_a_damaged_version_is_named(tmp_path: Path, spark: SparkSession) -> None:
    state = tmp_path / "state"
    WatchState.create(state, table(tmp_path / "t.csv", range(20)), ["g -> text"], key="id")
    version = state / "versions" / f"{0:012}.json"
    version.write_bytes(version.read_bytes()[:100])
    with pytest.raises(StateError, match=r"is damaged: versions/000000000000\.json cannot be read"):
        WatchState.open(state).show()
