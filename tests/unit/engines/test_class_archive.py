"""When Java is told to use an archive of Spark's classes, and when to write one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.engines.spark import class_archive
from holdfast.engines.spark.class_archive import class_archive_options, forget_class_archive
from holdfast.engines.spark.java import Java

JAVA = Java(Path("/some/java"), 17, has_vector_module=True, origin="PATH")
WHOLE = b"\xa8\xab\x0b\xf0 and the rest"


def written(options: str) -> Path:
    path = re.search(r'"-XX:ArchiveClassesAtExit=([^"]+)"', options)
    assert path is not None, options
    return Path(path[1])


@pytest.fixture(autouse=True)
def _small_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_archive, "LEAST_BYTES", len(WHOLE))


def test_the_first_java_writes_the_archive_that_the_next_one_uses(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}
    written(class_archive_options(JAVA, env)).write_bytes(WHOLE)
    used = class_archive_options(JAVA, env)
    archive = Path(re.findall(r'"-XX:SharedArchiveFile=([^"]+)"', used)[0])
    assert archive.read_bytes() == WHOLE
    assert not list(archive.parent.glob("*.new"))
    assert class_archive_options(JAVA, env) == used


def test_an_archive_of_a_session_that_ran_nothing_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_archive, "LEAST_BYTES", len(WHOLE) + 1)
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}
    for _ in range(5):
        written(class_archive_options(JAVA, env)).write_bytes(WHOLE)
    written(class_archive_options(JAVA, env)).write_bytes(WHOLE + b"!")
    assert "-XX:SharedArchiveFile=" in class_archive_options(JAVA, env)


def test_an_archive_that_is_still_being_written_is_not_used(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}
    first = written(class_archive_options(JAVA, env))
    first.write_bytes(bytes(64))
    assert written(class_archive_options(JAVA, env)) != first


def test_a_java_that_writes_none_is_asked_a_few_times(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}
    asked = [class_archive_options(JAVA, env) for _ in range(5)]
    assert [bool(options) for options in asked] == [True, True, True, False, False]


@pytest.mark.parametrize("word", ["0", "off", "False", ""])
def test_nobody_gets_an_archive_unasked(tmp_path: Path, word: str) -> None:
    assert class_archive_options(JAVA, {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": word}) == ""
    assert list(tmp_path.iterdir()) == []


def test_an_old_java_and_a_machine_without_a_cache_have_none(tmp_path: Path) -> None:
    assert (
        class_archive_options(replace(JAVA, version=11), {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}) == ""
    )
    assert class_archive_options(JAVA, {"HOLDFAST_CDS": "1"}) == ""


def test_an_archive_with_which_java_does_not_start_is_forgotten(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}
    assert not forget_class_archive(JAVA, env)
    written(class_archive_options(JAVA, env)).write_bytes(WHOLE)
    class_archive_options(JAVA, env)
    assert forget_class_archive(JAVA, env)
    assert "SharedArchiveFile" not in class_archive_options(JAVA, env)
