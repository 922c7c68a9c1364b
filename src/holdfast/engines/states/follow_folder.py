"""Files of changes in a folder that is followed: what is there counts, by name and content, whatever its date.

A file is taken in when it is whole: its size and time have stayed as they are for a while. Whoever wants to be sure
writes it under a name that begins with a dot or an underscore, and renames it when it is done. A file that has changed
after it was taken in is told of by name, every time, and is not taken in again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from holdfast.engines.states.changes import FileMark, file_mark
from holdfast.engines.states.state_table import Outcome
from holdfast.engines.states.whole_table import WholeTable
from holdfast.errors import ChangeError, HoldfastError, SourceNotFoundError, UnsettledFileError

# What a batch came to, and its name.
OnBatch = Callable[[Outcome, str], None]
# Opens the newest version of the state.
Opened = Callable[[], WholeTable[Outcome, Any]]
ENDINGS = ("csv", "tsv", "parquet", "pq", "json", "jsonl", "ndjson", "orc", "gz", "bz2")
LOOK_EVERY = 1.0
# A file that stays as it is for so many seconds is whole; so is one that was last written so long ago.
SETTLED_AFTER, OLD_AFTER = 1.0, 5.0
# How long a single look waits for files that are being written.
LONGEST_WAIT = 30.0
_WAIT = 0.1


@dataclass(frozen=True)
class FollowTiming:
    """How often a folder is looked at, and when a file in it is whole; in seconds."""

    look_every: float = LOOK_EVERY
    settled_after: float = SETTLED_AFTER
    old_after: float = OLD_AFTER
    longest_wait: float = LONGEST_WAIT


def followed_folder(source: str) -> Path:
    """The folder; SourceNotFoundError where there is none."""
    folder = Path(source).expanduser().absolute()
    if not folder.is_dir():
        raise SourceNotFoundError(f"there is no folder {source} to follow.")
    return folder


@dataclass
class FolderFollower(Generic[Outcome]):
    """Takes in the files of a folder as batches, the oldest first, and remembers what it has seen of them.

    `on_problem` is told of files that have changed after they were taken in. A file that does not fit ends it: what was
    before it is taken in, it is not, and the error names those that wait behind it.
    """

    folder: Path
    limit: int | None
    on_batch: OnBatch[Outcome]
    on_problem: Callable[[str], None]
    timing: FollowTiming = field(default_factory=FollowTiming)
    # Of each name, what the file was like when it was first seen so, and when that was.
    _seen: dict[str, tuple[FileMark, float]] = field(default_factory=dict)
    # Files that need not be looked at again as long as they are like that.
    _done: dict[str, FileMark] = field(default_factory=dict)
    # Names of files that have changed after they were taken in, and are so still.
    _changed: dict[str, FileMark] = field(default_factory=dict)

    def look(self, opened: Opened[Outcome]) -> bool:
        """Takes in all files that are whole and new; whether there are others, which are being written."""
        there = dict(self._marked_files())
        self._changed = {name: mark for name, mark in self._changed.items() if there.get(name) == mark}
        waiting = {name: mark for name, mark in there.items() if self._done.get(name) != mark}
        order = sorted(waiting, key=lambda name: (waiting[name].modified, name))
        unsettled = False
        for at, name in enumerate(order):
            if not self._is_whole(name, waiting[name]):
                unsettled = True
                continue
            try:
                self._take(opened, name, waiting[name])
            except UnsettledFileError:
                self._seen.pop(name, None)
                unsettled = True
            except FileNotFoundError as problem:
                if isinstance(problem, HoldfastError):
                    raise
            except OSError as problem:
                unreadable = problem if isinstance(problem, HoldfastError) else _unreadable(name, problem)
                raise _with_those_behind(unreadable, order[at + 1 :]) from None
            except HoldfastError as problem:
                raise _with_those_behind(problem, order[at + 1 :]) from None
        return unsettled

    def look_once(self, opened: Opened[Outcome]) -> None:
        """Takes in all files that are there now; waits for those that are being written, up to a limit.

        ChangeError, when all else is taken in, for files that never became whole, or that changed after being taken in.
        """
        ends = time.monotonic() + self.timing.longest_wait
        while self.look(opened):
            if time.monotonic() > ends:
                names = sorted(name for name, mark in self._marked_files() if self._done.get(name) != mark)
                raise ChangeError(
                    f"{_listed(names)} in {self.folder} {_have(names)} not been taken in: still being written.",
                    hint="run this again when it is done; write files under another name, and rename them then.",
                )
            time.sleep(_WAIT)
        if self._changed:
            names = sorted(self._changed)
            raise ChangeError(
                f"{_listed(names)} in {self.folder} {_have(names)} changed since {_they(names)} taken in; what is new "
                "there counts for nothing.",
                hint="bring corrections as a file of changes under a name of its own.",
            )

    def look_again(self, look: Callable[[], object]) -> None:
        """Looks again and again."""
        while True:
            look()
            time.sleep(self.timing.look_every)

    def _marked_files(self) -> Iterator[tuple[str, FileMark]]:
        for entry in os.scandir(self.folder):
            known = entry.name.rpartition(".")[2].lower() in ENDINGS and entry.name[0] not in "._"
            try:
                if known and entry.is_file():
                    yield entry.name, file_mark(entry.path)
            except FileNotFoundError:  # it went while the folder was listed
                continue

    def _is_whole(self, name: str, mark: FileMark) -> bool:
        """Whether the file has been as it is for long enough; one dated in the future only by being looked at."""
        now = time.monotonic()
        seen, since = self._seen.get(name, (None, now))
        if seen != mark:
            since = now
        self._seen[name] = (mark, since)
        age = time.time() - mark.modified / 1e9
        return now - since >= self.timing.settled_after or age >= self.timing.old_after

    def _take(self, opened: Opened[Outcome], name: str, mark: FileMark) -> None:
        path = str(self.folder / name)
        match opened().file_standing(path):
            case "new":
                outcome = opened().follow_file(path, mark, limit=self.limit)
                self._done[name] = mark
                self.on_batch(outcome, name)
            case "changed":
                self._done[name] = self._changed[name] = mark
                self.on_problem(
                    f"{name} has changed since it was taken in; what is new there counts for nothing. "
                    "Bring corrections as a file of changes under a name of its own."
                )
            case _:
                self._done[name] = mark


def _unreadable(name: str, problem: OSError) -> ChangeError:
    return ChangeError(f"{name} cannot be read: {problem.strerror or problem}.")


def _with_those_behind(problem: HoldfastError, names: list[str]) -> HoldfastError:
    """The error, which also tells of the files that wait behind the one it is about."""
    if names:
        behind = f"Not taken in either, since {_they_come(names)} after it: {_listed(names)}."
        problem.hint = behind if problem.hint is None else f"{problem.hint}\n{behind}"
    return problem


def _listed(names: list[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _have(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _they(names: list[str]) -> str:
    return "it was" if len(names) == 1 else "they were"


def _they_come(names: list[str]) -> str:
    return "it comes" if len(names) == 1 else "they come"
