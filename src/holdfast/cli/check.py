"""`holdfast check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from holdfast.api import DEFAULT_LIMIT
from holdfast.cli.command import VIOLATED, command
from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import (
    Data,
    NullsOrFileNulls,
    OnSpark,
    Output,
    PairLimit,
    Reading,
    Redact,
    Report,
    Rules,
    limit_of,
    names_in,
)
from holdfast.errors import OptionError
from holdfast.report.progress import Progress
from holdfast.rules.rule import Severity

if TYPE_CHECKING:
    from holdfast.checking.baseline import Baseline
    from holdfast.engines.spark.checking.check import CheckResult

EXAMPLES = """
Examples:
holdfast check orders.csv rules.yaml --key order_id
holdfast check orders.csv "zip -> city, state"
holdfast check orders.csv rules.yaml --format json --output result.json
holdfast check orders.csv rules.yaml --format junit --output holdfast.xml
holdfast check orders.csv rules.yaml --key order_id --violations found --quarantine split --suggest mends
holdfast check orders.csv rules.yaml --key order_id --report report.html
holdfast check orders.csv rules.yaml --key order_id --baseline known.json --metrics metrics

Exit code: 0 all rules hold, 1 a rule of severity error is violated beyond what it allows, 2 bad input, 3 a failure.
"""

VIOLATION_FOLDERS = ("pairs", "rows", "groups")
QUARANTINE_FOLDERS = ("clean", "quarantined")
SUGGESTION_FOLDERS = ("suggestions",)


class CheckFormat(StrEnum):
    text = "text"
    json = "json"
    junit = "junit"
    sarif = "sarif"


class FailOn(StrEnum):
    error = "error"
    warn = "warn"


def add_check(app: typer.Typer) -> None:
    command(app, "check", EXAMPLES)(check)


def check(
    data: Data,
    rules: Rules,
    *,
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
    redact: Redact = None,
    limit: PairLimit = str(DEFAULT_LIMIT),
    fail_on: Annotated[FailOn, typer.Option(help="Which severity makes the check fail.")] = FailOn.error,
    nulls: NullsOrFileNulls = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the plan and stop; with --verbose, its SQL.")
    ] = False,
    reading: Reading,
    report: Report = None,
    format: Annotated[CheckFormat, typer.Option(help="What to print.")] = CheckFormat.text,
    output: Output = None,
    spark: OnSpark,
) -> None:
    """Detect every violation of a set of rules, and count them exactly."""
    require_writable_files({"--output": output, "--report": report, "--baseline": baseline}, data, rules)
    if update_baseline and baseline is None:
        raise OptionError("--update-baseline needs to know which.", hint="name the file with --baseline FILE.")
    known = _known_suspects(baseline, update=update_baseline)
    most = limit_of(limit)
    asked: dict[str, Any] = {"key": key, "nulls": nulls.value if nulls else None, **spark.asked, **reading.asked}
    progress = spark.progress
    if explain:
        from holdfast.api import plan_check
        from holdfast.checking.plan_text import plan_text

        with progress.step("starting Spark"):
            _, plan = plan_check(data, rules, **asked)
        emit(plan_text(plan, sql=spark.verbose) + "\n", output)
        return
    folders = [
        (violations, VIOLATION_FOLDERS),
        (quarantine, QUARANTINE_FOLDERS),
        (suggest, SUGGESTION_FOLDERS),
        (metrics, None),
    ]
    severity: Severity = "warn" if fail_on is FailOn.warn else "error"
    wanted = {
        "limit": most,
        "fail_on": severity,
        "all_columns": quarantine is not None or suggest is not None,
        "redact": names_in(redact),
    }
    with _checked(progress, data, rules, asked, folders, wanted) as result:
        if baseline is not None:
            with progress.step("looking for what is new"):
                result = _beside(result, baseline, known)
        _write_folders(progress, result, violations, quarantine, suggest)
        if metrics is not None:
            from holdfast.engines.spark.checking.outputs import append_metrics

            append_metrics(result.scanned.sparkSession, result.outcome, metrics)
        if report is not None:
            with progress.step(f"writing the report to {report}"):
                emit(result.to_html(), report)
        if format is CheckFormat.json:
            emit_json(result.to_dict(), output)
        else:
            with progress.step("looking at what was found"):
                result.detailed  # noqa: B018 (asks Spark for witnesses)
            _print_found_violations(result, format, output)
            if format is CheckFormat.text and (row := _worst_row(result)) is not None:
                progress.next("holdfast", "explain", data, rules, *(() if key is None else ("--key", key)), row)
    raise typer.Exit(0 if result.holds else VIOLATED)


def _checked(
    progress: Progress,
    data: str,
    rules: str,
    asked: dict[str, Any],
    folders: Sequence[tuple[str | None, tuple[str, ...] | None]],
    wanted: dict[str, Any],
) -> CheckResult:
    from holdfast.rules.rule_file import as_rule_set

    rule_set = as_rule_set(rules)
    with progress.step("starting Spark"):
        from holdfast.api import plan_check
        from holdfast.engines.spark.checking.check import run_check
        from holdfast.engines.spark.checking.outputs import require_writable_folder

        for folder, parts in folders:
            if folder is not None:
                require_writable_folder(folder, parts)
        table, plan = plan_check(data, rule_set, **asked)
    with progress.step(f"checking {len(rule_set)} rule{'s' if len(rule_set) != 1 else ''} on {table.name}"):
        return run_check(table.frame.sparkSession, table, plan, **wanted)


def _known_suspects(baseline: Path | None, *, update: bool) -> Baseline | None:
    """What the file says is known; None where there is no file yet, or it is to be written anew."""
    from holdfast.checking.baseline import read_baseline

    return None if baseline is None or update or not baseline.exists() else read_baseline(baseline)


def _beside(result: CheckResult, file: Path, known: Baseline | None) -> CheckResult:
    from holdfast.engines.spark.checking.known_suspects import beside_baseline, found_suspects

    if known is None:
        known = found_suspects(result)
        emit(known.to_json(), file)
        print(f"note: {known.suspects:,} suspect rows are known from now on: {file}", file=sys.stderr)
    return beside_baseline(result, known)


def _write_folders(
    progress: Progress, result: CheckResult, violations: str | None, quarantine: str | None, suggest: str | None
) -> None:
    from holdfast.engines.spark.checking.outputs import write_folders

    if violations is not None:
        with progress.step(f"writing violations to {violations}"):
            frames = {"pairs": result.pairs, "rows": result.rows, "groups": result.groups}
            write_folders(frames, violations)
    if quarantine is not None:
        with progress.step(f"writing clean and quarantined rows to {quarantine}"):
            clean, quarantined = result.split()
            write_folders({"clean": clean, "quarantined": quarantined}, quarantine)
    if suggest is not None:
        with progress.step(f"writing suggestions to {suggest}"):
            write_folders({"suggestions": result.suggestions}, suggest)
        from holdfast.engines.spark.explaining.suggestions import may_be_cut, most_rows

        if may_be_cut(result):
            print(f"note: suggestions are for the first {most_rows(result):,} suspect rows", file=sys.stderr)


def _print_found_violations(result: CheckResult, format: CheckFormat, output: Path | None) -> None:
    if format is CheckFormat.junit:
        from holdfast.report.junit import junit_text

        emit(junit_text(result.detailed), output)
    elif format is CheckFormat.sarif:
        from holdfast.report.sarif import sarif_text

        emit(sarif_text(result.detailed), output)
    else:
        _print_summary(result, output)


def _worst_row(result: CheckResult) -> str | None:
    """A row that is worth a look, as `holdfast explain` takes it; None where there is none, or nobody may see it."""
    for found in result.detailed.rules:
        if not found.holds and found.worst:
            key = found.worst[0].key
            if not set(result.outcome.key) & result.hidden:
                return ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
    return None


def _print_summary(result: CheckResult, output: Path | None) -> None:
    from holdfast.report.summary_text import print_summary, summary_text

    if output is None:
        print_summary(result.detailed, Console())
    else:
        emit(summary_text(result.detailed) + "\n", output)
