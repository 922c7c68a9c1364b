"""A parser that was kept reads as one that is built, and a file that cannot be kept or read changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Tree

from holdfast.rules.kept_parser import kept_parser

GRAMMAR = """
start: WORD ("," WORD)*
WORD: /[a-z]+/
"""


def words(options: dict[str, bool] | None = None) -> list[str]:
    tree = kept_parser(GRAMMAR, **(options or {})).parse("a,b")
    assert isinstance(tree, Tree)
    return [str(word) for word in tree.children]


def test_a_kept_parser_reads_as_a_built_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert words() == ["a", "b"]
    (file,) = (tmp_path / "holdfast").iterdir()
    kept = file.stat().st_mtime_ns
    assert words() == ["a", "b"]
    assert file.stat().st_mtime_ns == kept


def test_other_options_build_it_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert words() == ["a", "b"]
    assert words({"keep_all_tokens": True}) == ["a", ",", "b"]


@pytest.mark.parametrize("content", [b"", b"no parser\n", b"\x80"])
def test_a_damaged_file_is_built_anew(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words()
    (file,) = (tmp_path / "holdfast").iterdir()
    file.write_bytes(content)
    assert words() == words() == ["a", "b"]
    assert file.read_bytes() != content


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").touch()
    assert words() == ["a", "b"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert words() == ["a", "b"]
