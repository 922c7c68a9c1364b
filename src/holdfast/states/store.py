"""Where the files of a state are: whole files that appear at once, and one writer at a time.

A store is a folder, here, or a bucket of an object store, in `object_store`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, ClassVar, Self
from urllib.parse import unquote, urlsplit

from holdfast.errors import BusyStateError, MissingPackageError, OutputError, StateError
from holdfast.states.checksum import FileSum, sum_of_file
from holdfast.states.limits import StateLimits

LOCK = "writer.lock"


@dataclass(frozen=True)
class StoredFile:
    """What a store says of a file without reading it. Its `identity` changes when somebody writes the file.

    `modified` and `changed` are seconds since 1970; the second is also that of a file that was moved.
    """

    length: int
    modified: float
    changed: float
    identity: tuple[int | str, ...]


@dataclass(frozen=True)
class Store(ABC):
    """Files under names that are relative to `root`. Every machine that runs a task reaches them.

    Reading raises OSError for a file that is not there. What cannot be written raises OutputError, which says that
    nothing was changed.
    """

    # Whether a file with a known sum is compared with it whenever it is fetched. Otherwise that is done beforehand.
    checked_when_fetched: ClassVar[bool]

    root: str
    limits: StateLimits = field(default_factory=StateLimits)

    @property
    def others_may_write(self) -> bool:
        """Whether a writer before this one has not said that it is done, and may still be at work."""
        return False

    @property
    def local_folder(self) -> Path | None:
        """The folder, for what can only be written into one; None where the store is none."""
        return None

    # Reading --------------------------------------------------------------------------------------------------

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is a file of this name."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of the files in the folder, in order; none where there is no such folder."""

    @abstractmethod
    def top_names(self) -> list[str]:
        """The names of all files and folders at the root, in order. StateError where the root is a file."""

    @abstractmethod
    def marks(self, names: Iterable[str]) -> Mapping[str, StoredFile | OSError]:
        """What is known of each of the files without reading it, or why nothing is."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of the file as it is now."""

    def read_all(self, names: Sequence[str]) -> list[bytes]:
        """The contents of the files, in order."""
        return [self.read(name) for name in names]

    def bytes_of(self, names: Iterable[str]) -> int:
        """How many bytes the files have together. Raises OSError where one is not there."""
        total = 0
        for mark in self.marks(names).values():
            if isinstance(mark, OSError):
                raise mark
            total += mark.length
        return total

    @abstractmethod
    def file(self, name: str, written: FileSum | None = None) -> Path:
        """Returns a file on this machine with the content, which stays there while it is used.

        Its name is one that no other content ever had. DamagedStateError where it is seen to be unlike `written`.
        """

    @abstractmethod
    def sum_of(self, name: str) -> FileSum:
        """The sum of the file as it is in the store now, read as a whole."""

    # Writing --------------------------------------------------------------------------------------------------

    @abstractmethod
    def make(self, folders: Iterable[str]) -> None:
        """The folders are there, and so is the store itself."""

    @abstractmethod
    def write(self, name: str, write: Callable[[IO[bytes]], object]) -> FileSum:
        """The sum of a new file with what `write` puts into it, which is durable when this returns.

        Its name is one that no other file ever had, so that it needs not appear whole.
        """

    @abstractmethod
    def create(self, name: str, content: bytes, *, private: bool = False) -> bool:
        """The file is there with this content, and this call made it; False where it was there before.

        It appears whole or not at all, also after a crash, and of several callers one makes it. One that is private is
        for this user alone, where the store knows users.
        """

    @abstractmethod
    def replace(self, name: str, content: bytes) -> None:
        """The file has this content, whether it was there or not; after a loss of power it may have an earlier one."""

    @abstractmethod
    def move(self, name: str, target: str) -> None:
        """The file is at `target`, whether this call moved it or an earlier one."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """The files are gone."""

    @abstractmethod
    def require_writer(self) -> None:
        """BusyStateError where somebody else has become the one writer since this store was handed out as its."""

    @abstractmethod
    def only_writer(self) -> AbstractContextManager[Self]:
        """The store as its one writer uses it; BusyStateError where somebody else writes to it now."""


@dataclass(frozen=True)
class FolderStore(Store):
    """A folder that all of Spark's machines see under one path."""

    checked_when_fetched: ClassVar[bool] = False

    def path(self, name: str) -> Path:
        return Path(self.root, name)

    @property
    def local_folder(self) -> Path:
        return Path(self.root)

    def exists(self, name: str) -> bool:
        return self.path(name).exists()

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self.path(folder)) if entry.is_file())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def top_names(self) -> list[str]:
        place = self.path("")
        if place.exists() and not place.is_dir():
            raise StateError(f"{self.root} is a file, not a folder.")
        return sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []

    def marks(self, names: Iterable[str]) -> Mapping[str, StoredFile | OSError]:
        return {name: self._mark(name) for name in names}

    def _mark(self, name: str) -> StoredFile | OSError:
        try:
            now = os.stat(self.path(name))
        except OSError as problem:
            return problem
        identity = (now.st_ino, now.st_mtime_ns, now.st_ctime_ns)
        return StoredFile(now.st_size, now.st_mtime, now.st_ctime, identity)

    def read(self, name: str) -> bytes:
        return self.path(name).read_bytes()

    def file(self, name: str, written: FileSum | None = None) -> Path:
        return self.path(name)

    def sum_of(self, name: str) -> FileSum:
        return sum_of_file(self.path(name))

    def make(self, folders: Iterable[str]) -> None:
        with translate_os_errors(self.root):
            for folder in folders:
                self.path(folder).mkdir(parents=True, exist_ok=True)

    def write(self, name: str, write: Callable[[IO[bytes]], object]) -> FileSum:
        with translate_os_errors(self.root):
            with open(self.path(name), "xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            return sum_of_file(self.path(name))

    def create(self, name: str, content: bytes, *, private: bool = False) -> bool:
        target = self.path(name)
        waiting = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        with translate_os_errors(self.root):
            try:
                with open(
                    os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666), "wb"
                ) as f:
                    f.write(content)
                    f.flush()
                    os.fsync(f.fileno())
                try:
                    os.link(waiting, target)
                except FileExistsError:
                    return False
            finally:
                waiting.unlink(missing_ok=True)
            sync_folder(target.parent)
        return True

    def replace(self, name: str, content: bytes) -> None:
        target = self.path(name)
        waiting = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        with translate_os_errors(self.root):
            try:
                waiting.write_bytes(content)
                os.replace(waiting, target)
            finally:
                waiting.unlink(missing_ok=True)

    def move(self, name: str, target: str) -> None:
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

    def require_writer(self) -> None:
        """Nothing: nobody else gets the lock while its process lives."""

    @contextmanager
    def only_writer(self) -> Iterator[Self]:
        """The store itself. The system lets go of the lock when its process ends, however it ends."""
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
            yield self
        finally:
            os.close(file)


def open_store(place: str | os.PathLike[str]) -> Store:
    """The store at a path, local or mounted on all machines, or at the URL of an object store. Nothing is made."""
    given = os.fspath(place)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", given)
    if scheme is None:
        return FolderStore(os.path.abspath(os.path.expanduser(given)))
    if scheme[1].lower() == "file":
        return FolderStore(os.path.abspath(unquote(urlsplit(given).path)))
    from holdfast.states.object_address import object_store_root

    root = object_store_root(given)
    try:
        from holdfast.states.object_store import ObjectStore
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] != "obstore":
            raise
        raise MissingPackageError(
            f"the state {root} is on an object store, and the package for those is not installed.",
            hint="run `pip install 'holdfast[objectstore]'`.",
        ) from None
    return ObjectStore(root)


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
