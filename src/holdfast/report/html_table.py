"""Small pieces of HTML for notebooks, light or dark. Whatever is not markup already is escaped.

Only text with a background of its own has a fixed colour; all other text has the notebook's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from markupsafe import Markup

Tone = Literal["good", "warn", "bad", "plain"]

_TONES: dict[Tone, str] = {"good": "#1a7f37", "warn": "#9a6700", "bad": "#cf222e", "plain": "#57606a"}
_CELL = "text-align:left;vertical-align:top;white-space:normal;overflow-wrap:anywhere;min-width:4.5em;max-width:32em"


def html_table(head: Sequence[object], lines: Iterable[Sequence[object]]) -> Markup:
    """Returns a table with a header; empty where there are no lines.

    >>> html_table(["a"], [])
    Markup('')
    """
    body = Markup("").join(_line("td", line) for line in lines)
    if not body:
        return body
    top = Markup("<thead>{}</thead>").format(_line("th", head)) if any(map(str, head)) else Markup("")
    return Markup('<table style="margin:4px 0">{}<tbody>{}</tbody></table>').format(top, body)


def _line(tag: Literal["td", "th"], cells: Sequence[object]) -> Markup:
    template = Markup(f'<{tag} style="{_CELL}">{{}}</{tag}>')
    return Markup("<tr>{}</tr>").format(Markup("").join(template.format(cell) for cell in cells))


def html_lines(*lines: object) -> Markup:
    """Returns each line as a block of its own, without the empty ones.

    >>> html_lines("a < b", "")
    Markup('<div>a &lt; b</div>')
    """
    return Markup("").join(Markup("<div>{}</div>").format(line) for line in lines if line)


def strong(text: object) -> Markup:
    return Markup("<b>{}</b>").format(text)


def code(text: object) -> Markup:
    return Markup("<code>{}</code>").format(text)


def dim(text: object) -> Markup:
    """Returns the text in a pale colour; empty for no text."""
    return Markup('<span style="opacity:.7">{}</span>').format(text) if text else Markup("")


def badge(word: object, tone: Tone) -> Markup:
    """Returns the word on a coloured background."""
    style = f"background:{_TONES[tone]};color:#fff;border-radius:4px;padding:1px 6px;white-space:nowrap"
    return Markup('<span style="{}">{}</span>').format(style, word)


def on_lines(*parts: str) -> Markup:
    """Returns the parts with line breaks between them, without the empty ones."""
    return Markup("<br>").join(part for part in parts if part)
