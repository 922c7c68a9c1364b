"""Writes a text file as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Replaces the content of the file; a reader sees the old content or all of the new."""
    target = Path(path)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=target.absolute().parent, prefix=f".{target.name}.", delete=False
    ) as waiting:
        waiting.write(text)
    os.chmod(waiting.name, 0o644)
    os.replace(waiting.name, target)
