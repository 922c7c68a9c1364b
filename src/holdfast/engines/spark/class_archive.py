"""An archive of Spark's classes (Java's AppCDS), which makes a start of Spark a third shorter.

After a command that has started Spark, a process in the background writes one for the next: Java is slower while it
notes what to write, so that no session that somebody waits for does it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyspark

from holdfast.engines.spark.java import Java, cache_folder, find_java, newest_java
from holdfast.errors import SessionError

SWITCH_VARIABLE = "HOLDFAST_CDS"

# Java skips an archive that does not fit; no need to warn the user.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xshare:auto"
_OLDEST_JAVA = 17
# Java writes the head of an archive last, so that one with these four bytes, in either order, is whole.
_HEADS = (b"\xf0\x0b\xab\xa8", b"\xa8\xab\x0b\xf0")
_LOWEST_PRIORITY = 19


@dataclass(frozen=True, kw_only=True)
class ArchiveLimits:
    """What an archive needs, and how often it is tried to write one."""

    # A session that ended before it ran anything has loaded a part of the classes only.
    least_bytes: int = 100_000_000
    least_free_disk: int = 1 << 30
    # Some Javas cannot write one.
    most_tries: int = 3
    # A process that writes one is expected to end within so many seconds.
    seconds_of_a_try: float = 900


_LIMITS = ArchiveLimits()


def class_archive_options(java: Java, env: Mapping[str, str], *, limits: ArchiveLimits = _LIMITS) -> str:
    """Returns the options with which Java uses the archive; none where there is none, or where it is off.

    There is one archive, of about 160 MB, for each Java and PySpark. `HOLDFAST_CDS=0` turns it off; with
    `HOLDFAST_CDS=write`, Java writes one when it ends. It is written under a name of its own and renamed when it is
    whole, so that no process sees a part of it.
    """
    archive = _archive(java, env)
    if archive is None or _switch(env) == "off":
        return ""
    _take_new(archive, limits)
    if _is_complete(archive, limits):
        return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'
    if _switch(env) != "write":
        return ""
    candidate = archive.with_suffix(f".{secrets.token_hex(4)}.new")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        candidate.with_suffix(".try").touch()
    except OSError:
        return ""
    return f'"-XX:ArchiveClassesAtExit={candidate}" {_QUIET}'


def write_class_archive_later(
    command: Sequence[str], env: Mapping[str, str], *, limits: ArchiveLimits = _LIMITS
) -> bool:
    """Starts a process that runs `command`, a small job on Spark, and writes the archive; returns whether it did.

    Only where an archive is missing and would be of use: the switch is not set, the machine is not one that runs a
    pipeline and is thrown away then (`CI`), the cache has room, and no other process is at it or has tried too often.
    The process has the lowest priority, and neither input nor output.
    """
    if _switch(env) != "auto" or env.get("CI"):
        return False
    try:
        java = find_java(env, newest=newest_java())
        archive = _archive(java, env)
        if archive is None:
            return False
        archive.parent.mkdir(parents=True, exist_ok=True)
        tries = [file.stat().st_mtime for file in _files(archive, "try")]
        has_room = shutil.disk_usage(archive.parent).free >= limits.least_free_disk
        if (
            _is_complete(archive, limits)
            or not has_room
            or len(tries) >= limits.most_tries
            or any(time.time() - began < limits.seconds_of_a_try for began in tries)
        ):
            return False
        nice = shutil.which("nice")
        subprocess.Popen(
            [*([nice, "-n", str(_LOWEST_PRIORITY)] if nice else []), *command],
            env={**env, SWITCH_VARIABLE: "write"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, SessionError):
        return False
    return True


def forget_class_archive(java: Java, env: Mapping[str, str]) -> bool:
    """Removes the archive of this Java, with which it did not start; returns whether there was one."""
    archive = _archive(java, env)
    if archive is None or not archive.is_file():
        return False
    with contextlib.suppress(OSError):
        archive.unlink()
    return True


def _switch(env: Mapping[str, str]) -> Literal["auto", "write", "off"]:
    word = env.get(SWITCH_VARIABLE, "").lower()
    if word in ("", "1", "true", "yes", "on"):
        return "auto"
    return "write" if word == "write" else "off"


def _archive(java: Java, env: Mapping[str, str]) -> Path | None:
    """Returns the file of this Java's archive; None where it can have none."""
    cache = cache_folder(env)
    if cache is None or java.version < _OLDEST_JAVA:
        return None
    identity = f"{java.home} {java.version} {pyspark.__version__} {Path(pyspark.__file__).parent}"
    return cache / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"


def _take_new(archive: Path, limits: ArchiveLimits) -> None:
    """Makes a whole new file the archive, and removes new ones that are of no use."""
    for candidate in filter(_is_whole, _files(archive, "new")):
        with contextlib.suppress(OSError):
            if _is_complete(archive, limits) or not _is_complete(candidate, limits):
                candidate.unlink()
            else:
                os.replace(candidate, archive)


def _files(archive: Path, ending: str) -> list[Path]:
    return sorted(archive.parent.glob(f"{archive.stem}.*.{ending}"))


def _is_complete(file: Path, limits: ArchiveLimits) -> bool:
    with contextlib.suppress(OSError):
        return file.stat().st_size >= limits.least_bytes
    return False


def _is_whole(file: Path) -> bool:
    with contextlib.suppress(OSError), open(file, "rb") as opened:
        return opened.read(4) in _HEADS
    return False
