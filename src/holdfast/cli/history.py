"""`holdfast history`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from holdfast.api import history as job
from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import Printing, Report

EXAMPLES = """
Examples:
holdfast history metrics
holdfast history metrics --report history.html

Exit code: 0 done, whether or not something got worse, 2 bad input.
"""


def history(
    metrics: Annotated[
        str,
        typer.Argument(
            metavar="METRICS", help="The folder that check --metrics wrote, or spark:db.table.", show_default=False
        ),
    ],
    *,
    last: Annotated[int, typer.Option(metavar="N", min=2, help="Show at most the last N runs of each rule.")] = 30,
    report: Report = None,
    printing: Printing,
) -> None:
    """Draw what became of each rule from check to check, and say what got worse."""
    require_writable_files({"--output": printing.output, "--report": report})
    history = job(metrics, last=last)
    if report is not None:
        from holdfast.report.history_page import history_page

        emit(history_page(history), report)
    if printing.format == "json":
        emit_json(history.to_dict(), printing.output)
        return
    from holdfast.report.history_text import history_text, print_history

    if printing.output is None:
        print_history(history, Console())
    else:
        emit(history_text(history) + "\n", printing.output)
