"""Parsers that are built once for each user of a machine: building one takes longer than reading a file of rules."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from lark import Lark


def kept_parser(grammar: str, **options: Any) -> Lark:
    """Returns the LALR parser of the grammar, from the user's cache where it is there.

    It is built anew for other versions of lark and Python, where the file is damaged, and where there is no folder.
    """
    return Lark(grammar, parser="lalr", cache=_file_of(grammar) or False, **options)


def _file_of(grammar: str) -> str | None:
    """Returns where the parser is kept; None where the environment names no folder, or it cannot be made."""
    if os.environ.get("XDG_CACHE_HOME"):
        folder = Path(os.environ["XDG_CACHE_HOME"], "holdfast")
    elif os.environ.get("HOME"):
        folder = Path(os.environ["HOME"], ".cache", "holdfast")
    else:
        return None
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder / f"parser-{hashlib.sha256(grammar.encode()).hexdigest()[:16]}")
    return None
