"""`holdfast lint`."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.api import lint as job
from holdfast.cli.command import VIOLATED
from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import Printing, Reading, Var, assignments
from holdfast.cli.tables import TableData, named_data
from holdfast.errors import OptionError
from holdfast.linting.finding import LintOutcome

EXAMPLES = """
Examples:
holdfast lint rules.yaml
holdfast lint rules.yaml --data orders.csv
holdfast lint rules.yaml --format json

No Spark is started, and no row is checked.

Exit code: 0 there is nothing to say, 1 there are findings, 2 wrong use or a file that is not there.
"""


def lint(
    rules: Annotated[list[str], typer.Argument(metavar="RULES...", help="Rule files (YAML).", show_default=False)],
    *,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="A file or folder that the rules are to fit, with its columns.")
    ] = None,
    table: TableData = None,
    var: Var = None,
    reading: Reading,
    printing: Printing,
) -> None:
    """Say what is wrong with rule files: mistakes, rules said twice or implied, columns that DATA has not."""
    if data is not None and table:
        raise OptionError("both --data and --table are given.", hint="name the data of each table with --table.")
    require_writable_files({"--output": printing.output}, *rules, *([data] if data else []))
    given = named_data(table) or data
    values = assignments(var, "--var")
    outcomes = [job(file, given, variables=values, **reading.job_options) for file in rules]
    outcome = LintOutcome(
        tuple(dict.fromkeys(finding for outcome in outcomes for finding in outcome.findings)),
        sum(outcome.rules for outcome in outcomes),
    )
    if printing.format == "json":
        emit_json(outcome.to_dict(), printing.output)
    else:
        from holdfast.report.lint_text import lint_text

        emit(lint_text(outcome) + "\n", printing.output)
    raise typer.Exit(0 if outcome.clean else VIOLATED)
