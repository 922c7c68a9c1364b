"""An archive of Spark's classes (Java's AppCDS), which makes a start a third shorter. Off by default.

The first session that this machine starts with it on writes it as its Java ends, in the background; later ones use it.
Java is slower while it notes what to write, so that machines which start Spark once have nothing of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import pyspark

from holdfast.engines.spark.java import Java, cache_folder

SWITCH_VARIABLE = "HOLDFAST_CDS"

# Java skips an archive that does not fit; no need to warn the user.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xshare:auto"
_OLDEST_JAVA = 17
# Java writes the head of an archive last, so that one with these four bytes, in either order, is whole.
_HEADS = (b"\xf0\x0b\xab\xa8", b"\xa8\xab\x0b\xf0")
_MOST_TRIES = 3
# A session that ended before it ran anything has loaded a part of the classes only.
LEAST_BYTES = 100_000_000


def class_archive_options(java: Java, env: Mapping[str, str]) -> str:
    """Returns the options with which Java uses the archive, or writes one when it ends; none where it is off.

    There is one archive, of about 160 MB, for each Java and PySpark. It is written under a name of its own and renamed
    when it is whole, so that no process sees a part of it. `HOLDFAST_CDS=1` turns it on.
    """
    cache = cache_folder(env)
    if env.get(SWITCH_VARIABLE, "").lower() not in ("1", "true", "yes", "on") or cache is None:
        return ""
    archive = _archive(java, cache)
    fresh = sorted(archive.parent.glob(f"{archive.stem}.*.new"))
    for candidate in filter(_is_whole, fresh):
        with contextlib.suppress(OSError):
            if _has_all(candidate):
                os.replace(candidate, archive)
            else:  # the next session may write another one
                candidate.unlink()
                candidate.with_suffix(".try").unlink(missing_ok=True)
    if archive.is_file() and _has_all(archive):
        for leftover in fresh:
            leftover.unlink(missing_ok=True)
        return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'
    tries = sorted(archive.parent.glob(f"{archive.stem}.*.try"))
    if java.version < _OLDEST_JAVA or len(tries) >= _MOST_TRIES:
        return ""
    candidate = archive.with_suffix(f".{secrets.token_hex(4)}.new")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        # Some Javas cannot write one; after a few tries they are no longer asked to.
        candidate.with_suffix(".try").touch()
    except OSError:
        return ""
    return f'"-XX:ArchiveClassesAtExit={candidate}" {_QUIET}'


def forget_class_archive(java: Java, env: Mapping[str, str]) -> bool:
    """Removes the archive of this Java, with which it did not start; returns whether there was one."""
    cache = cache_folder(env)
    archive = None if cache is None else _archive(java, cache)
    if archive is None or not archive.is_file():
        return False
    with contextlib.suppress(OSError):
        archive.unlink()
    return True


def _archive(java: Java, cache: Path) -> Path:
    identity = f"{java.home} {java.version} {pyspark.__version__} {Path(pyspark.__file__).parent}"
    return cache / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"


def _has_all(file: Path) -> bool:
    return file.stat().st_size >= LEAST_BYTES


def _is_whole(file: Path) -> bool:
    with contextlib.suppress(OSError), open(file, "rb") as opened:
        return opened.read(4) in _HEADS
    return False
