"""Files of changes in a folder that is followed, found by looking: for engines without streams."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.engines.states.state_table import Outcome
from holdfast.engines.states.whole_table import WholeTable
from holdfast.errors import SourceNotFoundError

# What a batch came to, and its name.
OnBatch = Callable[[Outcome, str], None]
ENDINGS = ("csv", "tsv", "parquet", "pq", "json", "jsonl", "ndjson", "orc", "gz", "bz2")
LOOK_EVERY = 1.0


def followed_folder(source: str) -> Path:
    """The folder; SourceNotFoundError where there is none."""
    folder = Path(source).expanduser().absolute()
    if not folder.is_dir():
        raise SourceNotFoundError(f"there is no folder {source} to follow.")
    return folder


def apply_new_files(
    opened: Callable[[], WholeTable[Outcome, Any]], folder: Path, *, limit: int | None, on_batch: OnBatch[Outcome]
) -> None:
    """Every file of the folder that the state has not got is taken in as a batch, in order of its age.

    `opened` opens the state. What does not fit ends it: what was before it is taken in, it is not.
    """
    there = [file for file in folder.iterdir() if file.suffix[1:] in ENDINGS and file.name[0] not in "._"]
    for file in sorted(there, key=lambda file: (file.stat().st_mtime, file)):
        if not opened().has_file(str(file)):
            on_batch(opened().follow_file(str(file), limit=limit), file.name)


def look_again(look: Callable[[], None], *, once: bool) -> None:
    """Looks for what is new, and unless `once` again and again."""
    look()
    while not once:
        time.sleep(LOOK_EVERY)
        look()
