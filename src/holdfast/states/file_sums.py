"""Whether files are as they were written: each has a length and a checksum in the manifest that names it.

A file that was found whole is not read again as long as it is the same file, untouched, by what the system says of it
(`checked.json`, which may be lost or wrong without harm). What decays on the disk without anybody writing is found by
reading everything: `unlike_written` with `anew`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from holdfast.errors import DamagedStateError, OutputError
from holdfast.states.checksum import FileSum
from holdfast.states.store import Store

CHECKED = "checked.json"
# A file that was written again so soon may have the same time: such a time says nothing.
_TIME_STEP = 0.1
# Files that are opened by who does not know their sums.
_OPENED_WITHOUT_SUM = ".npz"


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
    known = {} if anew or store.checked_when_fetched else _checked(store)
    whole: dict[str, list[int | str]] = {}
    marks = store.marks(written)
    for file, expected in written.items():
        try:
            mark = marks[file]
            if isinstance(mark, OSError):
                raise mark
            same = [expected.length, expected.crc, *mark.identity]
            if mark.length != expected.length:
                yield file, f"has {mark.length:,} bytes, and was written with {expected.length:,}"
                continue
            if known.get(file) != same and not _is_whole(store, file, expected, anew):
                yield file, "has another content than was written"
                continue
        except OSError as problem:
            yield file, "is missing" if isinstance(problem, FileNotFoundError) else f"cannot be read ({problem})"
            continue
        if time.time() - mark.changed > _TIME_STEP:
            whole[file] = same
    if not store.checked_when_fetched and any(known.get(file) != same for file, same in whole.items()):
        _remember(store, whole)


def _is_whole(store: Store, file: str, expected: FileSum, anew: bool) -> bool:
    if anew or not store.checked_when_fetched or "/" not in file:
        return store.sum_of(file) == expected
    # Whoever opens the file compares it, or finds the copy that is made here.
    if file.endswith(_OPENED_WITHOUT_SUM):
        try:
            store.file(file, expected)
        except DamagedStateError:
            return False
    return True


def _checked(store: Store) -> dict[str, Any]:
    try:
        known = json.loads(store.read(CHECKED))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(store: Store, whole: Mapping[str, list[int | str]]) -> None:
    # Whoever may only read the state looks again next time.
    with suppress(OutputError):
        store.replace(CHECKED, json.dumps(whole).encode())
