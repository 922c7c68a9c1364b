"""`holdfast check`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from holdfast.api import DEFAULT_LIMIT, plan_check, plan_tables_check
from holdfast.checking.baseline import Baseline, read_baseline
from holdfast.checking.outcome import FailOn
from holdfast.checking.output_folders import (
    ANNOTATION_FOLDERS,
    QUARANTINE_FOLDERS,
    SUGGESTION_FOLDERS,
    VIOLATION_FOLDERS,
    require_writable_folder,
)
from holdfast.cli import options
from holdfast.cli.command import VIOLATED
from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.notify import NotifyOn, destinations
from holdfast.cli.notify import notify as send_notifications
from holdfast.cli.tables import TableData, named_data
from holdfast.errors import OptionError
from holdfast.report.progress import Progress
from holdfast.rules.parse import is_table_name
from holdfast.rules.plain_words import number
from holdfast.rules.rule_file import as_rule_set

if TYPE_CHECKING:
    from holdfast.api import CheckResult, TablesCheckResult
    from holdfast.api.jobs import PlannedTablesCheck

EXAMPLES = """
Examples:
holdfast check orders.csv rules.yaml --key order_id
holdfast check orders.csv "zip -> city, state"
holdfast check orders.csv rules.yaml --format json --output result.json
holdfast check orders.csv rules.yaml --format junit --output holdfast.xml
holdfast check orders.csv rules.yaml --format openlineage --output event.json
holdfast check orders.csv rules.yaml --key order_id --violations found --quarantine split --suggest mends
holdfast check orders.csv rules.yaml --key order_id --report report.html
holdfast check orders.csv rules.yaml --key order_id --annotate annotated
holdfast check orders.csv rules.yaml --key order_id --baseline known.json --metrics metrics
holdfast check "orders(sku) in clean(sku)" --table orders=orders.csv --table clean=clean.csv

A rule file that names its tables needs no DATA: holdfast check RULES.

