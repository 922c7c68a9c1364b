"""Checks whether this machine has what Holdfast needs, and says what to do where it has not."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from holdfast.engines.doctor import (
    NEEDED,
    card_finding,
    extra_findings,
    kernels_finding,
    package_findings,
    python_finding,
)
from holdfast.engines.findings import MachineFinding
from holdfast.engines.physical_memory import physical_memory
from holdfast.engines.spark.java import cache_folder, find_java, newest_java
from holdfast.engines.spark.session import driver_memory_gigabytes, get_session
from holdfast.errors import HoldfastError
from holdfast.rules.plain_words import number

_GIGABYTE = 1 << 30
_LEAST_DISK = 2 * _GIGABYTE
_NEEDED = ("pyspark", *NEEDED)


def examine(env: Mapping[str, str] | None = None, *, start: bool) -> list[MachineFinding]:
    """Returns a finding for each thing that Holdfast needs; with `start`, also whether Spark starts and counts."""
    env = os.environ if env is None else env
    findings = [python_finding(), *package_findings(_NEEDED), _java(env), _memory(), *_folders(env)]
    findings += [kernels_finding(), *extra_findings(), card_finding()]
    return [*findings, _spark()] if start else findings


def _java(env: Mapping[str, str]) -> MachineFinding:
    try:
        java = find_java(env, newest=newest_java())
    except HoldfastError as problem:
        return MachineFinding("Java", "problem", problem.message, problem.hint)
    return MachineFinding("Java", "ok", f"{java.version} at {java.home} ({java.origin})")


def _memory() -> MachineFinding:
    memory = physical_memory()
    said = f"{memory / _GIGABYTE:.0f} GB, of which Spark's driver gets {driver_memory_gigabytes(memory)} GB"
    if memory < 2 * _GIGABYTE:
        return MachineFinding(
            "memory", "note", said, "small tables will do; give more with --conf spark.driver.memory=…."
        )
    return MachineFinding("memory", "ok", f"{said}; {number(os.cpu_count() or 1, 'core')}")


def _folders(env: Mapping[str, str]) -> Iterator[MachineFinding]:
    places = {
        "scratch files": Path(env.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]),
        "here": Path.cwd(),
    }
    cache = cache_folder(env)
    if cache is not None:
        places["cache"] = cache
    for what, place in places.items():
        yield _folder(what, place)


def _folder(what: str, place: Path) -> MachineFinding:
    near = next(folder for folder in (place, *place.parents) if folder.is_dir())
    try:
        with tempfile.TemporaryFile(dir=near):
            pass
    except OSError as problem:
        said = f"{near} cannot be written to: {problem.strerror}"
        if what == "here":
            return MachineFinding(what, "note", said, "results can be written elsewhere.")
        variable = "SPARK_LOCAL_DIRS" if what == "scratch files" else "XDG_CACHE_HOME"
        return MachineFinding(what, "problem", said, f"make it writable, or name another folder with {variable}.")
    free = shutil.disk_usage(near).free
    if free < _LEAST_DISK and what != "here":
        return MachineFinding(
            what, "note", f"{near} has {free / _GIGABYTE:.1f} GB left", "large tables need more room there."
        )
    return MachineFinding(what, "ok", f"{place}, {free / _GIGABYTE:,.0f} GB free")


def _spark() -> MachineFinding:
    try:
        counted = get_session().range(0, 1_000, 1, 2).count()
    except HoldfastError as problem:
        return MachineFinding("Spark", "problem", problem.message, problem.hint)
    if counted != 1_000:
        return MachineFinding("Spark", "problem", f"counts 1,000 rows as {counted:,}", "do not trust this session.")
    return MachineFinding("Spark", "ok", "starts, and counts")
