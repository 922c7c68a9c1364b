"""What numba keeps of the kernels on disk, and where, also when the package is a zip archive."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numba
import pytest

import holdfast.kernels
from holdfast.engines.spark import archive
from holdfast.kernels.__main__ import compile_kernels
from holdfast.kernels.unpacked import unpacked_kernels

# Imports the archive's kernels, runs them all, and tells how many came from disk and how many were compiled.
USE = """
import json, sys
sys.path[:0] = sys.argv[1:]
from holdfast.kernels.__main__ import compile_kernels
from holdfast.kernels import radix_sort, runs
compile_kernels()
stats = radix_sort.ranked.stats, runs._probed_flat.stats
print(json.dumps([
    radix_sort.__file__,
    sum(sum(kernel.cache_hits.values()) for kernel in stats),
    sum(sum(kernel.cache_misses.values()) for kernel in stats),
]))
"""


def test_no_kernel_on_disk_has_a_class_of_ours_in_its_signature() -> None:
    compile_kernels()
    kept: list[tuple[Any, Any]] = []
    for module in pkgutil.iter_modules(holdfast.kernels.__path__):
        kernels: Iterable[Any] = vars(importlib.import_module(f"holdfast.kernels.{module.name}")).values()
        for kernel in kernels:
            cache = getattr(kernel, "_cache", None)
            if cache is not None and cache.cache_path is not None:
                kept += [(kernel, signature) for signature in kernel.signatures]
    assert len(kept) > 40
    with_classes = {
        f"{kernel.__module__}.{kernel.__name__}"
        for kernel, signature in kept
        if any(isinstance(argument, numba.types.BaseNamedTuple) for argument in signature)
    }
    assert with_classes == set()


def test_workers_with_the_archive_alone_find_its_kernels_compiled(tmp_path: Path) -> None:
    packed = tmp_path / "holdfast.zip"
    archive.write_archive(packed)
    libraries = sysconfig.get_paths()["purelib"]
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-S", "-c", USE, str(packed), libraries],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"XDG_CACHE_HOME": str(cache)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    file, hits, misses = json.loads(done.stdout)
    assert Path(file).is_relative_to(cache)
    assert hits > 0
    assert misses == 0


def test_kernels_are_unpacked_once_and_other_kernels_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folders = []
    for name, text in (("one", "a = 1"), ("same", "a = 1"), ("other", "a = 2")):
        with ZipFile(tmp_path / f"{name}.zip", "w") as packed:
            packed.writestr("holdfast/kernels/some.py", text)
        folder = unpacked_kernels(tmp_path / f"{name}.zip")
        assert folder is not None
        assert (folder / "some.py").read_text() == text
        folders.append(folder)
    assert folders[0] == folders[1] != folders[2]
    assert sorted((tmp_path / "cache" / "holdfast").iterdir()) == sorted(set(folders))


def test_kernels_are_unpacked_beside_the_archive_where_the_user_has_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").touch()
    with ZipFile(tmp_path / "holdfast.zip", "w") as packed:
        packed.writestr("holdfast/kernels/some.py", "a = 1")
    folder = unpacked_kernels(tmp_path / "holdfast.zip")
    assert folder is not None
    assert folder.parent == tmp_path


def test_an_archive_that_cannot_be_written_is_said_in_a_line(tmp_path: Path) -> None:
    wrong = archive.main([str(tmp_path / "missing" / "holdfast.zip")])
    assert wrong is not None
    assert "cannot write the archive" in wrong
    assert "No such file or directory" in wrong
    assert (archive.main([]) or "").startswith("usage: ")
