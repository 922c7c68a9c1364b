"""The outcome of a discovery as text on a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.report.column_lines import column_lines, column_title
from holdfast.report.decided_lines import broken_lines, kept_line, left_out_line, order_line
from holdfast.report.discovery_lines import (
    SURELY_NONE,
    accident_words,
    also_text,
    belief_line,
    closing,
    discovery_lines,
    size,
    tally,
)
from holdfast.report.view import TEXT_WIDTH, print_view, view_text
from holdfast.rules.plain_words import on_one_line
from holdfast.search.decided import DecidedSummary
from holdfast.search.outcome import DiscoverOutcome

# Longer names of columns take more than one line.
_HEAD = 24


def print_discovery(outcome: DiscoverOutcome, console: Console) -> None:
    """Prints the outcome as `holdfast discover` does."""
    print_view(lambda _: _view(outcome), console)


def discovery_text(outcome: DiscoverOutcome, *, width: int = TEXT_WIDTH) -> str:
    """Returns what `holdfast discover` prints, without colours and trailing blanks."""
    return view_text(lambda _: _view(outcome), width=width)


def _view(outcome: DiscoverOutcome) -> RenderableType:
    parts: list[RenderableType] = [Text.assemble((on_one_line(outcome.table), "bold"), f"  {size(outcome)}")]
    parts += [Text(on_one_line(f"note: {note}"), style="yellow") for note in outcome.notes]
    if outcome.decided is not None:
        parts += _decided(outcome.decided)
    if outcome.column_rules:
        parts += _single_columns(outcome)
    parts.append(Text(tally(outcome), style="bold" if outcome.complete else "bold yellow"))
    lines = discovery_lines(outcome)
    line_at = belief_line(lines)
    strong = line_at.place
    for first, last in ((0, strong), (strong, len(lines))):
        if first == last:
            continue
        parts.append(Text())
        if first or not strong:
            parts += [Text(line_at.words, style="yellow"), Text()]
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(justify="right", style="dim", no_wrap=True)
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for i in range(first, last):
            line = lines[i]
            table.add_row(f"{i + 1}.", line.kind, Text(on_one_line(line.words), style="bold"))
            broken = f", broken by {line.broken}" if line.broken else ""
            note = f", {line.note}" if line.note else ""
            # Most rules on a first page are surely none: only doubts are worth a line's room.
            doubt = line.accident is not None and line.accident >= SURELY_NONE
            accident = f", {accident_words(line.accident)}" if doubt else ""
            details = Text.assemble(
                on_one_line(line.text),
                (f"   tested by {line.tested}{broken}, score {line.score:.2f}{accident}{on_one_line(note)}", "dim"),
            )
            table.add_row("", "", details)
            if line.also:
                since = f" (as {also_text(line.since)})" if line.since else ""
                table.add_row("", "", Text(on_one_line(f"also: {also_text(line.also)}{since}"), style="dim"))
        parts.append(table)
    if (rest := closing(outcome)) is not None:
        parts += [Text(), Text(rest, style="dim")]
    return Group(*parts)


def _single_columns(outcome: DiscoverOutcome) -> list[RenderableType]:
    """What single columns are likely to keep; a blank line below it."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold", max_width=_HEAD)
    table.add_column(overflow="fold")
    for line in column_lines(outcome):
        table.add_row(Text(on_one_line(line.head), style="dim"), Text(on_one_line(line.words)))
    return [Text(column_title(outcome.column_rules or ()), style="bold"), table, Text()]


def _decided(decided: DecidedSummary) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if (kept := kept_line(decided)) is not None:
        parts.append(Text(kept, style="bold red" if decided.broken else "green"))
    parts += [Text(f"  {on_one_line(line)}") for line in broken_lines(decided)]
    parts += [Text(on_one_line(line)) for line in (left_out_line(decided), order_line(decided)) if line is not None]
    return parts
