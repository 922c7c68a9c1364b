"""Cuts the text of CSV into fields as Spark's parser does, also where quotes are not where they should be.

Python's own reader takes `"a"b` for ab; Spark's parser takes it for `"a"b`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_INVISIBLE = "".join(map(chr, range(33)))

Fields = list[str | None]


def csv_rows(text: str, delimiter: str, *, multiline: bool) -> Iterator[Fields]:
    """Yields the fields of each row, the header first. A field without a character is None, a quoted one ''.

    Blank lines are no rows. Without `multiline` a line break ends a row also in quotes.

    >>> list(csv_rows('a,"b"c\\n\\n,"b ""x"" "\\n', ",", multiline=False))
    [['a', '"b"c'], [None, 'b "x" ']]
    """
    if multiline:
        yield from _rows_of_stream(text, delimiter)
        return
    for line in _LINE_BREAK.split(text):
        if not line.strip(_INVISIBLE):
            continue
        if '"' in line:
            fields: Fields = []
            _record(line, 0, delimiter, "", fields)
            yield fields
        else:
            yield [field or None for field in line.split(delimiter)]


def _rows_of_stream(text: str, delimiter: str) -> Iterator[Fields]:
    first = _LINE_BREAK.search(text)
    separator = first[0] if first else "\n"
    position = 0
    while position < len(text):
        if (skipped := _break_length(text, position, separator)) > 0:
            position += skipped
            continue
        fields: Fields = []
        position = _record(text, position, delimiter, separator, fields)
        yield fields


def _record(text: str, position: int, delimiter: str, separator: str, fields: Fields) -> int:
    """Adds the fields of the record at `position` and returns the position after its line break.

    With an empty `separator` the text is one record.
    """
    while True:
        value, position = _field(text, position, delimiter, separator)
        fields.append(value)
        if position >= len(text):
            return position
        if text[position] != delimiter:
            return position + _break_length(text, position, separator)
        position += 1


def _field(text: str, position: int, delimiter: str, separator: str) -> tuple[str | None, int]:
    """Returns the field at `position`, and the position of the delimiter or line break that ends it."""
    if not text.startswith('"', position):
        end = _end_of_field(text, position, delimiter, separator)
        return text[position:end] or None, end
    content = ""
    start = position + 1
    while True:
        quote = text.find('"', start)
        if quote < 0:
            # The quote is never closed: it is not part of the value, unless it is all there is.
            rest = content + _normal(text[start:], separator)
            return rest or '"', len(text)
        content += _normal(text[start:quote], separator)
        after = quote + 1
        if text.startswith('"', after):
            content += '"'
            start = after + 1
            continue
        end = after
        while (
            end < len(text) and text[end] <= " " and text[end] != delimiter and not _break_length(text, end, separator)
        ):
            end += 1
        if end >= len(text) or text[end] == delimiter or _break_length(text, end, separator):
            return content, end  # blanks after the closing quote are dropped
        end = _end_of_field(text, after, delimiter, separator)
        rest = text[after:end]
        # Spark's parser adds a quote at the end of a text such as `"a" b"`.
        odd = rest[0] <= " " and re.match(r'[^"]"', rest.lstrip(_INVISIBLE)) and end >= len(text)
        added = '"' if odd else ""
        return f'"{content}"{rest}{added}', end


def _end_of_field(text: str, position: int, delimiter: str, separator: str) -> int:
    breaks = re.escape(delimiter) + (f"|{re.escape(separator)}|\n" if separator else "")
    end = re.compile(breaks).search(text, position)
    return end.start() if end else len(text)


def _break_length(text: str, position: int, separator: str) -> int:
    """Returns how many characters the line break at `position` has; 0 where there is none."""
    if not separator:
        return 0
    return len(separator) if text.startswith(separator, position) else int(text[position] == "\n")


def _normal(content: str, separator: str) -> str:
    """Returns what is in quotes as Spark's parser gives it, with the file's own line break as a line feed."""
    return content.replace(separator, "\n") if separator.startswith("\r") else content
