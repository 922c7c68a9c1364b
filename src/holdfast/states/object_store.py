"""Files of a state as objects: `s3://`, `gs://`, `abfss://`, through obstore, whose keys come from the environment.

Objects appear whole. A file that is mapped is fetched into a cache on this machine first (`file_cache`), and compared
with its sum then; a new file is written there, and sent whole. Its one writer has a lease (`lease`), and what it
removes was there, unneeded, before it was last known to hold that: whoever takes over cannot need it.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, NoReturn, Self, cast
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import ObjectStore as ObjectClient
from obstore.store import S3Store, from_url

from holdfast.errors import RunError, StateError
from holdfast.states.checksum import FileSum, sum_of_file, sum_of_pieces
from holdfast.states.file_cache import FileCache
from holdfast.states.file_sums import damaged
from holdfast.states.lease import CLOCK, LEASE_SECONDS, FoundObject, Lease, Tag, leased
from holdfast.states.object_address import without_secrets
from holdfast.states.store import Store, StoredFile

if TYPE_CHECKING:
    from obstore import PutMode, UpdateVersion
    from obstore.store import ClientConfig, RetryConfig, S3Config

_AT_ONCE = 8
# Who tells the keys of a machine in a cloud.
_OF_THE_MACHINE = "169.254.169.254"
# Who has created an object, so that a lost answer is no riddle.
_WRITER = "writer"
_CLIENT: ClientConfig = {
    "connect_timeout": timedelta(seconds=5),
    "read_timeout": timedelta(seconds=60),
    "timeout": timedelta(minutes=5),
}
_RETRIES: RetryConfig = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}
_TRUE = ("1", "true", "yes", "on", "y", "t")
_CLOUDS = {"s3": ("AWS",), "gs": ("GOOGLE",), "az": ("AZURE",), "abfss": ("AZURE",)}
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_REGION, and AWS_ENDPOINT_URL where it is not Amazon's",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT",
    "abfss": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or those of a service principal",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or those of a service principal",
}


@dataclass(frozen=True)
class Objects:
    """Objects under names that are relative to `root`; what the store refuses is told in the user's terms."""

    root: str
    client: ObjectClient

    def get(self, name: str) -> FoundObject | None:
        try:
            with self.translate_errors():
                answer = obstore.get(self.client, name)
                content = bytes(answer.bytes())
        except FileNotFoundError:
            return None
        return FoundObject(content, _tag_of(answer.meta), answer.meta["last_modified"].timestamp())

    def put_if(self, name: str, content: bytes, tag: Tag | None) -> Tag | None:
        mode: PutMode = "create" if tag is None else cast("UpdateVersion", dict(tag))
        with self.translate_errors():
            try:
                done = obstore.put(self.client, name, content, mode=mode)
            except (AlreadyExistsError, PreconditionError, FileNotFoundError):
                return None
        return _tag_of(done)

    def now(self) -> float:
        with self.translate_errors():
            obstore.put(self.client, CLOCK, secrets.token_bytes(8))
            return obstore.head(self.client, CLOCK)["last_modified"].timestamp()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turns what the store answers into an error that names the state and the reason.

        What is not there stays a FileNotFoundError.
        """
        try:
            yield
        except (FileNotFoundError, BaseError) as problem:
            self._raise_in_words(problem)

    def _raise_in_words(self, problem: Exception) -> NoReturn:
        scheme, bucket, said = self.root.partition(":")[0], urlsplit(self.root).netloc, str(problem)
        keys = f"keys come from the environment: {_CREDENTIALS.get(scheme, 'as its store names them')}."
        if isinstance(problem, (AlreadyExistsError, PreconditionError)):
            raise problem
        if re.search("NoSuchBucket|ContainerNotFound|bucket does not exist", said):
            raise StateError(
                f"the state {self.root} cannot be reached: there is no bucket {bucket}.",
                hint="make it first; Holdfast makes none.",
            ) from None
        if isinstance(problem, FileNotFoundError):
            raise FileNotFoundError("it is not there") from None
        if _OF_THE_MACHINE in said:
            raise StateError(
                f"the state {self.root} cannot be reached: no keys were found, and this machine has none of its own.",
                hint=keys,
            ) from None
        if isinstance(problem, (PermissionDeniedError, UnauthenticatedError)):
            raise StateError(
                f"the state {self.root} may not be used with the keys that were found: {_reason(problem)}", hint=keys
            ) from None
        if "builder error" in said and "http://" in said:
            raise StateError(
                f"the state {self.root} is at an address with http://, where keys and data are sent in the open.",
                hint="name one with https://, or set AWS_ALLOW_HTTP=true, as for a server on this machine.",
            ) from None
        raise RunError(
            f"the state {self.root} cannot be reached: {_reason(problem)}",
            hint=f"run this again when the store answers; a batch that is in is not taken in twice. Address and {keys}",
        ) from None


@dataclass(frozen=True)
class ObjectStore(Store):
    """A folder of a bucket. `client` is found by the address, and is given in tests.

    A writer's store has a `lease`. Tasks on other machines get the store without both.
    """

    checked_when_fetched: ClassVar[bool] = True

    client: ObjectClient | None = field(default=None, compare=False, repr=False)
    lease: Lease | None = field(default=None, compare=False, repr=False)
    lease_seconds: float = LEASE_SECONDS

    def __getstate__(self) -> dict[str, Any]:
        return {
            "root": self.root,
            "limits": self.limits,
            "client": None,
            "lease": None,
            "lease_seconds": self.lease_seconds,
        }

    @property
    def others_may_write(self) -> bool:
        return self.lease is not None and self.lease.others_may_write

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self.root, self.client or _client_of(self.root))

    @cached_property
    def _copies(self) -> FileCache:
        return FileCache(self.root)

    # Reading --------------------------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        return not isinstance(self._mark(name), OSError)

    def names(self, folder: str) -> list[str]:
        return sorted(self._listed(folder))

    def top_names(self) -> list[str]:
        with self._objects.translate_errors():
            listing = obstore.list_with_delimiter(self._objects.client)
        return sorted(
            name.rstrip("/") for name in (*listing["common_prefixes"], *(own["path"] for own in listing["objects"]))
        )

    def marks(self, names: Iterable[str]) -> Mapping[str, StoredFile | OSError]:
        wanted = list(names)
        folders: dict[str, list[str]] = {}
        for name in wanted:
            folders.setdefault(name.rpartition("/")[0], []).append(name)
        # A folder is listed where asking for each of its files would take longer.
        listed = {folder: self._listed(folder) for folder, own in folders.items() if len(own) > 1}
        marks: dict[str, StoredFile | OSError] = {}
        for name in wanted:
            folder, _, own = name.rpartition("/")
            if folder in listed:
                marks[name] = listed[folder].get(own) or FileNotFoundError(f"{name} is not there")
            else:
                marks[name] = self._mark(name)
        return marks

    def _mark(self, name: str) -> StoredFile | OSError:
        try:
            with self._objects.translate_errors():
                return _stored_file(obstore.head(self._objects.client, name))
        except FileNotFoundError as problem:
            return problem

    def _listed(self, folder: str) -> dict[str, StoredFile]:
        """What is in the folder, without what is in folders of it."""
        with self._objects.translate_errors():
            listing = obstore.list_with_delimiter(self._objects.client, folder.strip("./") or None)
        return {own["path"].rpartition("/")[2]: _stored_file(own) for own in listing["objects"]}

    def read(self, name: str) -> bytes:
        stored = self._objects.get(name)
        if stored is None:
            raise FileNotFoundError(f"{name} is not there")
        return stored.content

    def read_all(self, names: Sequence[str]) -> list[bytes]:
        """As every store; what is there as it was read before on this machine is not fetched again."""
        marks = self.marks(names)

        def content(name: str) -> bytes:
            mark = marks[name]
            if isinstance(mark, OSError):
                raise mark
            copy = self._copies.have(_copy_name(name, str(mark.identity[0])))
            return self._fetched(name) if copy is None else copy.read_bytes()

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            return list(threads.map(content, names))

    def _fetched(self, name: str) -> bytes:
        """The content of the object, of which there is a copy by its tag from now on."""
        stored = self._objects.get(name)
        if stored is None:
            raise FileNotFoundError(f"{name} is not there")
        if "e_tag" in stored.tag:
            with self._copies.making(_copy_name(name, stored.tag["e_tag"])) as file:
                file.write(stored.content)
        return stored.content

    def file(self, name: str, written: FileSum | None = None) -> Path:
        copy = self._copies.have(name)
        if copy is not None and (written is None or copy.stat().st_size == written.length):
            return copy
        with self._copies.making(name) as file:
            own = sum_of_pieces(_written_to(file, self._pieces(name)))
            if written is not None and own != written:
                raise damaged(self.root, name, "has another content than was written")
        return self._copies.path(name)

    def sum_of(self, name: str) -> FileSum:
        return sum_of_pieces(self._pieces(name))

    def _pieces(self, name: str) -> Iterator[bytes]:
        with self._objects.translate_errors():
            yield from map(bytes, obstore.get(self._objects.client, name).stream())

    # Writing --------------------------------------------------------------------------------------------------

    def make(self, folders: Iterable[str]) -> None:
        """Nothing: a folder is there when an object is in it."""

    def write(self, name: str, write: Callable[[IO[bytes]], object]) -> FileSum:
        with self._copies.making(name) as file:
            write(file)
        copy = self._copies.path(name)
        own = sum_of_file(copy)
        with self._objects.translate_errors():
            obstore.put(self._objects.client, name, copy)
        return own

    def create(self, name: str, content: bytes, *, private: bool = False) -> bool:
        """As every store; where the answer of the object store is lost, what is there says who has created it."""
        own = secrets.token_hex(12)
        with self._objects.translate_errors():
            try:
                obstore.put(self._objects.client, name, content, mode="create", attributes={_WRITER: own})
            except AlreadyExistsError:
                return self._writer_of(name) == own
            except BaseError:
                if self._writer_of(name) != own:
                    raise
        return True

    def _writer_of(self, name: str) -> str | None:
        try:
            return obstore.get(self._objects.client, name).attributes.get(_WRITER)
        except FileNotFoundError:
            return None

    def replace(self, name: str, content: bytes) -> None:
        with self._objects.translate_errors():
            obstore.put(self._objects.client, name, content)

    def move(self, name: str, target: str) -> None:
        try:
            with self._objects.translate_errors():
                obstore.copy(self._objects.client, name, target)
        except FileNotFoundError:
            if not self.exists(target):
                raise
        self._delete([name])

    def remove(self, names: Iterable[str]) -> None:
        gone = list(names)
        if not gone:
            return
        self.require_writer()  # after the names were listed: see above
        self._delete(gone)
        for name in gone:
            self._copies.forget(name)

    def _delete(self, names: list[str]) -> None:
        with self._objects.translate_errors():
            try:
                obstore.delete(self._objects.client, names)
            except FileNotFoundError:  # some stores mind that
                for name in names:
                    with suppress(FileNotFoundError):
                        obstore.delete(self._objects.client, name)

    def require_writer(self) -> None:
        if self.lease is not None:
            self.lease.confirm()

    @contextmanager
    def only_writer(self) -> Iterator[Self]:
        """The store with a lease, which runs out some time after its process was last heard of."""
        with leased(self._objects, self.root, self.lease_seconds) as lease:
            yield replace(self, lease=lease, client=self._objects.client)


def _client_of(root: str) -> ObjectClient:
    # Options that are given take the place of all that the environment says of them.
    plain = any(os.environ.get(f"{cloud}_ALLOW_HTTP", "").lower() in _TRUE for cloud in _CLOUDS[root.partition(":")[0]])
    options: ClientConfig = {**_CLIENT, "allow_http": plain}
    try:
        if root.startswith("s3:"):
            config: S3Config = {"checksum_algorithm": "SHA256"}
            return S3Store.from_url(root, client_options=options, retry_config=_RETRIES, config=config)
        return from_url(root, client_options=options, retry_config=_RETRIES)
    except (BaseError, ValueError) as problem:
        raise StateError(f"the address of the state {root} cannot be used: {_reason(problem)}") from None


def _tag_of(said: Mapping[str, Any]) -> Tag:
    return {name: said[name] for name in ("e_tag", "version") if said[name] is not None}


def _copy_name(name: str, e_tag: str) -> str:
    return f"{name}-{hashlib.sha256(e_tag.encode()).hexdigest()[:24]}"


def _stored_file(answer: Mapping[str, Any]) -> StoredFile:
    at = answer["last_modified"].timestamp()
    return StoredFile(answer["size"], at, at, (answer["e_tag"] or "",))


def _written_to(file: IO[bytes], pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        file.write(piece)
        yield piece


def _reason(problem: Exception) -> str:
    """Returns what the store says, on one line, without what may be secret in an address."""
    text = str(problem).split("\n\nDebug source:")[0]
    inner = re.search(r"<Code>([^<]*)</Code>\s*(?:<Message>([^<]*)</Message>)?", text)
    if inner is not None:
        text = f"{inner[1]}: {inner[2] or ''}"
    return without_secrets(" ".join(text.split()).rstrip(". :")) + "."
