"""The command: arguments to jobs, results to standard output, errors to exit codes."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from holdfast.demo.run import demo_command
from holdfast.discover.options import DEFAULT_OVERLAP, DEFAULT_TIME_LIMIT, DEFAULT_TOP, discover_options, how_many
from holdfast.errors import HoldfastError, OptionError, OutputError
from holdfast.jobs import DEFAULT_LIMIT
from holdfast.report.progress import Progress
from holdfast.rules.rule import Severity

if TYPE_CHECKING:
    from holdfast.fragments.outcome import FragmentsStatus
    from holdfast.incremental.evolve_status import EvolveStatus
    from holdfast.spark.check import CheckResult
    from holdfast.spark.discover import DiscoverResult
    from holdfast.states.baseline import Baseline
    from holdfast.states.batch_outcome import BatchOutcome
    from holdfast.states.evolve_outcome import EvolveOutcome
    from holdfast.states.watch_status import WatchStatus

app = typer.Typer(
    name="holdfast",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Finds the rules your data holds, and holds your data to them.",
)

VIOLATED, BAD_INPUT, FAILED, INTERRUPTED = 1, 2, 3, 130


class Format(StrEnum):
    text = "text"
    json = "json"


class CheckFormat(StrEnum):
    text = "text"
    json = "json"
    junit = "junit"
    sarif = "sarif"


class FailOn(StrEnum):
    error = "error"
    warn = "warn"


class NullsMode(StrEnum):
    sql = "sql"
    equal = "equal"


class StrategyName(StrEnum):
    auto = "auto"
    all_pairs = "all-pairs"
    hybrid = "hybrid"


class EvolveStrategyName(StrEnum):
    auto = "auto"
    evidence = "evidence"
    by_index = "index"
    rediscover = "rediscover"


class DeviceName(StrEnum):
    auto = "auto"
    cpu = "cpu"
    gpu = "gpu"


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"holdfast {metadata.version('holdfast')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    del version  # its callback has done what there is to do


# Options that several commands have -------------------------------------------------------------------------------

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, Parquet, JSON or ORC file or folder, a Delta table, spark:db.table, or a JDBC URL.",
        show_default=False,
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=TYPE", help="Read a column as text, int, double, decimal(p,s), date, …"),
]
NullValues = Annotated[str | None, typer.Option(metavar="NA,?", help="Texts that mean null in CSV.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates CSV fields. Default: seen in the header.")]
Encoding = Annotated[str | None, typer.Option(help="The CSV's encoding. Default: UTF-8, checked.")]
Multiline = Annotated[
    bool | None, typer.Option("--multiline/--no-multiline", help="CSV values may contain line breaks.")
]
InputFormat = Annotated[str | None, typer.Option(metavar="FORMAT", help="csv, parquet, json or orc.")]
OutputFormat = Annotated[Format, typer.Option(help="What to print.")]
Output = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result there instead of printing it.")]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a report there, as one HTML page.")
]
Master = Annotated[str | None, typer.Option(help="The Spark master. Default: local[*].")]
Conf = Annotated[list[str] | None, typer.Option(metavar="K=V", help="A Spark setting; may be repeated.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show what Spark says when something fails.")]


def _reading(
    types: list[str] | None,
    null_values: str | None,
    delimiter: str | None,
    encoding: str | None,
    multiline: bool | None,
    input_format: str | None,
) -> dict[str, Any]:
    """How the source is read, as jobs take it."""
    return {
        "types": _assignments(types, "--types"),
        "null_values": tuple(null_values.split(",")) if null_values is not None else (),
        "delimiter": delimiter,
        "encoding": encoding,
        "multiline": multiline,
        "input_format": input_format,
    }


# check ------------------------------------------------------------------------------------------------------------

_CHECK_EXAMPLES = """
Examples:

  holdfast check tax.csv rules.yaml --key id

  holdfast check tax.csv "ZipCode -> City, State"

  holdfast check orders.parquet rules.yaml --format json --output result.json

  holdfast check orders.parquet rules.yaml --format junit --output holdfast.xml

  holdfast check orders.csv rules.yaml --violations found/ --quarantine split/

  holdfast check orders.csv rules.yaml --report report.html

  holdfast check orders.csv rules.yaml --key id --baseline known.json --metrics metrics/

