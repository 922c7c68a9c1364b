"""Copies of objects are whole, are this user's, and take no more room than they should."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holdfast.errors import OptionError, OutputError
from holdfast.states.file_cache import FileCache, cache_folder, remove_oldest

COPIES = FileCache("s3://bucket/state")


def made(name: str, content: bytes = b"x", *, used: float | None = None) -> Path:
    with COPIES.making(name) as file:
        file.write(content)
    path = COPIES.path(name)
    if used is not None:
        os.utime(path, (used, used))
    return path


def test_a_copy_is_there_when_it_is_whole(cache: Path) -> None:
    def cut_off() -> None:
        with COPIES.making("rows/a") as file:
            file.write(b"half")
            raise ValueError("cut off")

    with pytest.raises(ValueError, match="cut off"):
        cut_off()
    assert COPIES.have("rows/a") is None
    assert [own for own in cache.rglob("*") if own.is_file() and own.name != ".looked"] == []
    assert made("rows/a", b"whole") == COPIES.have("rows/a")
    assert FileCache("s3://bucket/other").have("rows/a") is None
    COPIES.forget("rows/a")
    COPIES.forget("rows/a")
    assert COPIES.have("rows/a") is None


def test_what_was_used_longest_ago_goes_first(cache: Path) -> None:
    old, newer, newest = (made(f"rows/{age}", bytes(10), used=age) for age in (100, 200, 300))
    remove_oldest(cache, most=30, used_before=1e9)
    assert all(own.exists() for own in (old, newer, newest))
    assert COPIES.have("rows/100") == old  # it is used now
    remove_oldest(cache, most=29, used_before=1e9)
    assert [own.exists() for own in (old, newer, newest)] == [True, False, True]
    remove_oldest(cache, most=0, used_before=200)
    assert newest.exists(), "somebody may have it open"


def test_room_is_made_when_a_copy_comes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = made("rows/old", bytes(2000), used=100)
    os.utime(cache / ".looked", (100, 100))
    made("rows/a")
    assert old.exists()
    monkeypatch.setenv("HOLDFAST_CACHE_GB", "0.000001")
    made("rows/b")
    assert old.exists(), "room is looked at now and then"
    os.utime(cache / ".looked", (100, 100))
    made("rows/c")
    assert not old.exists()
    monkeypatch.setenv("HOLDFAST_CACHE_GB", "much")
    os.utime(cache / ".looked", (4e9, 4e9))  # the clock went back since
    with pytest.raises(OptionError, match="HOLDFAST_CACHE_GB is 'much'"):
        made("rows/d")


def test_copies_are_for_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache" / "holdfast" / "states"
    assert stat.S_IMODE(cache_folder().stat().st_mode) == 0o700


def test_where_there_is_no_home_copies_are_among_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("HOLDFAST_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_folder() == tmp_path / f"holdfast-{os.getuid()}"
    monkeypatch.setattr("os.getuid", lambda: 4242)
    with pytest.raises(OutputError, match="where this user cannot write"):
        cache_folder()
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "file" / "x"))
    with pytest.raises(OutputError, match="HOLDFAST_CACHE"):
        cache_folder()
