"""Counts and values as text for people."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

MAX_VALUE = 40


def number(n: int, word: str) -> str:
    """Returns a count with its noun.

    >>> number(1, "row"), number(1200, "row"), number(2, "batch")
    ('1 row', '1,200 rows', '2 batches')
    """
    several = f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{n:,} {word if n == 1 else several}"


def value_text(value: Any) -> str:
    """Returns a value of the table as text on one line, cut to MAX_VALUE characters."""
    if value is None:
        return "null"
    if isinstance(value, bytes | bytearray):
        text = "0x" + bytes(value).hex()
    elif isinstance(value, tuple | list):
        text = ", ".join(map(value_text, value))
    elif isinstance(value, dt.datetime):
        text = value.isoformat(sep=" ")
    elif isinstance(value, Decimal):
        text = f"{value:f}"
    else:
        text = str(value)
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"
