"""Whether files are as they were written: each has a length and a checksum in the manifest that names it.

A file that was found whole is not read again as long as it is the same file, untouched, by what the system says of it
(`checked.json`, which may be lost or wrong without harm). What decays on the disk without anybody writing is found by
reading everything: `unlike_written` with `anew`.
"""

from __future__ import annotations

import json
import os
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import DamagedStateError
from holdfast.states.store import Store

CHECKED = "checked.json"
_PIECE = 1 << 20
# A file that was written again so soon may have the same time: such a time says nothing.
_TIME_STEP = 0.1


@dataclass(frozen=True)
class FileSum:
    """The length of a file in bytes, and the CRC-32 of its content."""

    length: int
    crc: int

    def to_json(self) -> list[int]:
        return [self.length, self.crc]


def sum_of_bytes(content: bytes) -> FileSum:
    return FileSum(len(content), zlib.crc32(content))


def sum_of_file(path: Path) -> FileSum:
    """Reads the file. Raises OSError where it cannot be read."""
    length = crc = 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            length, crc = length + len(piece), zlib.crc32(piece, crc)
    return FileSum(length, crc)


def damaged(root: str, file: str, problem: str) -> DamagedStateError:
    """Returns the error for a file of the state that is not as it was written."""
    return DamagedStateError(
        f"the state {root} is damaged: {file} {problem}. Nothing was changed.",
        hint="bring the file back from a copy of the state, or make the state anew from its table.",
        file=file,
        problem=problem,
    )


def require_whole(store: Store, written: Mapping[str, FileSum]) -> None:
    """Raises StateError, naming it, for the first of the files that is not as it was written."""
    for file, problem in unlike_written(store, written):
        raise damaged(store.root, file, problem)


def unlike_written(store: Store, written: Mapping[str, FileSum], *, anew: bool = False) -> Iterator[tuple[str, str]]:
    """Those of the files that are not as they were written, each with what is wrong with it.

    With `anew` all of them are read, whatever was found before.
    """
    known = {} if anew else _checked(store)
    whole: dict[str, list[int]] = {}
    for file, expected in written.items():
        try:
            now = os.stat(store.path(file))
            same = [expected.length, expected.crc, now.st_ino, now.st_mtime_ns, now.st_ctime_ns]
            if now.st_size != expected.length:
                yield file, f"has {now.st_size:,} bytes, and was written with {expected.length:,}"
                continue
            if known.get(file) != same and sum_of_file(store.path(file)) != expected:
                yield file, "has another content than was written"
                continue
        except OSError as problem:
            yield file, "is missing" if isinstance(problem, FileNotFoundError) else f"cannot be read ({problem})"
            continue
        if time.time() - now.st_ctime > _TIME_STEP:
            whole[file] = same
    if any(known.get(file) != same for file, same in whole.items()):
        _remember(store, whole)


def _checked(store: Store) -> dict[str, Any]:
    try:
        known = json.loads(store.read(CHECKED))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(store: Store, whole: Mapping[str, list[int]]) -> None:
    # Whoever may only read the state looks again next time.
    waiting = store.path(f".{CHECKED}.{secrets.token_hex(6)}")
    with suppress(OSError):
        try:
            waiting.write_text(json.dumps(whole))
            os.replace(waiting, store.path(CHECKED))
        finally:
            waiting.unlink(missing_ok=True)
