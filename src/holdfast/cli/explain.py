"""`holdfast explain`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import Data, NullsOrFileNulls, OnEngine, Printing, Reading, Redact, Rules, names_in

EXAMPLES = """
Examples:
holdfast explain orders.csv rules.yaml --key order_id SO-2486
holdfast explain orders.csv "zip -> city, state" --key order_id SO-2571 --format json
holdfast explain orders.csv rules.yaml --redact email 12

A row is named by its key, or by its number from 0 where there is none; a key of several columns as "a,b". Nothing is \
changed: a suggestion is a guess, with a confidence. holdfast check --suggest DIR writes those of all suspect rows.

Exit code: 0 done, whether or not the row breaks a rule, 2 bad input, 3 a failure.
"""


def explain(
    data: Data,
    rules: Rules,
    row: Annotated[str, typer.Argument(metavar="ROW", help="The key of the row, or its number.", show_default=False)],
    *,
    key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN[,COLUMN]", help="What names a row. Default: the rule file's key, or _row."),
    ] = None,
    redact: Redact = None,
    nulls: NullsOrFileNulls = None,
    reading: Reading,
    printing: Printing,
    spark: OnEngine,
) -> None:
    """Say which rules a row breaks, with which others, and which change of one cell would mend most of it."""
    require_writable_files({"--output": printing.output}, data, rules)
    options: dict[str, Any] = {"key": key, "nulls": nulls, "redact": names_in(redact)}
    with spark.progress.step(f"looking at row {row} of {data}"):
        from holdfast.api import explain as job
        from holdfast.report.explain_text import explanation_text, print_explanation

        explanation = job(data, rules, row, **options, **spark.job_options, **reading.job_options)
    if printing.format == "json":
        emit_json(explanation.to_dict(), printing.output)
    elif printing.output is None:
        print_explanation(explanation, Console())
    else:
        emit(explanation_text(explanation) + "\n", printing.output)
