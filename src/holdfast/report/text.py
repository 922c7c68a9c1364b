"""The outcome of a check as text on a terminal."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.detect.outcome import CheckOutcome, RuleOutcome, Witness
from holdfast.report.words import closing, counts, number, value_text, verdict

_STYLES = {"holds": "green", "allowed": "green", "warning": "yellow", "violated": "bold red"}
_MARKS = {"holds": "✓", "allowed": "✓", "warning": "!", "violated": "✗"}


def summary_text(outcome: CheckOutcome, *, width: int = 120, color: bool = False) -> str:
    """The outcome as `holdfast check` prints it, as one string."""
    target = io.StringIO()
    console = Console(file=target, width=width, force_terminal=color, color_system="standard" if color else None)
    console.print(summary_view(outcome))
    return target.getvalue().rstrip("\n")


def summary_view(outcome: CheckOutcome) -> RenderableType:
    """The outcome as something rich prints: the rules with their verdicts, then each violated one with a witness."""
    title = Text.assemble(
        (outcome.table, "bold"),
        f"  {number(outcome.rows, 'row')}, {number(len(outcome.rules), 'rule')}, {outcome.seconds:.1f} s",
    )
    parts: list[RenderableType] = [title, *_notes(outcome), Text(), _overview(outcome)]
    for found in outcome.rules:
        if found.violating_rows:
            parts += [Text(), *_details(found, outcome)]
    parts += [Text(), Text(closing(outcome), style="bold" if outcome.holds else "bold red")]
    return Group(*parts)


def _notes(outcome: CheckOutcome) -> list[RenderableType]:
    return [Text(f"note: {note}", style="yellow") for note in outcome.notes]


def _overview(outcome: CheckOutcome) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="left")
    for found in outcome.rules:
        word = verdict(found)
        tally = counts(found)
        if word == "allowed":
            tally += f" (allowed: {found.rule.allow_pairs or found.rule.allow})"
        table.add_row(
            Text(f"{_MARKS[word]} {word}", style=_STYLES[word]),
            Text(found.rule.name, style="bold"),
            Text(found.rule.kind, style="dim"),
            Text(str(found.rule)),
            Text(tally),
        )
    return table


def _details(found: RuleOutcome, outcome: CheckOutcome) -> list[RenderableType]:
    word = verdict(found)
    head = Text.assemble((f"{_MARKS[word]} {found.rule.name}", _STYLES[word]))
    if found.rule.description:
        head.append(f"  {found.rule.description}", style="italic")
    parts: list[RenderableType] = [head]
    if found.witness is not None:
        parts.append(Padding(_witness(found.witness, outcome), (0, 0, 0, 2)))
    if found.worst and found.worst[0].conflicts > 1:
        worst = ", ".join(f"{value_text(row.key)} ({number(row.conflicts, 'pair')})" for row in found.worst)
        parts.append(Text(f"  worst rows: {worst}"))
    elif found.violating_pairs is None and len(found.worst) > 1:
        more = " …" if found.violating_rows > len(found.worst) else ""
        parts.append(Text(f"  rows: {', '.join(value_text(row.key) for row in found.worst)}{more}"))
    if found.pairs_cut and outcome.limit is not None:
        parts.append(Text(f"  more pairs than the limit of {outcome.limit:,}: suspects are not known", style="yellow"))
    return parts


def _witness(witness: Witness, outcome: CheckOutcome) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    key = outcome.key_label
    table.add_column(", ".join(key) if isinstance(key, list) else key, style="dim")
    shown = [name for name in witness.shown if (name,) != outcome.key]
    for name in shown:
        table.add_column(name, header_style="bold" if name in witness.marked else "")
    for row_key, values in ((witness.left_key, witness.left), (witness.right_key, witness.right)):
        if values is not None:
            cells = [Text(value_text(values[n]), style="red bold" if n in witness.marked else "") for n in shown]
            table.add_row(Text(value_text(row_key)), *cells)
    return table
