"""When Java uses an archive of Spark's classes, and when a process in the background writes one."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.engines.spark.class_archive import (
    ArchiveLimits,
    class_archive_options,
    forget_class_archive,
    write_class_archive_later,
)
from holdfast.engines.spark.java import Java, find_java, newest_java
from waiting import wait_until

JAVA = Java(Path("/some/java"), 17, has_vector_module=True, origin="PATH")
WHOLE = b"\xa8\xab\x0b\xf0 and the rest"
LIMITS = ArchiveLimits(least_bytes=len(WHOLE), least_free_disk=0)


def options_of(cache: Path, switch: str | None, limits: ArchiveLimits = LIMITS) -> str:
    env = {"XDG_CACHE_HOME": str(cache)} | ({} if switch is None else {"HOLDFAST_CDS": switch})
    return class_archive_options(JAVA, env, limits=limits)


def file_to_write(cache: Path) -> Path:
    options = options_of(cache, "write")
    path = re.search(r'"-XX:ArchiveClassesAtExit=([^"]+)"', options)
    assert path is not None, options
    return Path(path[1])


def test_what_one_java_has_written_the_next_one_uses(tmp_path: Path) -> None:
    file_to_write(tmp_path).write_bytes(WHOLE)
    used = options_of(tmp_path, None)
    archive = Path(re.findall(r'"-XX:SharedArchiveFile=([^"]+)"', used)[0])
    assert archive.read_bytes() == WHOLE
    assert not list(archive.parent.glob("*.new"))
    assert options_of(tmp_path, "write") == used


def test_an_archive_of_a_session_that_ran_nothing_is_not_used(tmp_path: Path) -> None:
    small = file_to_write(tmp_path)
    small.write_bytes(WHOLE[:-1])
    assert options_of(tmp_path, None) == ""
    assert not small.exists()
    file_to_write(tmp_path).write_bytes(WHOLE)
    assert "-XX:SharedArchiveFile=" in options_of(tmp_path, None)


def test_an_archive_that_is_still_being_written_is_not_used(tmp_path: Path) -> None:
    first = file_to_write(tmp_path)
    first.write_bytes(bytes(64))
    assert options_of(tmp_path, None) == ""
    assert file_to_write(tmp_path) != first
    assert first.exists()


@pytest.mark.parametrize("word", ["0", "off", "False"])
def test_an_archive_can_be_left_out(tmp_path: Path, word: str) -> None:
    file_to_write(tmp_path).write_bytes(WHOLE)
    assert options_of(tmp_path, word) == ""


def test_a_session_that_somebody_waits_for_writes_none(tmp_path: Path) -> None:
    assert options_of(tmp_path, None) == options_of(tmp_path, "1") == ""
    assert list(tmp_path.iterdir()) == []


def test_an_old_java_and_a_machine_without_a_cache_have_none(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "write"}
    assert class_archive_options(replace(JAVA, version=11), env) == ""
    assert class_archive_options(JAVA, {"HOLDFAST_CDS": "write"}) == ""


def test_an_archive_with_which_java_does_not_start_is_forgotten(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    assert not forget_class_archive(JAVA, env)
    file_to_write(tmp_path).write_bytes(WHOLE)
    options_of(tmp_path, None)
    assert forget_class_archive(JAVA, env)
    assert options_of(tmp_path, None) == ""


# --- in the background -----------------------------------------------------------------------------------


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    without = {name: value for name, value in os.environ.items() if name not in ("CI", "HOLDFAST_CDS")}
    return {**without, "XDG_CACHE_HOME": str(tmp_path)}


def writer_of(file: Path) -> list[str]:
    """A process that writes down how it was started."""
    written = f"import os; open({os.fspath(file)!r}, 'w').write(os.environ['HOLDFAST_CDS'])"
    return [sys.executable, "-c", written]


def test_a_process_is_told_to_write_it(tmp_path: Path, env: dict[str, str]) -> None:
    said = tmp_path / "said"
    assert write_class_archive_later(writer_of(said), env, limits=LIMITS)
    wait_until(lambda: said.exists() and said.read_text() == "write", "the process")


def test_no_process_is_started_where_the_archive_is_there(tmp_path: Path, env: dict[str, str]) -> None:
    java = find_java(env, newest=newest_java())
    candidate = re.findall(r'AtExit=([^"]+)"', class_archive_options(java, {**env, "HOLDFAST_CDS": "write"}))[0]
    Path(candidate).write_bytes(WHOLE)
    assert "SharedArchiveFile" in class_archive_options(java, env, limits=LIMITS)
    assert not write_class_archive_later(writer_of(tmp_path / "said"), env, limits=LIMITS)


@pytest.mark.parametrize(
    ("more", "limits"),
    [
        ({"HOLDFAST_CDS": "0"}, LIMITS),
        ({"HOLDFAST_CDS": "write"}, LIMITS),
        ({"CI": "true"}, LIMITS),
        ({"JAVA_HOME": "/nowhere", "PATH": ""}, replace(LIMITS, most_tries=0)),
        ({}, replace(LIMITS, least_free_disk=1 << 60)),
        ({}, replace(LIMITS, most_tries=0)),
    ],
)
def test_no_process_is_started_where_it_is_not_wanted(
    tmp_path: Path, env: dict[str, str], more: dict[str, str], limits: ArchiveLimits
) -> None:
    assert not write_class_archive_later(writer_of(tmp_path / "said"), {**env, **more}, limits=limits)


def test_one_process_at_a_time_writes_it(tmp_path: Path, env: dict[str, str]) -> None:
    java = find_java(env, newest=newest_java())
    class_archive_options(java, {**env, "HOLDFAST_CDS": "write"}, limits=LIMITS)
    assert not write_class_archive_later(writer_of(tmp_path / "said"), env, limits=LIMITS)
    assert write_class_archive_later(writer_of(tmp_path / "said"), env, limits=replace(LIMITS, seconds_of_a_try=0)), (
        "one that has had its time is not waited for"
    )
