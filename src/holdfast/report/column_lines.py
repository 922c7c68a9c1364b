"""What single columns are likely to keep, as lines for a person: one for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.report.words import number
from holdfast.rules.predicate import quoted_name
from holdfast.search.column_rule import ColumnRule
from holdfast.search.outcome import DiscoverOutcome

# So many columns have a line in a text, and so many are named on one.
_LINES, _NAMED = 40, 12


@dataclass(frozen=True)
class ColumnLine:
    """A line: the column, or what several have in common, and what is said of it."""

    head: str
    words: str


def column_title(rules: Sequence[ColumnRule]) -> str:
    """Returns the sentence above the lines."""
    return f"{number(len(rules), 'rule')} on single columns, which the next rows are likely to keep, too:"


def column_lines(outcome: DiscoverOutcome) -> list[ColumnLine]:
    """Returns which columns are never null, on one line, and a line for each column of which more is said."""
    rules = outcome.column_rules or ()
    filled = [entry for entry in rules if entry.kind == "not null"]
    lines = []
    if filled:
        names = [quoted_name(entry.column) for entry in filled]
        more = f" and {number(len(names) - _NAMED, 'other')}" if len(names) > _NAMED else ""
        lines.append(ColumnLine("never null", f"{', '.join(names[:_NAMED])}{more} ({filled[0].evidence})"))
    by_column: dict[str, list[str]] = {}
    for entry in rules:
        if entry.kind != "not null":
            by_column.setdefault(entry.column, []).append(f"{entry.says.removeprefix('is ')} ({entry.evidence})")
    said = [ColumnLine(quoted_name(name), "; ".join(parts)) for name, parts in by_column.items()]
    if len(said) > _LINES:
        rest = number(len(said) - _LINES, "other column")
        said = [*said[:_LINES], ColumnLine("…", f"{rest}: in JSON, in the report and in what -o writes")]
    return lines + said
