"""Text in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from holdfast.encode.column_type import ColumnType

# Decimals with more digits behind the point are cast with an exponent, but for sessions with ANSI's casts.
_PLAIN_SCALE = 6


def text_literal(value: str) -> str:
    """The text as SQL that every session reads alike, whatever its escape settings.

    >>> text_literal("EDI"), text_literal("it's")
    ("'EDI'", "CAST(X'69742773' AS STRING)")
    """
    if re.fullmatch(r"[\w .,:;/@#$%&*()+=<>?!|-]*", value, re.ASCII):
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex().upper()}' AS STRING)"


def value_as_text(value: str, kind: ColumnType) -> str:
    """The SQL of a value of this type as SQL of its text, which is the same whatever the session's casts are.

    >>> from holdfast.encode.column_type import column_type
    >>> value_as_text("x", column_type("bigint"))
    'CAST(x AS STRING)'
    """
    if kind.family == "decimal" and kind.scale > _PLAIN_SCALE:
        return f"replace(format_number({value}, {kind.scale}), ',', '')"
    return f"CAST({value} AS STRING)"


# What may hold quotation marks; in texts after an r, no mark stands twice for one.
_TEXTS = re.compile(
    r"""(?<!\w)[rR](?:'[^']*'|"[^"]*")
      | `(?:[^`]|``)*`
      | --[^\r\n]*
      | /\*.*?\*/
      | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")""",
    re.VERBOSE | re.DOTALL,
)


def with_escaped_quotes(condition: str) -> str:
    r"""The condition with a backslash before each quotation mark that stands twice in a text, as in Spark's SQL.

    >>> print(with_escaped_quotes("name = 'it''s'"))
    name = 'it\'s'
    """
    return _rewritten(condition, lambda mark, pieces: f"{mark}{f'{chr(92)}{mark}'.join(pieces)}{mark}", "'\"")


def with_joined_quotes(condition: str, marks: Collection[str] = "'\"") -> str:
    """The condition with each text that has one of these marks twice put together from what is around them.

    Some sessions take what stands around two marks for two texts, and join them without any mark. What is around them
    stays as it is, so that a backslash means there what it means to the session.

    >>> with_joined_quotes("name = 'it''s'")
    "name = concat('it', CAST(X'27' AS STRING), 's')"
    """

    def joined(mark: str, pieces: list[str]) -> str:
        between = f", {text_literal(mark)}, "
        return f"concat({between.join(f'{mark}{piece}{mark}' for piece in pieces)})"

    return _rewritten(condition, joined, marks)


def doubled_quotes(condition: str) -> frozenset[str]:
    """The quotation marks that stand twice in a text of the condition.

    >>> sorted(doubled_quotes("name = 'it''s' or `a''b` = 'x'"))
    ["'"]
    """
    return frozenset(match["text"][0] for match, pieces in _texts(condition) if len(pieces) > 1)


def _texts(condition: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """The texts of the condition, with what stands between two marks in each."""
    for match in _TEXTS.finditer(condition):
        if match["text"] is not None:
            mark = match["text"][0]
            pieces = [""]
            for part in re.finditer(rf"{mark}{mark}|\\.|[^\\{mark}]+", match["text"][1:-1], re.DOTALL):
                if part[0] == mark * 2:
                    pieces.append("")
                else:
                    pieces[-1] += part[0]
            yield match, pieces


def _rewritten(condition: str, written: Callable[[str, list[str]], str], marks: Collection[str]) -> str:
    result, end = "", 0
    for match, pieces in _texts(condition):
        if len(pieces) > 1 and match["text"][0] in marks:
            result += condition[end : match.start()] + written(match["text"][0], pieces)
            end = match.end()
    return result + condition[end:]
