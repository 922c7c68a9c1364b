"""Messages of rules: text with the names of columns in braces, filled with the values of a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from holdfast.errors import RuleFileError

Piece = TypeVar("Piece")
_PART = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|[{}]|[^{}]+")


@dataclass(frozen=True)
class Placeholder:
    """Stands for the value of a column."""

    column: str


@lru_cache(maxsize=256)
def message_parts(message: str) -> tuple[str | Placeholder, ...]:
    """Returns the pieces of a message: text, and columns, which stand in braces; two braces are one of the text.

    Raises RuleFileError for a brace that has no partner.

    >>> message_parts("{zip} has {{two}} cities")
    (Placeholder(column='zip'), ' has ', '{', 'two', '}', ' cities')
    """
    parts: list[str | Placeholder] = []
    for match in _PART.finditer(message):
        text = match[0]
        if match[1] is not None:
            parts.append(Placeholder(match[1].strip()))
        elif text in "{}":
            raise RuleFileError(
                f"in the message {message!r} a {text} stands alone.",
                hint="a column stands in braces, as in {zip}; write {{ and }} for the signs themselves.",
            )
        else:
            parts.append(text[0] if text in ("{{", "}}") else text)
    return tuple(parts)


def message_columns(message: str | None) -> tuple[str, ...]:
    """Returns the columns that the message names, each once."""
    parts = () if message is None else message_parts(message)
    return tuple(dict.fromkeys(part.column for part in parts if isinstance(part, Placeholder)))


def filled_message(message: str, text_of: Callable[[str], Piece], plain: Callable[[str], Piece]) -> list[Piece]:
    """Returns the message piece by piece: `text_of` a column, or `plain` text."""
    parts = message_parts(message)
    return [text_of(part.column) if isinstance(part, Placeholder) else plain(part) for part in parts]
