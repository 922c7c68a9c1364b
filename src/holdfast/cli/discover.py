"""`holdfast discover`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from holdfast.api import plan_discover
from holdfast.api.jobs import refuse_for_tables
from holdfast.cli.discover_tables import discover_named_tables, named_tables
from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import (
    DecisionsFile,
    OnEngine,
    Printing,
    Reading,
    Redact,
    Report,
    SearchOptions,
    Top,
    names_in,
)
from holdfast.rules.decisions import as_decisions
from holdfast.search.options import DEFAULT_TOP, Strategy, discover_options, how_many

if TYPE_CHECKING:
    from holdfast.api import DiscoverResult

EXAMPLES = """
Examples:
holdfast discover clean.csv --max-predicates 3
holdfast discover clean.csv --columns tier,quantity,discount --top 20 -o found.yaml --report found.html
holdfast discover clean.csv --one-row --columns ordered,shipped,delivered
holdfast discover orders.csv --columns zip,city,state --error 0.002 -o nearly.yaml
holdfast discover orders.csv --columns zip,city,state --error-rows 0.01
holdfast discover orders.csv --columns country,tier,currency --conditional --min-support 0.02 --min-confidence 0.98
holdfast discover clean.csv --columns zip,city,state --decisions decisions.yaml
holdfast discover orders.csv --max-accidents 5% --max-predicates 3
holdfast discover orders.csv --exclude name,email --max-predicates 2 --time-limit 60 --format json --output found.json
holdfast discover --table orders=orders.csv --table clean=clean.csv -o references.yaml

Then holdfast check orders.csv found.yaml holds a table to what was found, and holdfast evolve keeps it up to date.

Exit code: 0 done (also when the time limit ended the search early, which the result says), 2 bad input, 3 a failure.
"""


def discover(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="A CSV, Parquet, JSON or ORC file or folder, a Delta table, iceberg:catalog.db.table, spark:db.table, "
            "or a JDBC URL. Left out where --table or --tables names several tables.",
            show_default=False,
        ),
    ] = None,
    *,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DATA", help="One of several tables, between which references are found; may be repeated."
        ),
    ] = None,
    tables: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Each file in it is one of several tables.")
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            "-o", metavar="RULES", help="Write the rules that are shown there, as a rule file.", show_default=False
        ),
    ] = None,
    top: Top = str(DEFAULT_TOP),
    max_accidents: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Show only rules that are accidents of this table at most so likely: 5%."),
    ] = None,
    comparing: SearchOptions,
    error_rows: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Keys and dependencies for which at most this share of rows has to go."),
    ] = None,
    conditional: Annotated[
        bool, typer.Option("--conditional", help="Dependencies that hold on rows with given values (CFDs).")
    ] = False,
    constants: Annotated[
        bool, typer.Option("--constants", help="Also rules that speak of rows with a frequent value only.")
    ] = False,
    min_support: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|N", help="Rows that support a value or pattern: a share of all, or a number. Default: 0.05."
        ),
    ] = None,
    min_confidence: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Of these, the share that holds it. Default: 1.")
    ] = None,
    arithmetic: Annotated[
        bool,
        typer.Option(
            "--arithmetic/--no-arithmetic", help="Also columns that are sums or products of others of their row."
        ),
    ] = True,
    column_rules: Annotated[
        bool,
        typer.Option(
            "--column-rules/--no-column-rules",
            help="Also what single columns are likely to keep: values, ranges, formats.",
        ),
    ] = True,
    strategy: Annotated[
        Strategy, typer.Option(help="Look at all pairs of rows, or sample and complete (hybrid).")
    ] = "auto",
    decisions: DecisionsFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print what would be compared and stop.")] = False,
    reading: Reading,
    report: Report = None,
    examples: Annotated[
        bool, typer.Option("--examples/--no-examples", help="Show rows that test a rule in the report.")
    ] = True,
    redact: Redact = None,
    printing: Printing,
    spark: OnEngine,
) -> None:
    """Find the most general rules a table holds, the ones worth reading first."""
    named = named_tables(data, table, tables)
    if named is not None:
        alone = (
            conditional,
            constants,
            min_support,
            min_confidence,
            arithmetic,
            column_rules,
            strategy,
            max_accidents,
            decisions,
            explain,
        )
        refuse_for_tables(_options_of_one_table(comparing, *alone))
        given = {"error_rows": error_rows, "top": top, "time_limit": comparing.time_limit}
        return discover_named_tables(
            named, rules=rules, report=report, printing=printing, reading=reading, spark=spark, **given
        )
    assert data is not None, "there is one table, or there are several"
    inputs = (data,) if decisions is None else (data, str(decisions))
    require_writable_files({"-o": rules, "--output": printing.output, "--report": report}, *inputs)
    options = discover_options(
        **comparing.job_options,
        error_rows=error_rows,
        conditional=conditional,
        constants=constants,
        min_support=min_support,
        min_confidence=min_confidence,
        strategy=strategy,
    )
    shown, known = how_many(top), as_decisions(decisions)
    progress = spark.progress
    with progress.step(spark.opening(data, reading)):
        planned = plan_discover(
            data,
            options=options,
            arithmetic=arithmetic,
            column_rules=column_rules,
            **spark.job_options,
            **reading.job_options,
        )
    if explain:
        from holdfast.report.space_text import space_text

        with progress.step(f"looking at the columns of {planned.table.name}"):
            space = planned.explain()
        emit(space_text(space), printing.output)
        return
    with progress.step(f"discovering the rules of {planned.table.name}"):
        result = planned.run(top=shown, max_accidents=max_accidents, decisions=known)
    if rules is not None:
        from holdfast.rules.rule_file import dump_rules

        emit(dump_rules(result.rule_set), rules)
    if report is not None:
        with progress.step(f"writing {report}"):
            page = result.to_html(examples=examples, redact=names_in(redact))
        emit(page, report)
    if printing.format == "json":
        emit_json(result.to_dict(), printing.output)
    else:
        _print_rules(result, printing.output)
        if len(result.rule_set):
            written = ("check", data, str(rules)) if rules is not None else ("discover", data, "-o", "rules.yaml")
            progress.next("holdfast", *written)


def _options_of_one_table(comparing: SearchOptions, *given: Any) -> list[str]:
    """Those of these options that are given; of several tables there is no use for them."""
    alone: dict[str, Any] = {
        "conditional": False,
        "constants": False,
        "min_support": None,
        "min_confidence": None,
        "arithmetic": True,
        "column_rules": True,
        "strategy": "auto",
        "max_accidents": None,
        "decisions": None,
        "explain": False,
    }
    usual = {**vars(SearchOptions()), **alone, "time_limit": comparing.time_limit}
    chosen = {**vars(comparing), **dict(zip(alone, given, strict=True))}
    return [name for name, value in chosen.items() if value != usual[name]]


def _print_rules(result: DiscoverResult, output: Path | None) -> None:
    from holdfast.report.discovery_text import print_discovery

    if output is None:
        print_discovery(result.outcome, Console())
    else:
        emit(result.summary() + "\n", output)
