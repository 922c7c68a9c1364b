"""The history of checks as text on a terminal: a line per rule, with what its suspects did from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.checking.history import History, RuleHistory, RulePoint
from holdfast.report.page import percent
from holdfast.report.view import TEXT_WIDTH, print_view, view_text
from holdfast.rules.plain_words import number, on_one_line

_BARS = "▁▂▃▄▅▆▇█"
_STYLES = {"holds": "green", "allowed": "green", "warning": "yellow", "violated": "bold red"}


def sparkline(values: Sequence[float]) -> str:
    """Returns a bar per value, the lowest for zero, the highest for the largest.

    >>> sparkline([0, 1, 2, 4]), sparkline([0, 0])
    ('▁▃▅█', '▁▁')
    """
    most = max(values, default=0)
    return "".join(_BARS[0 if not most else round(value / most * (len(_BARS) - 1))] for value in values)


def print_history(history: History, console: Console) -> None:
    """Prints the history as `holdfast history` does."""
    print_view(lambda width: _view(history), console)


def history_text(history: History) -> str:
    """Returns what `holdfast history` prints, without colours."""
    return view_text(lambda width: _view(history), width=TEXT_WIDTH)


def period(history: History) -> str:
    """Returns the first and the last day of the runs that are told."""
    times = [point.run_time for rule in history.rules for point in rule.points]
    return f"{min(times):%Y-%m-%d} to {max(times):%Y-%m-%d}"


def last_state(rule: RuleHistory) -> str:
    """Returns the counts of the last run, and what is to be said of the rule."""
    point = rule.points[-1]
    kind = "violating" if point.suspect_rows is None else "suspect"
    said = f"{point.bad_rows:,} of {point.rows:,} rows {kind} ({percent(point.share)})"
    said += "" if rule.last_run else ", not in the last run"
    return said + (", says something else since then" if rule.changed else "")


def worse_lines(history: History) -> list[str]:
    """Returns what got worse since the run before, a line per rule."""
    several = len({rule.table for rule in history.rules}) > 1
    return [f"{rule.table + ': ' if several and rule.table else ''}{rule.rule}  {rule.worse}" for rule in history.worse]


def _view(history: History) -> RenderableType:
    head = f"{number(history.runs, 'run')}, {period(history)}"
    parts: list[RenderableType] = [Text.assemble((on_one_line(history.folder), "bold"), f"  {head}")]
    for name, rules in groupby(history.rules, key=lambda rule: rule.table):
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for rule in rules:
            table.add_row(*_cells(rule))
        parts += [Text(), Text(on_one_line(name or "(no table named)"), style="bold"), table]
    worse = worse_lines(history)
    parts += [Text(), Text("worse than in the run before" if worse else "nothing got worse", style="bold")]
    parts += [Text(on_one_line(f"  {line}"), style="red") for line in worse]
    return Group(*parts)


def _cells(rule: RuleHistory) -> list[Text]:
    verdict = rule.points[-1].verdict or "-"
    return [
        Text(verdict, style=_STYLES.get(verdict, "dim")),
        Text(on_one_line(rule.rule)),
        Text(sparkline([point.share for point in rule.points]), style=_STYLES.get(verdict, "")),
        Text(last_state(rule), style="dim"),
    ]


def drawn(points: Sequence[RulePoint], width: int, height: int) -> list[tuple[float, float]]:
    """Returns the shares of suspects as points of a drawing, the first run at its left, zero at its foot."""
    most = max((point.share for point in points), default=0) or 1
    step = width / max(len(points) - 1, 1)
    return [(round(i * step, 1), round(height * (1 - point.share / most), 1)) for i, point in enumerate(points)]
