"""`holdfast watch`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.api import DEFAULT_LIMIT, WatchState
from holdfast.checking.output_folders import VIOLATION_FOLDERS, require_writable_folder
from holdfast.cli import options
from holdfast.cli.command import add_group
from holdfast.cli.files import emit, emit_json, emit_result, note_cut, require_writable_files, warn
from holdfast.cli.tables import TableData, named_data
from holdfast.cli.verify import verify_command, verify_examples
from holdfast.errors import OptionError
from holdfast.rules.rule_file import as_rule_set

if TYPE_CHECKING:
    from holdfast.states.batch_outcome import BatchOutcome
    from holdfast.watching.status import WatchStatus

INIT = """
Examples:
holdfast watch init state --data orders.csv --rules rules.yaml --key order_id

A rule file that names several tables needs no --data; --table name=DATA names them otherwise.
"""
APPLY = """
Examples:
holdfast watch apply state monday.csv
holdfast watch apply state tuesday.csv --batch tuesday --format json

Of several tables, --table name=CHANGES takes the place of CHANGES; files that are given together are one batch.
"""
RUN = """
Examples:
holdfast watch run state --source incoming --once

Of several tables, --table name=DIR, repeated, takes the place of --source.
"""
SHOW = """
Examples:
holdfast watch show state
holdfast watch show state --violations current --report watch.html
"""
RULES = """
Examples:
holdfast watch rules state "zip -> city, state"
"""
NOTES = f"""{options.CHANGES_NOTE}
Exit code: 0 done, whether or not rules are violated, 2 bad input (nothing was changed), 3 a failure.
"""


def add_watch(app: typer.Typer) -> None:
    add_group(
        app,
        "watch",
        ("init", watch_init, INIT),
        ("apply", watch_apply, APPLY + NOTES),
        ("run", watch_run, RUN + NOTES),
        ("show", watch_show, SHOW),
        verify_command("watch"),
        ("rules", watch_rules, RULES),
        help="Keep the violations of a table up to date under inserts, deletes and updates.",
        examples=(INIT, APPLY, RUN, SHOW, verify_examples("watch")),
        notes=NOTES,
    )


def watch_init(
    state: options.State,
    *,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="The table: as in holdfast check.", show_default=False)
    ] = None,
    rules: Annotated[
        str, typer.Option(metavar="RULES", help="A rule file (YAML), or one rule in quotes.", show_default=False)
    ],
    table: TableData = None,
    key: options.KeyOrFileKey = None,
    nulls: options.NullsOrFileNulls = None,
    reading: options.Reading,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Load a table into a new state, and count its violations."""
    tables = named_data(table)
    if data is not None and tables:
        raise OptionError("both --data and --table are given.", hint="name the data of each table with --table.")
    if data is None and not tables and not as_rule_set(rules).tables:
        raise OptionError(
            "it is not said what to watch.", hint="name the table with --data DATA, or several with --table name=DATA."
        )
    require_writable_files({"--output": printing.output}, *([data] if data else tables.values()), rules)
    with spark.progress.step(f"loading {data or ', '.join(tables) or 'the tables'} into {state}"):
        created = WatchState.create(
            state,
            tables if data is None else data,
            rules,
            key=key,
            nulls=nulls,
            **spark.job_options,
            **reading.job_options,
        )
        status = created.status
    _emit_watched(status, printing)
    changes = [f"--table={created.tables[0]}=CHANGES"] if created.tables else ["CHANGES"]
    spark.progress.next("holdfast", "watch", "apply", state, *changes)


