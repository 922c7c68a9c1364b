"""The outcome of a discovery over several tables as text on a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.discovery.tables_outcome import TablesOutcome, TablesRule
from holdfast.report.view import TEXT_WIDTH, print_view, view_text
from holdfast.report.words import number
from holdfast.rules.plain_words import on_one_line


def print_tables_discovery(outcome: TablesOutcome, console: Console) -> None:
    """Prints the outcome as `holdfast discover --table …` does."""
    print_view(lambda _: _view(outcome), console)


def tables_discovery_text(outcome: TablesOutcome, *, width: int = TEXT_WIDTH) -> str:
    """Returns what `holdfast discover --table …` prints, without colours and trailing blanks."""
    return view_text(lambda _: _view(outcome), width=width)


def _view(outcome: TablesOutcome) -> RenderableType:
    names = ", ".join(table.table.name for table in outcome.tables)
    rows, columns = (sum(sizes) for sizes in zip(*((f.rows, f.columns) for f in outcome.tables), strict=True))
    size = f"{number(rows, 'row')}, {number(columns, 'column')}, {outcome.seconds:.1f} s"
    parts: list[RenderableType] = [Text.assemble((on_one_line(names), "bold"), f"  {size}")]
    parts += [Text(on_one_line(f"note: {note}"), style="yellow") for note in outcome.notes]
    parts.append(Text(_tally(outcome), style="bold" if outcome.complete else "bold yellow"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for rank, entry in enumerate(outcome, start=1):
        words = Text(on_one_line(entry.rule.description or str(entry.rule)), style="bold")
        table.add_row(f"{rank}.", entry.rule.kind, words)
        table.add_row("", "", Text.assemble(on_one_line(str(entry.rule)), (_details(entry), "dim")))
    if outcome.shown:
        parts += [Text(), table]
    if (closing := _closing(outcome)) is not None:
        parts += [Text(), Text(closing, style="dim")]
    return Group(*parts)


def _details(entry: TablesRule) -> str:
    parts = [f"tested by {number(entry.tested, 'row')}"]
    if entry.used is not None:
        percent = entry.used * 100
        parts.append(f"uses {percent:.0f}% of the values" if percent >= 1 else "uses below 1% of the values")
    if entry.missing:
        parts.append(f"broken by {number(entry.missing, 'row')}")
    return f"   {', '.join(parts)}, score {entry.score:.2f}"


def _tally(outcome: TablesOutcome) -> str:
    inclusions = len(outcome.shown)
    along = sum(len(reference.comparisons) for reference in outcome.shown)
    text = f"{number(inclusions, 'inclusion')}"
    if along:
        text += f", {number(along, 'comparison')} along {'it' if inclusions == 1 else 'them'}"
    if not inclusions:
        text = "No inclusions" if not outcome.accidents else "No inclusions that look as if somebody meant them"
    within = f" that at most {outcome.error_rows} of the rows break" if outcome.error_rows and inclusions else ""
    return f"{text}{within}." if outcome.complete else f"{text}{within}. Not all there is: {outcome.why}."


def _closing(outcome: TablesOutcome) -> str | None:
    parts = []
    if outcome.cut:
        parts.append(f"{number(outcome.cut, 'rule')} more with --top N or all.")
    if outcome.accidents:
        verb = "holds" if outcome.accidents == 1 else "hold"
        parts.append(
            f"{number(outcome.accidents, 'other inclusion')} {verb}, by chance as it seems; --top all shows them."
        )
    return " ".join(parts) or None