Exit code: 0 all rules hold, 1 a rule of severity error is violated beyond what it allows, 2 bad input, 3 a failure.
"""


@app.command(epilog=_CHECK_EXAMPLES.replace("\n\n", "\n\n\n"))
def check(
    data: Data,
    rules: Annotated[
        str, typer.Argument(metavar="RULES", help="A rule file (YAML), or one rule in quotes.", show_default=False)
    ],
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
    redact: Annotated[
        str | None,
        typer.Option(metavar="COLUMN[,COLUMN]", help="Show no values of these columns, in the summary and the report."),
    ] = None,
    limit: Annotated[
        str, typer.Option(metavar="N|none", help="List at most N pairs per rule; counts stay exact.")
    ] = str(DEFAULT_LIMIT),
    fail_on: Annotated[FailOn, typer.Option(help="Which severity makes the check fail.")] = FailOn.error,
    nulls: Annotated[
        NullsMode | None, typer.Option(help="How nulls compare. Default: what the rule file says, or sql.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the plan and stop; with --verbose, its SQL.")
    ] = False,
    types: Types = None,
    null_values: NullValues = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    multiline: Multiline = None,
    input_format: InputFormat = None,
    report: Report = None,
    format: Annotated[CheckFormat, typer.Option(help="What to print.")] = CheckFormat.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Detect every violation of a set of rules, and count them exactly."""
    with _told(verbose):
        _require_writable_files({"--output": output, "--report": report, "--baseline": baseline}, data, rules)
        if update_baseline and baseline is None:
            raise OptionError("--update-baseline needs to know which.", hint="name the file with --baseline FILE.")
        known = _known_suspects(baseline, update=update_baseline)
        most = _limit(limit)
        asked: dict[str, Any] = {
            "key": key,
            "nulls": nulls.value if nulls else None,
            "master": master,
            "conf": _assignments(conf, "--conf"),
            **_reading(types, null_values, delimiter, encoding, multiline, input_format),
        }
        progress = Progress(quiet=quiet)
        if explain:
            from holdfast.jobs import plan_check

            with progress.step("starting Spark"):
                _, plan = plan_check(data, rules, **asked)
            _emit(plan.explain(sql=verbose) + "\n", output)
            return
        hidden = [name.strip() for name in (redact or "").split(",") if name.strip()]
        folders = (violations, quarantine, metrics)
        result = _checked(progress, data, rules, asked, most, _severity(fail_on), *folders, hidden)
        with result:
            if baseline is not None:
                with progress.step("looking for what is new"):
                    result = _beside(result, baseline, known)
            _write_folders(progress, result, violations, quarantine)
            if metrics is not None:
                from holdfast.spark.outputs import append_metrics

                append_metrics(result.scanned.sparkSession, result.outcome, metrics)
            if report is not None:
                with progress.step(f"writing the report to {report}"):
                    _emit(result.to_html(), report)
            if format is CheckFormat.json:
                _emit(json.dumps(result.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
            else:
                with progress.step("looking at what was found"):
                    result.detailed  # noqa: B018 (asks Spark for witnesses)
                _print_found_violations(result, format, output)
        raise typer.Exit(0 if result.holds else VIOLATED)


def _checked(
    progress: Progress,
    data: str,
    rules: str,
    asked: dict[str, Any],
    limit: int | None,
    fail_on: Severity,
    violations: str | None,
    quarantine: str | None,
    metrics: str | None,
    redact: list[str],
) -> CheckResult:
    from holdfast.rules.rule_file import as_rule_set

    wanted = as_rule_set(rules)
    with progress.step("starting Spark"):
        from holdfast.jobs import plan_check
        from holdfast.spark.check import run_check
        from holdfast.spark.outputs import require_writable_folder

        for folder, parts in ((violations, VIOLATION_FOLDERS), (quarantine, QUARANTINE_FOLDERS), (metrics, None)):
            if folder is not None:
                require_writable_folder(folder, parts)
        table, plan = plan_check(data, wanted, **asked)
    with progress.step(f"checking {len(wanted)} rule{'s' if len(wanted) != 1 else ''} on {table.name}"):
        keep_all = quarantine is not None
        return run_check(
            table.frame.sparkSession,
            table,
            plan,
            limit=limit,
            fail_on=fail_on,
            all_columns=keep_all,
            redact=redact,
        )


def _known_suspects(baseline: Path | None, *, update: bool) -> Baseline | None:
    """What the file says is known; None where there is no file yet, or it is to be written anew."""
    from holdfast.states.baseline import read_baseline

    return None if baseline is None or update or not baseline.exists() else read_baseline(baseline)


def _beside(result: CheckResult, file: Path, known: Baseline | None) -> CheckResult:
    from holdfast.spark.known_suspects import beside_baseline, found_suspects

    if known is None:
        known = found_suspects(result)
        _emit(known.to_json(), file)
        print(f"note: {known.suspects:,} suspect rows are known from now on: {file}", file=sys.stderr)
    return beside_baseline(result, known)


VIOLATION_FOLDERS = ("pairs", "rows", "groups")
QUARANTINE_FOLDERS = ("clean", "quarantined")


def _write_folders(progress: Progress, result: CheckResult, violations: str | None, quarantine: str | None) -> None:
    from holdfast.spark.outputs import write_folders

    if violations is not None:
        with progress.step(f"writing violations to {violations}"):
            frames = {"pairs": result.pairs, "rows": result.rows, "groups": result.groups}
            write_folders(frames, violations)
    if quarantine is not None:
        with progress.step(f"writing clean and quarantined rows to {quarantine}"):
            clean, quarantined = result.split()
            write_folders({"clean": clean, "quarantined": quarantined}, quarantine)


def _print_found_violations(result: CheckResult, format: CheckFormat, output: Path | None) -> None:
    if format is CheckFormat.junit:
        from holdfast.report.junit import junit_text

        _emit(junit_text(result.detailed), output)
    elif format is CheckFormat.sarif:
        from holdfast.report.sarif import sarif_text

        _emit(sarif_text(result.detailed), output)
    else:
        _print_summary(result, output)


def _print_summary(result: CheckResult, output: Path | None) -> None:
    from holdfast.report.text import print_summary, summary_text

    if output is None:
        print_summary(result.detailed, Console())
    else:
        _emit(summary_text(result.detailed) + "\n", output)


# discover ---------------------------------------------------------------------------------------------------------

_DISCOVER_EXAMPLES = """
Examples:

  holdfast discover tax.csv

  holdfast discover tax.csv --top 20 -o rules.yaml --report report.html

  holdfast discover tax.csv --columns State,Salary,Rate --top all

  holdfast discover stock.csv --one-row --max-predicates 3

  holdfast discover tax.csv --error 0.001 -o rules.yaml

  holdfast discover tax.csv --error-rows 0.01

  holdfast discover tax.csv --conditional --min-support 0.02 --min-confidence 0.98 --max-predicates 3

  holdfast discover orders.parquet --exclude note --time-limit 60 --format json

Then holdfast check tax.csv rules.yaml holds today's table, and tomorrow's, to what was found.

Exit code: 0 done (also when the time limit ended the search early, which the result says), 2 bad input, 3 a failure.
"""


Top = Annotated[str, typer.Option(metavar="N|all", help="Show the best N rules.")]
Columns = Annotated[
    str | None, typer.Option(metavar="COLUMN[,COLUMN]", help="Compare these columns only. Default: all.")
]
Exclude = Annotated[str | None, typer.Option(metavar="COLUMN[,COLUMN]", help="Leave these columns out.")]
CrossColumns = Annotated[
    str,
    typer.Option(
        metavar="SHARE|off", help="Compare two columns when they share this much of the smaller one's values."
    ),
]
OneRow = Annotated[bool, typer.Option("--one-row", help="Compare such columns within one row, too.")]
OrderText = Annotated[bool, typer.Option("--order-text", help="Text has an order, by its UTF-8 bytes.")]
HowNullsCompare = Annotated[NullsMode, typer.Option(help="How nulls compare.")]
ErrorShare = Annotated[
    str, typer.Option(metavar="SHARE", help="Rules that at most this share of all ordered pairs of rows breaks.")
]
MaxPredicates = Annotated[
    int | None, typer.Option(metavar="N", help="Rules of up to N predicates only. Default: no limit.")
]
TimeLimit = Annotated[str, typer.Option(metavar="SECONDS|none", help="End the search then, and say so.")]
DeviceChoice = Annotated[
    DeviceName, typer.Option(help="What relates all pairs: a GPU where there is one and it pays, or as said.")
]


@app.command(epilog=_DISCOVER_EXAMPLES.replace("\n\n", "\n\n\n"))
def discover(
    data: Data,
    rules: Annotated[
        Path | None,
        typer.Option(
            "-o", metavar="RULES", help="Write the rules that are shown there, as a rule file.", show_default=False
        ),
    ] = None,
    top: Top = str(DEFAULT_TOP),
    columns: Columns = None,
    exclude: Exclude = None,
    cross_columns: CrossColumns = str(DEFAULT_OVERLAP),
    one_row: OneRow = False,
    order_text: OrderText = False,
    nulls: HowNullsCompare = NullsMode.sql,
    error: ErrorShare = "0",
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
    max_predicates: MaxPredicates = None,
    time_limit: TimeLimit = f"{DEFAULT_TIME_LIMIT:g}",
    strategy: Annotated[
        StrategyName, typer.Option(help="Look at all pairs of rows, or sample and complete (hybrid).")
    ] = StrategyName.auto,
    device: DeviceChoice = DeviceName.auto,
    explain: Annotated[bool, typer.Option("--explain", help="Print what would be compared and stop.")] = False,
    types: Types = None,
    null_values: NullValues = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    multiline: Multiline = None,
    input_format: InputFormat = None,
    report: Report = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the most general rules a table holds, the ones worth reading first."""
    with _told(verbose):
        _require_writable_files({"-o": rules, "--output": output, "--report": report}, data)
        options = discover_options(
            columns=columns if columns is not None else (),
            exclude=exclude if exclude is not None else (),
            cross_columns=cross_columns,
            one_row=one_row,
            order_text=order_text,
            nulls=nulls.value,
            error=error,
            error_rows=error_rows,
            conditional=conditional,
            constants=constants,
            min_support=min_support,
            min_confidence=min_confidence,
            max_predicates=max_predicates,
            time_limit=time_limit,
            strategy=strategy.value,
            device=device.value,
        )
        shown = how_many(top)
        reading = _reading(types, null_values, delimiter, encoding, multiline, input_format)
        settings = _assignments(conf, "--conf")
        progress = Progress(quiet=quiet)
        with progress.step("starting Spark"):
            from holdfast.jobs import open_table
            from holdfast.spark.discover import explain_discover, run_discover

            table = open_table(data, master=master, conf=settings, **reading)
        if explain:
            from holdfast.report.space_text import space_text

            with progress.step(f"looking at the columns of {table.name}"):
                space = explain_discover(table, options)
            _emit(space_text(space), output)
            return
        with progress.step(f"discovering the rules of {table.name}"):
            result = run_discover(table, options, top=shown)
        if rules is not None:
            from holdfast.rules.rule_file import dump_rules

            _emit(dump_rules(result.rules), rules)
        if report is not None:
            _emit(result.to_html(), report)
        if format is Format.json:
            _emit(json.dumps(result.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
        else:
            _print_found(result, output)


def _print_found(result: DiscoverResult, output: Path | None) -> None:
    from holdfast.report.found_text import print_found

    if output is None:
        print_found(result.outcome, Console())
    else:
        _emit(result.summary() + "\n", output)


# sql --------------------------------------------------------------------------------------------------------------

_SQL_EXAMPLES = """
Examples:

  holdfast sql rules.yaml --table orders --key order_id

  holdfast sql "zip -> city" --table shop.orders --key id --dialect bigquery

  holdfast sql rules.yaml --table orders --count --output checks.sql

Each query lists the violations of a rule, by key; --count makes one query that counts those of all rules. What differs
between databases stays so: how text is ordered and compared, and NaN.
"""


@app.command(epilog=_SQL_EXAMPLES.replace("\n\n", "\n\n\n"))
def sql(
    rules: Annotated[
        str, typer.Argument(metavar="RULES", help="A rule file (YAML), or one rule in quotes.", show_default=False)
    ],
    table: Annotated[
        str, typer.Option(metavar="NAME", help="The table, as the database writes it.", show_default=False)
    ],
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN[,COLUMN]", help="What names a row. Default: the rule file's key.")
    ] = None,
    nulls: Annotated[
        NullsMode | None, typer.Option(help="How nulls compare. Default: what the rule file says, or sql.")
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="How names and texts are written: ansi, spark, mysql, bigquery, tsql.")
    ] = ("ansi"),
    count: Annotated[bool, typer.Option("--count", help="One query that counts the violations of each rule.")] = False,
    output: Output = None,
    verbose: Verbose = False,
) -> None:
    """Print rules as SQL queries, to check them in any database. No Spark is started."""
    with _told(verbose):
        from holdfast.rules.rule_file import as_rule_set, named_key
        from holdfast.rules.rule_sql import dialect_named, rules_sql

        _require_writable_files({"--output": output}, rules)
        wanted = as_rule_set(rules, nulls=nulls.value if nulls else None)
        names = named_key(wanted, key)
        _emit(rules_sql(wanted, table=table, key=names, dialect=dialect_named(dialect), count=count), output)


# watch ------------------------------------------------------------------------------------------------------------

_WATCH_EXAMPLES = """
Examples:

  holdfast watch init state --data orders.csv --rules rules.yaml --key order_id

  holdfast watch apply state monday.csv

  holdfast watch run state --source incoming --once

  holdfast watch run state --source lake/orders

  holdfast watch show state --violations found

  holdfast watch rules state new-rules.yaml

A file of changes has the table's columns and a column _change_type: insert, delete, update_preimage or
update_postimage; without it all rows are inserts. The same file is applied once, however often it is given.

Exit code: 0 done, whether or not rules are violated, 2 bad input (nothing was changed), 3 a failure.
"""

watch_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Keep the violations of a table up to date under inserts, deletes and updates.",
    epilog=_WATCH_EXAMPLES.replace("\n\n", "\n\n\n"),
)
app.add_typer(watch_app, name="watch")

State = Annotated[str, typer.Argument(metavar="STATE", help="The folder of the state.", show_default=False)]
ListLimit = Annotated[
    str, typer.Option(metavar="N|none", help="List at most N violations per rule and batch; counts stay exact.")
]
RulesArgument = Annotated[
    str, typer.Argument(metavar="RULES", help="A rule file (YAML), or one rule in quotes.", show_default=False)
]


FromVersion = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Of a Delta table that the state was not made of: the first version to apply.", min=0
    ),
]


@watch_app.command("init")
def watch_init(
    state: State,
    data: Annotated[str, typer.Option(metavar="DATA", help="The table: as in holdfast check.", show_default=False)],
    rules: Annotated[
        str, typer.Option(metavar="RULES", help="A rule file (YAML), or one rule in quotes.", show_default=False)
    ],
    key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN[,COLUMN]", help="What names a row. Default: the rule file's key."),
    ] = None,
    nulls: Annotated[
        NullsMode | None, typer.Option(help="How nulls compare. Default: what the rule file says, or sql.")
    ] = None,
    types: Types = None,
    null_values: NullValues = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    multiline: Multiline = None,
    input_format: InputFormat = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Load a table into a new state, and count its violations."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output", data, rules)
        reading = _reading(types, null_values, delimiter, encoding, multiline, input_format)
        with Progress(quiet=quiet).step(f"loading {data} into {state}"):
            from holdfast.jobs import watch_init as job

            status = job(
                state,
                data,
                rules,
                key=key,
                nulls=nulls.value if nulls else None,
                master=master,
                conf=_assignments(conf, "--conf"),
                **reading,
            )
        _emit_watched(status, format, output)


@watch_app.command("apply")
def watch_apply(
    state: State,
    changes: Annotated[
        str, typer.Argument(metavar="CHANGES", help="A file or folder of changes, as DATA.", show_default=False)
    ],
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="What tells this batch from others. Default: its content.")
    ] = None,
    limit: ListLimit = str(DEFAULT_LIMIT),
    null_values: NullValues = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    multiline: Multiline = None,
    input_format: InputFormat = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Apply one file of changes, once, and say which violations it adds and removes."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output", changes)
        most = _limit(limit)
        reading = _reading(None, null_values, delimiter, encoding, multiline, input_format)
        with Progress(quiet=quiet).step(f"applying {changes} to {state}"):
            from holdfast.jobs import watch_apply as job

            outcome = job(
                state, changes, batch=batch, limit=most, master=master, conf=_assignments(conf, "--conf"), **reading
            )
        _emit_batch(outcome, os.path.basename(changes.rstrip("/")), format, output)


@watch_app.command("run")
def watch_run(
    state: State,
    source: Annotated[
        str,
        typer.Option(
            metavar="DIR", help="The folder to follow, or a Delta table with a change feed.", show_default=False
        ),
    ],
    once: Annotated[bool, typer.Option("--once", help="Apply what is there now, and stop.")] = False,
    from_version: FromVersion = None,
    limit: ListLimit = str(DEFAULT_LIMIT),
    format: OutputFormat = Format.text,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Follow a folder or a Delta table: apply each file of changes, or commit, in order; as JSON, a line for each."""
    with _told(verbose):
        most = _limit(limit)
        with Progress(quiet=quiet).step(f"following {source}"):
            from holdfast.jobs import watch_run as job

            def tell(outcome: BatchOutcome, name: str) -> None:
                _emit_batch(outcome, name, format, None, one_line=True)

            settings: dict[str, Any] = {"master": master, "conf": _assignments(conf, "--conf")}
            job(state, source, once=once, from_version=from_version, limit=most, on_batch=tell, **settings)


@watch_app.command("show")
def watch_show(
    state: State,
    violations: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write current violations there, as holdfast check does.")
    ] = None,
    report: Report = None,
    limit: Annotated[
        str, typer.Option(metavar="N|none", help="List at most N pairs per rule; counts stay exact.")
    ] = str(DEFAULT_LIMIT),
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Print how often each rule is violated now, and by which rows most."""
    with _told(verbose):
        _require_writable_files({"--output": output, "--report": report})
        most = _limit(limit)
        with Progress(quiet=quiet).step(f"looking at {state}"):
            from holdfast.jobs import watch_show as job

            if violations is not None:
                from holdfast.spark.outputs import require_writable_folder

                require_writable_folder(violations, VIOLATION_FOLDERS)
            asked: dict[str, Any] = {"master": master, "conf": _assignments(conf, "--conf")}
            status = job(state, violations=violations, report=report, limit=most, **asked)
        _emit_watched(status, format, output)


@watch_app.command("rules")
def watch_rules(
    state: State,
    rules: RulesArgument,
    nulls: Annotated[
        NullsMode | None, typer.Option(help="How nulls compare. Default: what the rule file says, or sql.")
    ] = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Watch these rules from now on, without loading the table again."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output", rules)
        with Progress(quiet=quiet).step(f"changing the rules of {state}"):
            from holdfast.jobs import watch_rules as job

            asked: dict[str, Any] = {"nulls": nulls.value if nulls else None, "master": master}
            status, added, removed = job(state, rules, **asked, conf=_assignments(conf, "--conf"))
        if format is Format.json:
            told = {"version": status.version, "added": added, "removed": removed, "totals": dict(status.totals)}
            _emit(json.dumps(told, ensure_ascii=False, indent=2) + "\n", output)
        else:
            from holdfast.report.watch_text import rules_text

            _emit(rules_text(status, added, removed), output)


def _emit_watched(status: WatchStatus, format: Format, output: Path | None) -> None:
    if format is Format.json:
        _emit(json.dumps(status.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
    else:
        from holdfast.report.watch_text import status_text

        _emit(status_text(status), output)


def _emit_batch(
    outcome: BatchOutcome, name: str, format: Format, output: Path | None, *, one_line: bool = False
) -> None:
    if format is Format.json:
        _emit(json.dumps(outcome.to_dict(), ensure_ascii=False, indent=None if one_line else 2) + "\n", output)
        if outcome.cut:
            listed = len(outcome.added) + len(outcome.removed)
            print(f"note: --limit cuts the lists to {listed:,} violations; the counts are exact", file=sys.stderr)
    else:
        from holdfast.report.watch_text import batch_text

        _emit(batch_text(outcome, name), output)
    sys.stdout.flush()


# evolve -----------------------------------------------------------------------------------------------------------

_EVOLVE_EXAMPLES = """
Examples:

  holdfast evolve init rules-state --data orders.csv --key order_id

  holdfast evolve apply rules-state monday.csv

  holdfast evolve run rules-state --source incoming --once

  holdfast evolve show rules-state --top 20
"""

evolve_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Keep the rules that a table holds up to date under inserts, deletes and updates.",
    epilog=_EVOLVE_EXAMPLES.replace("\n\n", "\n\n\n"),
)
app.add_typer(evolve_app, name="evolve")


@evolve_app.command("init")
def evolve_init(
    state: State,
    data: Annotated[str, typer.Option(metavar="DATA", help="The table: as in holdfast discover.", show_default=False)],
    key: Annotated[str, typer.Option(metavar="COLUMN[,COLUMN]", help="What names a row.", show_default=False)],
    top: Top = str(DEFAULT_TOP),
    columns: Columns = None,
    exclude: Exclude = None,
    cross_columns: CrossColumns = str(DEFAULT_OVERLAP),
    one_row: OneRow = False,
    order_text: OrderText = False,
    nulls: HowNullsCompare = NullsMode.sql,
    error: ErrorShare = "0",
    max_predicates: MaxPredicates = None,
    time_limit: TimeLimit = f"{DEFAULT_TIME_LIMIT:g}",
    strategy: Annotated[
        EvolveStrategyName,
        typer.Option(help="How rules are kept: by counted evidence, by indexes, or by a new search each time."),
    ] = EvolveStrategyName.auto,
    device: DeviceChoice = DeviceName.auto,
    types: Types = None,
    null_values: NullValues = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    multiline: Multiline = None,
    input_format: InputFormat = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Load a table into a new state, and find the rules it holds."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output", data)
        reading = _reading(types, null_values, delimiter, encoding, multiline, input_format)
        options = {
            "columns": columns or (),
            "exclude": exclude or (),
            "cross_columns": cross_columns,
            "one_row": one_row,
            "order_text": order_text,
            "nulls": nulls.value,
            "error": error,
            "max_predicates": max_predicates,
            "time_limit": time_limit,
            "device": device.value,
        }
        with Progress(quiet=quiet).step(f"loading {data} into {state}, and finding its rules"):
            from holdfast.jobs import evolve_init as job

            status = job(
                state, data, key=key, strategy=strategy.value, top=top, options=options, master=master,
                conf=_assignments(conf, "--conf"), **reading,
            )  # fmt: skip
        _emit_rules(status, format, output)


@evolve_app.command("apply")
def evolve_apply(
    state: State,
    changes: Annotated[
        str, typer.Argument(metavar="CHANGES", help="A file or folder of changes, as DATA.", show_default=False)
    ],
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="What tells this batch from others. Default: its content.")
    ] = None,
    strategy: Annotated[
        EvolveStrategyName | None, typer.Option(help="How the rules of this batch are kept. Default: as at init.")
    ] = None,
    null_values: NullValues = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    multiline: Multiline = None,
    input_format: InputFormat = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Apply one file of changes, once, and say which rules it adds and removes, and why."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output", changes)
        reading = _reading(None, null_values, delimiter, encoding, multiline, input_format)
        with Progress(quiet=quiet).step(f"applying {changes} to {state}"):
            from holdfast.jobs import evolve_apply as job

            outcome = job(
                state, changes, batch=batch, strategy=strategy.value if strategy else None, master=master,
                conf=_assignments(conf, "--conf"), **reading,
            )  # fmt: skip
        _emit_evolved(outcome, os.path.basename(changes.rstrip("/")), format, output)


@evolve_app.command("run")
def evolve_run(
    state: State,
    source: Annotated[
        str, typer.Option(metavar="DIR", help="The folder to follow, or a Delta table.", show_default=False)
    ],
    once: Annotated[bool, typer.Option("--once", help="Apply what is there now, and stop.")] = False,
    from_version: FromVersion = None,
    format: OutputFormat = Format.text,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Follow a folder or a Delta table: apply what comes, the oldest first; as JSON, a line for each batch."""
    with _told(verbose), Progress(quiet=quiet).step(f"following {source}"):
        from holdfast.jobs import evolve_run as job

        def tell(outcome: EvolveOutcome, name: str) -> None:
            _emit_evolved(outcome, name, format, None, one_line=True)

        settings: dict[str, Any] = {"master": master, "conf": _assignments(conf, "--conf")}
        job(state, source, once=once, from_version=from_version, on_batch=tell, **settings)


@evolve_app.command("show")
def evolve_show(
    state: State,
    top: Top = str(DEFAULT_TOP),
    report: Report = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Print the rules as they are now, best first, and what the last batches did to them."""
    with _told(verbose):
        _require_writable_files({"--output": output, "--report": report})
        with Progress(quiet=quiet).step(f"looking at {state}"):
            from holdfast.jobs import evolve_show as job

            status = job(state, top=top, master=master, conf=_assignments(conf, "--conf"))
        if report is not None:
            from holdfast.report.evolve_page import evolve_page

            _emit(evolve_page(status), report)
        _emit_rules(status, format, output)


def _emit_rules(status: EvolveStatus, format: Format, output: Path | None) -> None:
    if format is Format.json:
        _emit(json.dumps(status.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
    else:
        from holdfast.report.evolve_text import rules_status_text

        _emit(rules_status_text(status), output)


def _emit_evolved(
    outcome: EvolveOutcome, name: str, format: Format, output: Path | None, *, one_line: bool = False
) -> None:
    if format is Format.json:
        _emit(json.dumps(outcome.to_dict(), ensure_ascii=False, indent=None if one_line else 2) + "\n", output)
    else:
        from holdfast.report.evolve_text import evolved_text

        _emit(evolved_text(outcome, name), output)
    sys.stdout.flush()


# fragments --------------------------------------------------------------------------------------------------------

_FRAGMENTS_EXAMPLES = """
Examples:

  holdfast fragments plan sites.yaml

  holdfast fragments plan sites.yaml --picture plan.svg

  holdfast fragments init state sites.yaml

  holdfast fragments apply state monday.csv

  holdfast fragments show state --violations found

A sites file names the key, what each site holds (columns, rows, or both) and where its data is, and the rules:

  key: id

  sites: {V1: {columns: [street, zip], data: v1.parquet}, V2: {columns: [CC], data: v2.csv}}

  rules: ["CC = 44, zip -> street"]

Exit code: 0 done, whether or not rules are violated, 2 bad input (nothing was changed), 3 a failure.
"""

fragments_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Keep the violations of a table up to date that is split over sites, with almost nothing shipped.",
    epilog=_FRAGMENTS_EXAMPLES.replace("\n\n", "\n\n\n"),
)
app.add_typer(fragments_app, name="fragments")

SitesFile = Annotated[str, typer.Argument(metavar="SITES", help="The sites file (YAML).", show_default=False)]


@fragments_app.command("plan")
def fragments_plan(
    sites: SitesFile,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the plan there: .svg, or .dot for Graphviz.")
    ] = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Say which site ships which ids to whom for one changed row, shared between rules. Needs no data and no Spark."""
    with _told(verbose):
        for option, path in (("--output", output), ("--picture", picture)):
            if path is not None:
                _require_writable_file(path, option, sites)
        with Progress(quiet=quiet).step("planning shipments"):
            from holdfast.jobs import fragments_plan as job
            from holdfast.report.shipment_text import shipment_picture, shipment_text

            plan = job(sites)
        if picture is not None:
            _emit(shipment_picture(plan, picture.suffix), picture)
        if format is Format.json:
            _emit(json.dumps(plan.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
        else:
            _emit(shipment_text(plan), output)


@fragments_app.command("init")
def fragments_init(
    state: State,
    sites: SitesFile,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Load the fragments of a table into a new state, and count the rows that violate each rule."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output", sites)
        with Progress(quiet=quiet).step(f"loading the sites of {sites} into {state}"):
            from holdfast.jobs import fragments_init as job

            status = job(state, sites, master=master, conf=_assignments(conf, "--conf"))
        _emit_fragments(status, format, output)


@fragments_app.command("apply")
def fragments_apply(
    state: State,
    changes: Annotated[
        str, typer.Argument(metavar="CHANGES", help="A file or folder of changes, as DATA.", show_default=False)
    ],
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="What tells this batch from others. Default: its content.")
    ] = None,
    limit: ListLimit = str(DEFAULT_LIMIT),
    null_values: NullValues = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    multiline: Multiline = None,
    input_format: InputFormat = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Apply one file of changes, once: which rows come into violation, which leave it, and what sites shipped."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output", changes)
        most = _limit(limit)
        reading = _reading(None, null_values, delimiter, encoding, multiline, input_format)
        with Progress(quiet=quiet).step(f"applying {changes} to {state}"):
            from holdfast.jobs import fragments_apply as job
            from holdfast.report.fragments_text import fragments_batch_text

            settings = _assignments(conf, "--conf")
            outcome = job(state, changes, batch=batch, limit=most, master=master, conf=settings, **reading)
        if format is Format.json:
            _emit(json.dumps(outcome.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
            if outcome.changes.cut:
                listed = len(outcome.added) + len(outcome.removed)
                print(f"note: --limit cuts the lists to {listed:,} rows; the counts are exact", file=sys.stderr)
        else:
            _emit(fragments_batch_text(outcome, os.path.basename(changes.rstrip("/"))), output)


@fragments_app.command("show")
def fragments_show(
    state: State,
    violations: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write (rule, key) of all violating rows there, as Parquet.")
    ] = None,
    format: OutputFormat = Format.text,
    output: Output = None,
    master: Master = None,
    conf: Conf = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Print the sites, and how many rows violate each rule now."""
    with _told(verbose):
        if output is not None:
            _require_writable_file(output, "--output")
        with Progress(quiet=quiet).step(f"looking at {state}"):
            from holdfast.jobs import fragments_show as job

            if violations is not None:
                from holdfast.spark.outputs import require_writable_folder

                require_writable_folder(violations, ("rows",))
            status = job(state, violations=violations, master=master, conf=_assignments(conf, "--conf"))
        _emit_fragments(status, format, output)


def _emit_fragments(status: FragmentsStatus, format: Format, output: Path | None) -> None:
    if format is Format.json:
        _emit(json.dumps(status.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
    else:
        from holdfast.report.fragments_text import fragments_status_text

        _emit(fragments_status_text(status), output)


@app.command("doctor")
def doctor(
    start: Annotated[bool, typer.Option("--start/--no-start", help="Also start Spark, and let it count.")] = True,
    format: OutputFormat = Format.text,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look at Python, Java, memory, folders and Spark, and say what to do where something is missing.

    Exit code: 0 all is well, 2 something has to be put right first.
    """
    with _told(verbose):
        _require_writable_files({"--output": output})
        with Progress(quiet=quiet).step("looking at this machine"):
            from holdfast.jobs import doctor as job

            findings = job(start=start)
        if format is Format.json:
            _emit(json.dumps([one.to_dict() for one in findings], ensure_ascii=False, indent=2) + "\n", output)
        else:
            from holdfast.report.findings_text import findings_text

            _emit(findings_text(findings), output)
        if any(one.grade == "problem" for one in findings):
            raise typer.Exit(2)


@app.command("demo")
@functools.wraps(demo_command)
def demo(**options: Any) -> None:
    with _told(False):
        demo_command(**options)


# What every command needs ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _told(verbose: bool) -> Iterator[None]:
    """Ends the command as the contract says: with an exit code, and with words instead of a traceback."""
    try:
        yield
    except HoldfastError as problem:
        _fail(f"{type(problem).__name__}: {problem}", problem.exit_code, problem if verbose else None)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was left half-written.", INTERRUPTED, None)
    except (typer.Exit, typer.Abort):
        raise
    except Exception as problem:
        first = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        hint = "" if verbose else "\n\nHint: run again with --verbose for the whole story."
        _fail(f"holdfast failed: {type(problem).__name__}: {first}{hint}", FAILED, problem if verbose else None)


def _fail(message: str, code: int, cause: BaseException | None) -> NoReturn:
    if cause is not None:
        traceback.print_exception(cause, file=sys.stderr)
    print(message, file=sys.stderr)
    raise typer.Exit(code)


def _severity(chosen: FailOn) -> Severity:
    return "warn" if chosen is FailOn.warn else "error"


def _limit(text: str) -> int | None:
    if text.strip().casefold() == "none":
        return None
    if not text.strip().isdecimal():
        raise OptionError(f"--limit {text!r} is not a number.", hint="write a number such as 1000, or none.")
    return int(text)


def _assignments(pairs: list[str] | None, option: str) -> dict[str, str]:
    result: dict[str, str] = {}
    for pair in pairs or ():
        # Types may be given as a list; a comma inside decimal(10,2) does not separate.
        for piece in _outside_brackets(pair) if option == "--types" else [pair]:
            name, separator, value = piece.partition("=")
            if not separator or not name.strip() or not value.strip():
                example = "--types zip=text" if option == "--types" else "--conf spark.driver.memory=4g"
                raise OptionError(f"{option} {piece!r} does not say name=value.", hint=f"write it as in {example}.")
            result[name.strip()] = value.strip()
    return result


def _outside_brackets(text: str) -> list[str]:
    pieces, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


def _require_writable_files(paths: Mapping[str, Path | None], *inputs: str) -> None:
    """Each file can be written, is none of the inputs, and no two options name the same."""
    named: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        _require_writable_file(path, option, *inputs)
        if path.absolute() in named:
            raise OutputError(f"{named[path.absolute()]} and {option} both name {str(path)!r}.", hint="name two files.")
        named[path.absolute()] = option


def _require_writable_file(path: Path, option: str, *inputs: str) -> None:
    if any(path.exists() and os.path.exists(given) and os.path.samefile(path, given) for given in inputs):
        raise OutputError(
            f"{option} {str(path)!r} is an input of this command, and would be lost.", hint="name another file."
        )
    if path.is_dir():
        raise OutputError(f"{option} {str(path)!r} is a folder.", hint="name a file.")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{option} {str(path)!r}: the folder {str(path.parent)!r} does not exist.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise OutputError(f"{option} {str(path)!r}: no permission to write there.")


def _emit(text: str, output: Path | None) -> None:
    """To standard output, or to the file, whole or not at all."""
    if output is None:
        sys.stdout.write(text)
        return
    from holdfast.report.write_whole import write_whole

    write_whole(output, text)


def main() -> None:
    app()