def watch_apply(
    state: options.State,
    changes: Annotated[
        str | None,
        typer.Argument(metavar="CHANGES", help="A file or folder of changes, as DATA.", show_default=False),
    ] = None,
    *,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=CHANGES", help="The changes of one of several tables; may be repeated."),
    ] = None,
    batch: options.Batch = None,
    limit: options.ListLimit = str(DEFAULT_LIMIT),
    reading: options.ReadingChanges,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Apply one file of changes, once, and say which violations it adds and removes."""
    tables = named_data(table, what="CHANGES")
    if (changes is None) == (not tables):
        problem = "no changes are given" if changes is None else f"both CHANGES ({changes!r}) and --table are given"
        raise OptionError(
            f"{problem}.", hint="write holdfast watch apply STATE CHANGES, or --table NAME=CHANGES for several tables."
        )
    given = list(tables.values()) if changes is None else [changes]
    require_writable_files({"--output": printing.output}, *given)
    most = options.limit_of(limit)
    with spark.progress.step(f"applying {', '.join(given)} to {state}"):
        opened = WatchState.open(state, **spark.job_options)
        outcome = opened.apply(tables if changes is None else changes, batch=batch, limit=most, **reading.job_options)
    _emit_batch(outcome, ", ".join(os.path.basename(name.rstrip("/")) for name in given), printing)


def watch_run(
    state: options.State,
    *,
    source: Annotated[
        str | None,
        typer.Option(metavar="DIR", help=options.FOLLOWED, show_default=False),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=DIR", help="What is followed of one of several tables; may be repeated."),
    ] = None,
    once: options.Once = False,
    from_version: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Of a table that the state was not made of: the first version; of several, NAME=N, repeated.",
        ),
    ] = None,
    limit: options.ListLimit = str(DEFAULT_LIMIT),
    format: options.OutputFormat = "text",
    spark: options.OnEngine,
) -> None:
    """Follow a folder or a table: apply each file of changes, or commit, in order; as JSON, a line for each."""
    most = options.limit_of(limit)

    def print_batch(outcome: BatchOutcome, name: str) -> None:
        _emit_batch(outcome, name, options.Printing(format), single_line=True)

    tables = named_data(table, what="DIR")
    if (source is None) == (not tables):
        problem = "no folder is given" if source is None else f"both --source ({source!r}) and --table are given"
        raise OptionError(f"{problem}.", hint="write --source DIR, or --table NAME=DIR for several tables.")
    spark.progress.say(f"following {source or ', '.join(tables.values())}")
    opened = WatchState.open(state, **spark.job_options)
    followed = tables if source is None else source
    first = _first_versions(from_version, bool(tables))
    opened.follow(followed, once=once, from_version=first, limit=most, on_batch=print_batch, on_problem=warn)


def _first_versions(given: list[str] | None, several: bool) -> int | dict[str, int] | None:
    """The versions that --from-version names: one, or one for each of several tables."""
    named: dict[str, int] = {}
    for text in given or ():
        name, separator, version = text.rpartition("=")
        if not version.strip().isdecimal() or bool(separator) != several or (not several and len(given or ()) > 1):
            raise OptionError(
                f"--from-version {text!r} does not say which version comes first.",
                hint="write a number; of several tables, --from-version NAME=NUMBER.",
            )
        named[name.strip()] = int(version)
    return (named or None) if several else named.get("")


def watch_show(
    state: options.State,
    *,
    violations: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write current violations there, as holdfast check does.")
    ] = None,
    report: options.Report = None,
    limit: options.PairLimit = str(DEFAULT_LIMIT),
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Print how often each rule is violated now, and by which rows most."""
    require_writable_files({"--output": printing.output, "--report": report})
    most = options.limit_of(limit)
    if violations is not None:
        require_writable_folder(violations, VIOLATION_FOLDERS)
    with spark.progress.step(f"looking at {state}"):
        opened = WatchState.open(state, **spark.job_options)
        status = opened.show(violations=violations, report=report, limit=most)
    _emit_watched(status, printing)


def watch_rules(
    state: options.State,
    rules: options.Rules,
    *,
    nulls: options.NullsOrFileNulls = None,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Watch these rules from now on, without loading the table again."""
    require_writable_files({"--output": printing.output}, rules)
    rule_set = as_rule_set(rules, nulls=nulls)
    with spark.progress.step(f"changing the rules of {state}"):
        opened = WatchState.open(state, **spark.job_options)
        added, removed = opened.change_rules(rule_set)
    status = opened.status
    if printing.format == "json":
        content = {"version": status.version, "added": added, "removed": removed, "totals": dict(status.totals)}
        emit_json(content, printing.output)
    else:
        from holdfast.report.watch_text import rules_text

        emit(rules_text(status, added, removed), printing.output)


def _emit_watched(status: WatchStatus, printing: options.Printing) -> None:
    from holdfast.report.watch_text import status_text

    emit_result(status, lambda: status_text(status), printing)


def _emit_batch(outcome: BatchOutcome, name: str, printing: options.Printing, *, single_line: bool = False) -> None:
    from holdfast.report.watch_text import batch_text

    emit_result(outcome, lambda: batch_text(outcome, name), printing, single_line=single_line)
    if printing.format == "json" and outcome.cut:
        note_cut(len(outcome.added) + len(outcome.removed), "violations")
