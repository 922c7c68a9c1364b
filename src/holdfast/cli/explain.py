"""`holdfast explain`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import (
    NullsOrFileNulls,
    OnEngine,
    Printing,
    Reading,
    Redact,
    Rules,
    Var,
    assignments,
    names_in,
)
from holdfast.cli.tables import TableData, named_data
from holdfast.errors import OptionError

EXAMPLES = """
Examples:
holdfast explain orders.csv rules.yaml --key order_id SO-2486
holdfast explain orders.csv "zip -> city, state" --key order_id SO-2571 --format json
holdfast explain orders.csv rules.yaml --redact email 12
holdfast explain "orders(sku) in clean(sku)" 12 --of orders --table orders=orders.csv --table clean=clean.csv

A row is named by its key, or by its number from 0 where there is none; a key of several columns as "a,b". Where the \
rule file, or --table, names several tables, DATA is left out, and --of says of which one the row is. Nothing is \
changed: a suggestion is a guess, with a confidence. holdfast check --suggest DIR writes those of all suspect rows.

Exit code: 0 done, whether or not the row breaks a rule, 2 bad input, 3 a failure.
"""


def explain(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, Parquet, JSON or ORC file or folder, a Delta table, iceberg:catalog.db.table, spark:db.table, "
            "or a JDBC URL. Left out where the rule file, or --table, names the tables.",
            show_default=False,
        ),
    ],
    rules: Rules,
    row: Annotated[
        str | None, typer.Argument(metavar="ROW", help="The key of the row, or its number.", show_default=False)
    ] = None,
    *,
    table: TableData = None,
    of: Annotated[str | None, typer.Option(metavar="NAME", help="Of which of several tables the row is.")] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN[,COLUMN]", help="What names a row. Default: the rule file's key, or _row."),
    ] = None,
    redact: Redact = None,
    nulls: NullsOrFileNulls = None,
    var: Var = None,
    reading: Reading,
    printing: Printing,
    spark: OnEngine,
) -> None:
    """Say which rules a row breaks, with which others, and which change of one cell would mend most of it."""
    tables = named_data(table)
    source: str | dict[str, str] = data
    if row is None:
        if of is None:
            raise OptionError(
                "it is not said which row is to be explained.",
                hint="write holdfast explain DATA RULES ROW; of several tables, holdfast explain RULES ROW --of NAME.",
            )
        source, rules, row = tables, data, rules
    elif tables or of is not None:
        raise OptionError(
            f"both DATA ({data!r}) and {'--table' if tables else '--of'} are given.",
            hint="of several tables, write holdfast explain RULES ROW --of NAME.",
        )
    require_writable_files({"--output": printing.output}, *(tables.values() if of else [data]), rules)
    options: dict[str, Any] = {"key": key, "nulls": nulls, "redact": names_in(redact), "table": of}
    options["variables"] = assignments(var, "--var")
    with spark.progress.step(f"looking at row {row} of {of or data}"):
        from holdfast.api import explain as job
        from holdfast.report.explain_text import explanation_text, print_explanation

        explanation = job(source, rules, row, **options, **spark.job_options, **reading.job_options)
    if printing.format == "json":
        emit_json(explanation.to_dict(), printing.output)
    elif printing.output is None:
        print_explanation(explanation, Console())
    else:
        emit(explanation_text(explanation) + "\n", printing.output)
