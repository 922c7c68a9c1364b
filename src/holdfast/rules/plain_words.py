"""Counts and values as text for people."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

MAX_VALUE = 40
# What a terminal obeys instead of showing it: control characters but for the tab and the end of a line, marks that turn
# the direction of text or end a line, and halves of surrogate pairs, which cannot be written.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Returns the text with what a terminal would obey as escapes; ends of lines stay.

    >>> visible("a\\x1b[31mb\\u202e"), visible("two\\nlines")
    ('a\\\\x1b[31mb\\\\u202e', 'two\\nlines')
    """
    return _OBEYED.sub(lambda match: _escape(match[0]), text)


def on_one_line(text: str) -> str:
    """Returns the text as `visible` does, with ends of lines and tabs as escapes, too: for names and values of data."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def text_of_lines(lines: Iterable[str]) -> str:
    """Returns the lines as one text that ends with a line's end; an end of a line within one is shown as an escape."""
    return "".join(on_one_line(line) + "\n" for line in lines)


def _escape(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"


def number(n: int, word: str) -> str:
    """Returns a count with its noun.

    >>> number(1, "row"), number(1200, "row"), number(2, "batch"), number(2, "entry")
    ('1 row', '1,200 rows', '2 batches', '2 entries')
    """
    several = f"{word}es" if word.endswith("ch") else f"{word[:-1]}ies" if word.endswith("try") else f"{word}s"
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
