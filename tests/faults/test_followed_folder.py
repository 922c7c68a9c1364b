"""A folder that is followed loses nothing: what is there counts, by name and content, whatever its date or name."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.api import EvolveState, WatchState
from holdfast.engines.states import whole_table
from holdfast.engines.states.changes import content_id
from holdfast.engines.states.follow_folder import FolderFollower, FollowTiming
from holdfast.errors import ChangeError

HEADER = "_change_type,id,zip,city\n"
DAY = 24 * 3600


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "data.csv").write_text("id,zip,city\n1,1,a\n2,1,a\n")
    return tmp_path / "in"


@pytest.fixture
def state(folder: Path) -> WatchState:
    data = folder.with_name("data.csv")
    return WatchState.create(folder.with_name("state"), data, ["zip -> city"], key="id", engine="local")


def put(folder: Path, name: str, *rows: str, age: float = 10.0) -> Path:
    """A file of changes, last written so many seconds ago."""
    file = folder / name
    file.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    os.utime(file, (time.time() - age,) * 2)
    return file


def followed(state: Any, folder: Path) -> tuple[list[str], list[str]]:
    """The names of batches that a single run takes in, and the problems that it tells of."""
    names: list[str] = []
    problems: list[str] = []
    state.follow(
        folder,
        once=True,
        on_batch=lambda outcome, name: names.append(name),
        on_problem=lambda words: problems.append(words),
    )
    return names, problems


def test_files_of_any_date_are_taken_in(state: WatchState, folder: Path) -> None:
    put(folder, "now.csv", "insert,3,2,b")
    put(folder, "future.csv", "insert,4,2,b", age=-3 * DAY)
    assert followed(state, folder) == (["now.csv", "future.csv"], [])
    put(folder, "restored.csv", "insert,5,2,b", age=400 * DAY)
    put(folder, "today.csv", "insert,6,2,b")
    assert followed(state, folder) == (["restored.csv", "today.csv"], [])
    assert followed(state, folder) == ([], [])
    assert state.status.rows == 6


@pytest.mark.parametrize(
    "name",
    ["UP.CSV", "a#b.csv", "a?b.csv", "a%20b.csv", "a b.csv", "line\nbreak.csv", "[x]*.csv", "'\"`.csv", "\u00e4.csv"],
)
def test_files_of_any_name_are_taken_in(state: WatchState, folder: Path, name: str) -> None:
    put(folder, name, "insert,3,2,b")
    assert followed(state, folder) == ([name], [])
    assert followed(state, folder) == ([], [])
    assert state.status.rows == 3


def test_a_file_that_is_being_written_is_taken_in_when_it_is_whole(state: WatchState, folder: Path) -> None:
    begun, pause = threading.Event(), threading.Event()

    def write() -> None:
        with open(folder / "slow.csv", "w") as file:
            file.write(HEADER)
            for i in range(100, 130):
                file.write(f"insert,{i},{i},x\n")
                file.flush()
                begun.set()
                pause.wait(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(10)
    assert followed(state, folder) == (["slow.csv"], [])
    writer.join(10)
    assert not writer.is_alive()
    assert state.status.rows == 32


def test_a_file_that_never_becomes_whole_is_named(state: WatchState, folder: Path) -> None:
    follower = follower_of(folder, FollowTiming(settled_after=1000, longest_wait=0.3))
    put(folder, "whole.csv", "insert,3,2,b")
    put(folder, "half.csv", "insert,4,2,b", age=0)
    with pytest.raises(ChangeError, match=r"half\.csv in .* has not been taken in: still being written"):
        follower.look_once(lambda: state._table)
    assert state.status.rows == 3


def test_a_file_that_changes_while_it_is_read_is_not_taken_in_half(
    state: WatchState, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(folder, "a.csv", "insert,3,2,b")
    grown: list[Any] = []

    def growing(data: Any) -> str:
        content = content_id(data)
        if len(grown) < 2:  # also when it is only looked whether it is new
            grown.append(data)
            with open(file, "a") as more:
                more.write(f"insert,{10 + len(grown)},2,b\n")
        return content

    monkeypatch.setattr(whole_table, "content_id", growing)
    assert followed(state, folder) == (["a.csv"], [])
    assert len(grown) == 2
    assert state.status.rows == 5


def test_a_file_that_changed_after_it_was_taken_in_is_told_of_every_time(state: WatchState, folder: Path) -> None:
    put(folder, "a.csv", "insert,3,2,b")
    assert followed(state, folder) == (["a.csv"], [])
    put(folder, "a.csv", "insert,3,2,c")
    put(folder, "b.csv", "insert,4,2,b")
    names: list[str] = []
    for expected in (["b.csv"], []):
        names.clear()
        problems: list[str] = []
        with pytest.raises(ChangeError, match=r"a\.csv in .* has changed since it was taken in"):
            state.follow(
                folder, once=True, on_batch=lambda outcome, name: names.append(name), on_problem=problems.append
            )
        assert names == expected
        assert [words.split()[0] for words in problems] == ["a.csv"]
    put(folder, "a.csv", "insert,3,2,b")  # as it was
    assert followed(state, folder) == ([], [])
    assert state.status.rows == 4


def test_a_file_that_does_not_fit_names_those_behind_it(state: WatchState, folder: Path) -> None:
    put(folder, "a.csv", "insert,3,2,b", age=40)
    put(folder, "bad.csv", "insert,1,2,b", age=30)
    put(folder, "c.csv", "insert,5,2,b", age=20)
    put(folder, "d.csv", "insert,6,2,b", age=10)
    with pytest.raises(ChangeError, match=r"bad\.csv: the key 1 is inserted") as refused:
        followed(state, folder)
    assert "since they come after it: c.csv, d.csv." in (refused.value.hint or "")
    assert state.status.rows == 3
    (folder / "bad.csv").unlink()
    assert followed(state, folder) == (["c.csv", "d.csv"], [])


def test_rules_that_evolve_follow_in_the_same_way(folder: Path) -> None:
    data = folder.with_name("data.csv")
    state = EvolveState.create(folder.with_name("kept"), data, key="id", engine="local")
    put(folder, "UP#1.CSV", "insert,3,2,b", age=400 * DAY)
    assert followed(state, folder) == (["UP#1.CSV"], [])
    put(folder, "UP#1.CSV", "insert,3,2,c")
    with pytest.raises(ChangeError, match="has changed since it was taken in"):
        followed(state, folder)


def test_a_running_follower_tells_of_a_change_once(state: WatchState, folder: Path) -> None:
    problems: list[str] = []
    follower = follower_of(folder, FollowTiming(), problems)

    def look() -> bool:
        return follower.look(lambda: state._table.newest())

    put(folder, "a.csv", "insert,3,2,b")
    assert not look()
    put(folder, "a.csv", "insert,3,2,c")
    assert not look()
    assert not look()
    assert len(problems) == 1
    put(folder, "a.csv", "insert,3,2,d")
    assert not look()
    assert len(problems) == 2


def follower_of(folder: Path, timing: FollowTiming, problems: list[str] | None = None) -> FolderFollower[Any]:
    told = [] if problems is None else problems
    return FolderFollower(folder, None, lambda outcome, name: None, told.append, timing)
