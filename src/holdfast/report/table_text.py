"""The first rows of a table of a result, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from holdfast.report.view import TEXT_WIDTH, view_text
from holdfast.rules.plain_words import number, on_one_line, value_text


def table_text(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], total: int, *, width: int = TEXT_WIDTH
) -> str:
    """Returns the rows under their column names, and how many more there are."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(Text(on_one_line(name)))
    for row in rows:
        table.add_row(*(Text(_shown(row[name])) for name in columns))
    more = f"\n… and {number(total - len(rows), 'more row')}" if total > len(rows) else ""
    return view_text(lambda _: table, width=width) + more


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(map(_shown, value.values()))
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return value_text(value)
