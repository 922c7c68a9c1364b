"""Text in SQL."""

from __future__ import annotations

import re


def text_literal(value: str) -> str:
    """The text as SQL that every session reads alike, whatever its escape settings.

    >>> text_literal("EDI"), text_literal("it's")
    ("'EDI'", "CAST(X'69742773' AS STRING)")
    """
    if re.fullmatch(r"[\w .,:;/@#$%&*()+=<>?!|-]*", value, re.ASCII):
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex().upper()}' AS STRING)"
