"""Copies on this machine of files of object stores, so that they can be mapped. They may go at any time.

A copy is of a file whose name no other content ever had, and is there whole or not at all. What was used longest ago
goes first when the copies take more room than they should, unless it was used within the hour: somebody may have it
open.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from holdfast.errors import OptionError, OutputError

# The folder of the copies, and how many bytes they should have at most, in GB.
PLACE, MOST = "HOLDFAST_CACHE", "HOLDFAST_CACHE_GB"
_MOST_GB = 10.0
_IN_USE = 3600.0
# How often the room that copies take is looked at, at most.
_LOOK_AGAIN = 60.0
_LOOKED = ".looked"


@dataclass(frozen=True)
class FileCache:
    """The copies of the files of the store at `root`."""

    root: str

    def path(self, name: str) -> Path:
        """Where a copy of the file is, or would be."""
        store = hashlib.sha256(self.root.encode()).hexdigest()[:16]
        return cache_folder() / store / name.replace("/", "-")

    def have(self, name: str) -> Path | None:
        """Returns the copy, which counts as used now; None where there is none."""
        path = self.path(name)
        try:
            os.utime(path)
        except OSError:
            return None
        return path

    @contextmanager
    def making(self, name: str) -> Iterator[IO[bytes]]:
        """A file to write; what it holds is the copy when this ends without an error."""
        path = self.path(name)
        waiting = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_room(path.parent.parent)
            with open(waiting, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(waiting, path)
        except OSError as problem:
            if isinstance(problem, (OutputError, FileNotFoundError)):  # what was to be copied is not there
                raise
            raise OutputError(
                f"cannot write to {path.parent}, where files of the state {self.root} are kept for a while: "
                f"{problem.strerror or problem}.",
                hint=f"make room there, or name another folder with {PLACE}.",
            ) from problem
        finally:
            waiting.unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        with suppress(OSError):
            self.path(name).unlink(missing_ok=True)


def cache_folder() -> Path:
    """The folder of all copies of this user: `HOLDFAST_CACHE`, or one in the user's cache or among temporary files.

    Raises OutputError where it cannot be made, or is another user's.
    """
    if os.environ.get(PLACE):
        places = [Path(os.environ[PLACE]).absolute()]
    else:
        home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and Path(os.environ["HOME"], ".cache"))
        places = [Path(home, "holdfast", "states")] if home else []
        places.append(Path(tempfile.gettempdir(), f"holdfast-{os.getuid()}"))
    for folder in places:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
                return folder
    raise OutputError(
        f"files of a state on an object store are kept for a while in {places[-1]}, where this user cannot write.",
        hint=f"name another folder with {PLACE}.",
    )


def _most_bytes() -> float:
    given = os.environ.get(MOST, "")
    try:
        return float(given or _MOST_GB) * 1e9
    except ValueError:
        raise OptionError(f"{MOST} is {given!r}, which is no number of gigabytes.") from None


def _make_room(folder: Path) -> None:
    """The copies take no more room than they should, as far as they are not in use; looked at now and then."""
    now, looked = time.time(), folder / _LOOKED
    with suppress(OSError):
        # A time in the future is that of a clock that went back.
        if 0 <= now - looked.stat().st_mtime < _LOOK_AGAIN:
            return
    with suppress(OSError):
        looked.touch()
        remove_oldest(folder, most=_most_bytes(), used_before=now - _IN_USE)


def remove_oldest(folder: Path, *, most: float, used_before: float) -> None:
    """Copies go, those used longest ago first, until the others have no more than so many bytes.

    Only those go that were last used before this time.
    """
    copies = []
    for entry in (entry for store in os.scandir(folder) if store.is_dir() for entry in os.scandir(store)):
        with suppress(FileNotFoundError):
            now = entry.stat()
            copies.append((now.st_mtime, now.st_size, entry.path))
    room = sum(size for _, size, _ in copies)
    for used, size, path in sorted(copies):
        if room <= most or used >= used_before:
            return
        with suppress(FileNotFoundError):
            os.unlink(path)
        room -= size
