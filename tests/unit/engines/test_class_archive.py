"""When Java is told to use an archive of Spark's classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.engines.spark import class_archive
from holdfast.engines.spark.class_archive import class_archive_options
from holdfast.engines.spark.java import Java

JAVA = Java(Path("/some/java"), 17, has_vector_module=True, origin="PATH")


def test_nobody_gets_an_archive_unasked(tmp_path: Path) -> None:
    assert class_archive_options(JAVA, {"XDG_CACHE_HOME": str(tmp_path)}) == ""
    assert list(tmp_path.iterdir()) == []


def test_the_archive_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def make(archive: Path, env: object) -> bool:
        made.append(archive)
        archive.parent.mkdir()
        archive.touch()
        return True

    monkeypatch.setattr(class_archive, "_create_archive", make)
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}
    options = [class_archive_options(JAVA, env) for _ in range(2)]
    assert len(made) == 1
    assert options[0] == options[1]
    assert f"-XX:SharedArchiveFile={made[0]}" in options[0]


def test_a_java_that_cannot_make_one_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[Path] = []

    def fail(archive: Path, env: object) -> bool:
        tries.append(archive)
        archive.parent.mkdir()
        return False

    monkeypatch.setattr(class_archive, "_create_archive", fail)
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOLDFAST_CDS": "1"}
    assert [class_archive_options(JAVA, env) for _ in range(2)] == ["", ""]
    assert len(tries) == 1
