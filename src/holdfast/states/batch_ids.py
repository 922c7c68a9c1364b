"""By what a state knows a batch that it has taken in: names of files, the same for the same batch."""

from __future__ import annotations

import hashlib
import os


def named_id(batch: str) -> str:
    """That of a batch by the name that somebody gave it."""
    return f"named-{hashed(batch)}"


def file_id(data: str, content: str) -> str:
    """That of a file by its name and content, wherever it lies."""
    return f"file-{hashed(os.path.basename(data) + content)}"


def followed_id(data: str) -> str:
    """That of a file of a folder that is followed by its name alone, so that it is noticed when its content changes."""
    return f"followed-{hashed(os.path.basename(data))}"


def hashed(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()