Exit code: 0 all rules hold, 1 a rule of severity error is violated beyond what it allows, 2 bad input, 3 a failure.
"""


CheckFormat = Literal["text", "json", "junit", "sarif", "openlineage"]


def check(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, Parquet, JSON or ORC file or folder, a Delta table, iceberg:catalog.db.table, spark:db.table, "
            "or a JDBC URL. Left out where the rule file, or --table, names the tables.",
            show_default=False,
        ),
    ],
    rules: Annotated[
        str | None,
        typer.Argument(metavar="RULES", help="A rule file (YAML), or one rule in quotes.", show_default=False),
    ] = None,
    *,
    table: TableData = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[,COLUMN]", help="What names a row in results. Default: the rule file's key, or _row."
        ),
    ] = None,
    violations: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write violating pairs, rows and groups there, as Parquet.")
    ] = None,
    quarantine: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write clean/ and quarantined/ rows there, as Parquet; the latter with the rules they break.",
        ),
    ] = None,
    annotate: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write the whole table there, as Parquet, with what each row breaks in _errors and _warnings.",
        ),
    ] = None,
    suggest: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Write there, as Parquet, which value would mend which suspect row."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Fail only on suspect rows that are not in it; it is written where there is none."
        ),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the baseline anew: what is suspect now is known.")
    ] = False,
    metrics: Annotated[
        str | None, typer.Option(metavar="DIR", help="Add a line per rule to the Parquet table there.")
    ] = None,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL|env:NAME",
            help="Post a short JSON there, or to the URL that a variable has; slack:URL in Slack's form.",
        ),
    ] = None,
    notify_on: Annotated[
        NotifyOn, typer.Option(help="When to post: where the check fails, on warnings too, always.")
    ] = "violated",
    redact: options.Redact = None,
    limit: options.PairLimit = str(DEFAULT_LIMIT),
    fail_on: Annotated[FailOn, typer.Option(help="Which severity makes the check fail.")] = "error",
    nulls: options.NullsOrFileNulls = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION", help="Check what satisfies this alone; of several tables, TABLE: CONDITION, repeated."
        ),
    ] = None,
    var: options.Var = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only rules with this tag, or one of several.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the plan and stop; with --verbose, its SQL.")
    ] = False,
    reading: options.Reading,
    report: options.Report = None,
    format: Annotated[CheckFormat, typer.Option(help="What to print.")] = "text",
    output: options.Output = None,
    spark: options.OnEngine,
) -> None:
    """Detect every violation of a set of rules, and count them exactly."""
    receivers = destinations(notify)
    chosen: dict[str, Any] = {"variables": options.assignments(var, "--var"), "tags": tag or ()}
    tables = _tables(data, rules, table, chosen)
    if rules is None:
        data, rules = "", data
    inputs = [rules, *tables.values()] if tables is not None else [data, rules]
    require_writable_files({"--output": output, "--report": report, "--baseline": baseline}, *inputs)
    if update_baseline and baseline is None:
        raise OptionError("--update-baseline needs to know which.", hint="name the file with --baseline FILE.")
    known = None if baseline is None or update_baseline or not baseline.exists() else read_baseline(baseline)
    run_options: dict[str, Any] = {
        "limit": options.limit_of(limit),
        "fail_on": fail_on,
        "all_columns": any(folder is not None for folder in (quarantine, annotate, suggest)),
        "redact": options.names_in(redact),
    }
    progress = spark.progress
    if tables is not None:
        if baseline is not None:
            raise OptionError("--baseline is for checks of one table.", hint="leave it out.")
        given = {"key": key, "nulls": nulls, "where": _conditions(where), **chosen}
        planned_tables = _planned_tables(tables, rules, spark, reading, given)
        names = tuple(planned_tables.plan.tables)
        for folder, own in (
            (violations, VIOLATION_FOLDERS),
            (quarantine, names),
            (annotate, names),
            (suggest, SUGGESTION_FOLDERS),
            (metrics, None),
        ):
            if folder is not None:
                require_writable_folder(folder, own)
        if explain:
            emit(planned_tables.explain(sql=spark.verbose) + "\n", output)
            return
        with progress.step(f"checking {number(len(planned_tables.plan.rules), 'rule')} on {planned_tables.name}"):
            checked_tables = planned_tables.run(**run_options)
        with checked_tables as of_tables:
            _write_folders(progress, of_tables, violations, quarantine, annotate, suggest)
            _write_rest(progress, of_tables, metrics, report)
            _tell(progress, of_tables, format, output)
            send_notifications(of_tables.outcome, receivers, notify_on)
        raise typer.Exit(0 if of_tables.holds else VIOLATED)
    if len(where or ()) > 1:
        raise OptionError("--where is given twice.", hint="join the conditions with and.")
    rule_set = as_rule_set(rules, **chosen)  # before Spark starts: a typo in a rule should not cost a start-up
    with progress.step(spark.opening(data, reading)):
        for folder, parts in (
            (violations, VIOLATION_FOLDERS),
            (quarantine, QUARANTINE_FOLDERS),
            (annotate, ANNOTATION_FOLDERS),
            (suggest, SUGGESTION_FOLDERS),
            (metrics, None),
        ):
            if folder is not None:
                require_writable_folder(folder, parts)
        condition = where[0] if where else None
        places: dict[str, Any] = {**spark.job_options, **reading.job_options}
        planned = plan_check(data, rule_set, key=key, nulls=nulls, where=condition, **places)
    if explain:
        emit(planned.explain(sql=spark.verbose) + "\n", output)
        return
    with progress.step(f"checking {number(len(rule_set), 'rule')} on {planned.table.name}"):
        checked = planned.run(**run_options)
    with checked as result:
        if baseline is not None:
            with progress.step("looking for what is new"):
                result = _against_baseline(result, baseline, known)
        _write_folders(progress, result, violations, quarantine, annotate, suggest)
        _write_rest(progress, result, metrics, report)
        _tell(progress, result, format, output)
        send_notifications(result.outcome, receivers, notify_on)
        if format == "text" and (row := _worst_row(result)) is not None:
            wanted = [("--key", key), *(("--var", value) for value in var or ())]
            more = [part for option, value in wanted if value is not None for part in (option, value)]
            progress.next("holdfast", "explain", data, rules, *more, row)
    raise typer.Exit(0 if result.holds else VIOLATED)


def _conditions(where: list[str] | None) -> dict[str, str]:
    """The condition of each table that --where names."""
    conditions: dict[str, str] = {}
    for given in where or ():
        name, colon, condition = given.partition(":")
        if not colon or not is_table_name(name.strip()):
            hint = "there are several tables: write it as in orders: day = '2026-11-16'."
            raise OptionError(f"--where {given!r} does not say of which table it is.", hint=hint)
        if name.strip() in conditions:
            raise OptionError(f"--where is given twice for {name.strip()}.", hint="join the conditions with and.")
        conditions[name.strip()] = condition.strip()
    return conditions


def _tables(data: str, rules: str | None, table: list[str] | None, chosen: dict[str, Any]) -> dict[str, str] | None:
    """The tables that --table names, none where the rule file is to name all; None for a check of one table."""
    if rules is not None:
        if table:
            raise OptionError(
                f"both DATA ({data!r}) and --table are given.", hint="name the data of each table with --table."
            )
        return None
    named = named_data(table)
    if not named and not as_rule_set(data, **chosen).tables:
        raise OptionError(
            f"{data!r} names no tables, so that it is not known what to check.",
            hint="write holdfast check DATA RULES, or name the tables in the rule file or with --table name=DATA.",
        )
    return named


def _planned_tables(
    tables: dict[str, str], rules: str, spark: options.OnEngine, reading: options.Reading, given: dict[str, Any]
) -> PlannedTablesCheck:
    with spark.progress.step("reading the tables"):
        return plan_tables_check(tables, rules, **given, **spark.job_options, **reading.job_options)


def _against_baseline(result: CheckResult, file: Path, known: Baseline | None) -> CheckResult:
    """The verdicts beside what is known; where nothing is, the suspects of this check are from now on."""
    if known is None:
        known = result.baseline()
        emit(known.to_json(), file)
        print(f"note: {known.suspects:,} suspect rows are known from now on: {file}", file=sys.stderr)
    return result.against(known)


def _write_folders(
    progress: Progress,
    result: CheckResult | TablesCheckResult,
    violations: str | None,
    quarantine: str | None,
    annotate: str | None,
    suggest: str | None,
) -> None:
    if annotate is not None:  # first of all: a table with such columns of its own is refused, with nothing written
        with progress.step(f"writing annotated rows to {annotate}"):
            result.write_annotated(annotate)
    if violations is not None:
        with progress.step(f"writing violations to {violations}"):
            result.write_violations(violations)
    if quarantine is not None:
        with progress.step(f"writing clean and quarantined rows to {quarantine}"):
            result.write_quarantine(quarantine)
    if suggest is not None:
        with progress.step(f"writing suggestions to {suggest}"):
            tried = result.write_suggestions(suggest)
        if tried is not None:
            of_each = " of each table" if result.outcome.tables else ""
            print(f"note: suggestions are for the first {tried:,} suspect rows{of_each}", file=sys.stderr)


def _write_rest(
    progress: Progress, result: CheckResult | TablesCheckResult, metrics: str | None, report: Path | None
) -> None:
    if metrics is not None:
        result.append_metrics(metrics)
    if report is not None:
        with progress.step(f"writing the report to {report}"):
            result.write_report(report)


def _tell(
    progress: Progress, result: CheckResult | TablesCheckResult, format: CheckFormat, output: Path | None
) -> None:
    if format == "json":
        emit_json(result.to_dict(), output)
        return
    with progress.step("looking at what was found"):
        result.detailed  # noqa: B018 (asks Spark for witnesses)
    _print_result(result, format, output)


def _print_result(result: CheckResult | TablesCheckResult, format: CheckFormat, output: Path | None) -> None:
    if format == "junit":
        emit(result.to_junit(), output)
    elif format == "sarif":
        emit(result.to_sarif(), output)
    elif format == "openlineage":
        emit(result.to_openlineage(namespace=os.environ.get("OPENLINEAGE_NAMESPACE", "holdfast")), output)
    elif output is not None:
        emit(result.summary() + "\n", output)
    else:
        from holdfast.report.summary_text import print_summary

        print_summary(result.detailed, Console())


def _worst_row(result: CheckResult) -> str | None:
    """A row that is worth a look, as `holdfast explain` takes it; None where there is none, or nobody may see it."""
    for outcome in result.detailed.rules:
        if not outcome.holds and outcome.worst:
            key = outcome.worst[0].key
            if not set(result.outcome.key) & result.hidden:
                return ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
    return None
