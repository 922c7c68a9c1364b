"""The folders that results are written to."""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.errors import OutputError

VIOLATION_FOLDERS = ("pairs", "rows", "groups")
QUARANTINE_FOLDERS = ("clean", "quarantined")
SUGGESTION_FOLDERS = ("suggestions",)
ANNOTATION_FOLDERS = ("annotated",)
# The column of quarantined rows that names the rules they break.
BROKEN_RULES = "_broken_rules"


def require_writable_folder(folder: str, parts: tuple[str, ...] | None) -> None:
    """Raises OutputError when the folder cannot be made, or holds something that a result would not replace.

    A result replaces its `parts`; with None it is added to what is there.
    """
    if is_remote(folder):
        return
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise OutputError(f"cannot write results to {folder!r}: it is a file, not a folder.")
    if place.is_dir() and parts is not None:
        others = sorted(entry.name for entry in place.iterdir() if entry.name not in parts)
        if others:
            raise OutputError(
                f"the folder {folder!r} holds other things ({', '.join(others[:3])}), so no results are written there.",
                hint="name a new folder, or one that holds nothing but earlier results.",
            )
    nearest = next(parent for parent in (place, *place.absolute().parents) if parent.exists())
    if not os.access(nearest, os.W_OK):
        raise OutputError(f"cannot write to {str(nearest)!r}: no permission.")


def is_remote(folder: str) -> bool:
    """Whether the folder is named by a URL."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", folder) is not None


def spark_place(folder: str) -> str:
    """The folder as Spark is to be told of it: its name as it is, as Spark decodes no URL."""
    return folder if is_remote(folder) else "file:" + str(Path(folder).absolute())
