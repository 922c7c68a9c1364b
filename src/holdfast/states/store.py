"""The file system as a state needs it: whole files that appear at once, and one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holdfast.errors import BusyStateError, OutputError, StateError
from holdfast.states.limits import StateLimits

LOCK = "writer.lock"


@dataclass(frozen=True)
class Store:
    """A folder that all of Spark's machines see under one path. Names are relative to it."""

    root: str
    limits: StateLimits = field(default_factory=StateLimits)

    def path(self, name: str) -> Path:
        return Path(self.root, name)

    def exists(self, name: str) -> bool:
        return self.path(name).exists()

    def names(self, folder: str) -> list[str]:
        """The names of the files in the folder, in order; none where there is no such folder."""
        try:
            return sorted(entry.name for entry in os.scandir(self.path(folder)) if entry.is_file())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read(self, name: str) -> bytes:
        return self.path(name).read_bytes()

    def make(self, folders: Iterable[str]) -> None:
        """The folders are there, and so is the store itself."""
        with translate_os_errors(self.root):
            for folder in folders:
                self.path(folder).mkdir(parents=True, exist_ok=True)

    def create(self, name: str, content: bytes) -> bool:
        """The file is there with this content, and this call made it; False where it was there before.

        It appears whole or not at all, also after a crash, and of several callers one makes it.
        """
        target = self.path(name)
        waiting = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        with translate_os_errors(self.root):
            try:
                with open(waiting, "xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                try:
                    os.link(waiting, target)
                except FileExistsError:
                    return False
            finally:
                waiting.unlink(missing_ok=True)
            sync_folder(target.parent)
        return True

    def replace(self, name: str, content: bytes) -> None:
        """The file has this content, whether it was there or not; after a loss of power it may have an earlier one."""
        target = self.path(name)
        waiting = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        with translate_os_errors(self.root):
            try:
                waiting.write_bytes(content)
                os.replace(waiting, target)
            finally:
                waiting.unlink(missing_ok=True)

    def move(self, name: str, target: str) -> None:
        """The file is at `target`, whether this call moved it or an earlier one."""
        with translate_os_errors(self.root):
            try:
                os.replace(self.path(name), self.path(target))
            except (FileNotFoundError, NotADirectoryError):
                if not self.exists(target):
                    raise

    def remove(self, names: Iterable[str]) -> None:
        with translate_os_errors(self.root):
            for name in names:
                self.path(name).unlink(missing_ok=True)

    @contextmanager
    def only_writer(self) -> Iterator[None]:
        """Nobody else writes to the store in here; BusyStateError where somebody does.

        The system lets go of the lock when its process ends, however it ends.
        """
        with translate_os_errors(self.root):
            file = os.open(self.path(LOCK), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyStateError(
                    f"another process is writing to the state {self.root}; nothing was changed.",
                    hint="wait until it is done, then run this again.",
                ) from None
            yield
        finally:
            os.close(file)


def open_store(place: str | os.PathLike[str]) -> Store:
    """The store at a local path, or at one that is mounted on all machines. Nothing is made."""
    given = os.fspath(place)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", given)
    if scheme is None:
        return Store(os.path.abspath(os.path.expanduser(given)))
    if scheme[1].lower() != "file":
        raise StateError(
            f"a state cannot be kept at {given}: what a state needs of a file system was never tested on "
            f"'{scheme[1]}'.",
            hint="name a local folder, or one that is mounted at the same path on all of Spark's machines.",
        )
    return Store(os.path.abspath(unquote(urlsplit(given).path)))


def sync_folder(folder: Path) -> None:
    """The names in the folder survive a loss of power."""
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def written_name(name: str) -> str:
    """Returns the name that a file was to have whose writer was killed before it was whole; others' as they are."""
    waiting = re.fullmatch(r"\.(.+)\.[0-9a-f]{12}", name)
    return name if waiting is None else waiting[1]


@contextmanager
def translate_os_errors(root: str) -> Iterator[None]:
    """Turns what the file system refuses into an error that names the state and the reason."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as problem:
        if isinstance(problem, OutputError):
            raise
        full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
        raise OutputError(
            f"cannot write to the state {root}: {problem.strerror or problem}. Its last version is untouched.",
            hint="make room on the disk, then run this again." if full else "check who may write there.",
        ) from problem
