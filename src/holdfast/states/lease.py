"""Who writes to a state on an object store: an object that its writer renews, and that says so when it is done.

A lease only spares two writers work in vain. What makes a batch count is the version that one of them creates; and who
takes over from a writer that has not said that it is done takes the number of the next version first
(`versions.tidy`), so that the other can never commit.

How old a lease is, the store says: no clock of the writers is asked. A process of this machine that is no more is
known at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from holdfast.errors import BusyStateError, HoldfastError

# The lease, and what is written to learn the time of the store.
LEASE, CLOCK = "writer.lease", "writer.clock"
LEASE_SECONDS = 60.0
# By so many seconds the machines of a store may disagree about the time.
_CLOCKS_DIFFER = 10.0


# What changes when an object is written, by what its store calls that.
Tag: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class FoundObject:
    """An object with what its store says of it. `written` is in seconds since 1970."""

    content: bytes
    tag: Tag
    written: float


class Conditional(Protocol):
    """What a lease needs of an object store."""

    def get(self, name: str) -> FoundObject | None:
        """The object; None where there is none."""

    def put_if(self, name: str, content: bytes, tag: Tag | None) -> Tag | None:
        """The tag of the object, which this call wrote; None where the one that is there has another tag than this.

        With no tag given, None where there is any.
        """

    def now(self) -> float:
        """The time of the store, in seconds since 1970."""


@dataclass(frozen=True)
class Holder:
    """A process that writes: where it runs, and what tells it apart from others there.

    `machine` is empty where nothing is known that only processes that see each other share.
    """

    host: str
    pid: int
    machine: str = ""
    began: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            machine = f"{boot} {os.readlink('/proc/self/ns/pid')}"
            return cls(socket.gethostname(), os.getpid(), machine, _began(os.getpid()) or "")
        except OSError:
            return cls(socket.gethostname(), os.getpid())

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to be no more."""
        here = Holder.this_process()
        seen = self.machine and (self.machine, self.host) == (here.machine, here.host)
        return bool(seen) and _began(self.pid) != self.began

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def _began(pid: int) -> str | None:
    """When the process of this number began, as the system counts; None where there is none, or it has ended."""
    try:
        own = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if own[0] in "ZX" else own[19]


class Lease:
    """A lease that is held, and renewed by a thread until it is let go."""

    def __init__(self, note: _Note, root: str, seconds: float, tag: Tag, *, clean: bool) -> None:
        self.others_may_write = not clean
        self._note, self._root, self._seconds = note, root, seconds
        self._tag: Tag | None = tag
        self._turn = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew_often, name="holdfast lease", daemon=True)
        self._thread.start()

    def confirm(self) -> None:
        """The lease is held at a moment after this was called; BusyStateError where it is somebody else's."""
        with self._turn:
            self._tag = None if self._tag is None else self._note.put(self._seconds, self._tag)
            if self._tag is None:
                raise BusyStateError(
                    f"another process has taken the state {self._root} over, because this one was not heard of for "
                    f"{self._seconds:g} seconds. What this one has not committed counts for nothing.",
                    hint="run this again.",
                )

    def release(self) -> None:
        """The next writer need not wait, and knows that this one is done."""
        self._done.set()
        self._thread.join()
        with self._turn, contextlib.suppress(HoldfastError):  # it runs out by itself
            if self._tag is not None:
                self._note.put(0.0, self._tag)

    def _renew_often(self) -> None:
        while not self._done.wait(self._seconds / 4):
            try:
                self.confirm()
            except BusyStateError:
                return
            except HoldfastError:
                continue  # the store may answer the next time


@contextmanager
def leased(objects: Conditional, root: str, seconds: float) -> Iterator[Lease]:
    """The lease of the state at `root`; BusyStateError where another process has it."""
    lease = _acquired(objects, root, seconds)
    try:
        yield lease
    finally:
        lease.release()


def _acquired(objects: Conditional, root: str, seconds: float) -> Lease:
    lease_object = objects.get(LEASE)
    before = None if lease_object is None else _Held.of(lease_object)
    if lease_object is not None and before is not None and before.seconds:
        _require_ended(objects, root, lease_object, before)
    note = _Note(objects, secrets.token_hex(12))
    tag = note.put(seconds, None if lease_object is None else lease_object.tag)
    if tag is None:
        raise _busy(root, None, seconds)
    return Lease(note, root, seconds, tag, clean=before is not None and not before.seconds)


def _require_ended(objects: Conditional, root: str, lease_object: FoundObject, before: _Held) -> None:
    """BusyStateError where the lease runs on."""
    if before.holder is not None and before.holder.is_gone:
        return
    age = objects.now() - lease_object.written
    # Where the clock of the store went back, a lease is of the future until its holder renews it: it says nothing.
    if -_CLOCKS_DIFFER <= age <= before.seconds:
        raise _busy(root, before.holder, before.seconds)


@dataclass(frozen=True)
class _Held:
    """What a lease says: its holder, where that can be read, and for how long it is held, which is 0 when it is not."""

    holder: Holder | None
    seconds: float
    token: str = ""

    @classmethod
    def of(cls, lease_object: FoundObject) -> _Held:
        try:
            content = json.loads(lease_object.content)
            return cls(Holder(**content["holder"]), float(content["seconds"]), content["token"])
        except (ValueError, KeyError, TypeError):
            return cls(None, LEASE_SECONDS)


@dataclass(frozen=True)
class _Note:
    """How one lease is written, whose token nobody else has."""

    objects: Conditional
    token: str

    def put(self, seconds: float, tag: Tag | None) -> Tag | None:
        """The tag of the lease, which says how long it is held; None where somebody else has written it since.

        The answer to an earlier call, or to a first try of this one, may have been lost.
        """
        written = self.objects.put_if(LEASE, self._content(seconds), tag)
        if written is None:
            lease_object = self.objects.get(LEASE)
            if lease_object is not None and _Held.of(lease_object).token == self.token:
                written = self.objects.put_if(LEASE, self._content(seconds), lease_object.tag)
        return written

    def _content(self, seconds: float) -> bytes:
        # Stores make the tag of the content: no two contents are the same.
        content = {"holder": asdict(Holder.this_process()), "seconds": seconds, "token": self.token}
        return json.dumps({**content, "written": secrets.token_hex(12)}).encode()


def _busy(root: str, holder: Holder | None, seconds: float) -> BusyStateError:
    who = "" if holder is None else f" ({holder})"
    return BusyStateError(
        f"another process is writing to the state {root}{who}; nothing was changed.",
        hint="wait until it is done, then run this again. The lease of a process that was killed ends within "
        f"{seconds:g} seconds.",
    )
