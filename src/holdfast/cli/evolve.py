"""`holdfast evolve`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.api import EvolveState
from holdfast.cli import options
from holdfast.cli.command import add_group
from holdfast.cli.files import emit_result, require_writable_files, warn
from holdfast.cli.verify import verify_command, verify_examples
from holdfast.evolving.options import EvolveStrategy
from holdfast.rules.decisions import as_decisions
from holdfast.search.options import DEFAULT_TOP, how_many

if TYPE_CHECKING:
    from holdfast.evolving.outcome import EvolveOutcome, EvolveStatus

INIT = """
Examples:
holdfast evolve init kept-rules --data clean.csv --key order_id --columns country,sku,unit_price,ordered
"""
APPLY = """
Examples:
holdfast evolve apply kept-rules wednesday.csv
"""
RUN = """
Examples:
holdfast evolve run kept-rules --source incoming --once
"""
SHOW = """
Examples:
holdfast evolve show kept-rules --top 20 --report kept-rules.html
"""
NOTES = f"""{options.CHANGES_NOTE}
Exit code: 0 done, 2 bad input (nothing was changed), 3 a failure.
"""


def add_evolve(app: typer.Typer) -> None:
    add_group(
        app,
        "evolve",
        ("init", evolve_init, INIT),
        ("apply", evolve_apply, APPLY + NOTES),
        ("run", evolve_run, RUN + NOTES),
        ("show", evolve_show, SHOW),
        verify_command("evolve"),
        help="Keep the rules that a table holds up to date under inserts, deletes and updates.",
        examples=(INIT, APPLY, RUN, SHOW, verify_examples("evolve")),
        notes=NOTES,
    )


def evolve_init(
    state: options.State,
    *,
    data: Annotated[str, typer.Option(metavar="DATA", help="The table: as in holdfast discover.", show_default=False)],
    key: Annotated[str, typer.Option(metavar="COLUMN[,COLUMN]", help="What names a row.", show_default=False)],
    top: options.Top = str(DEFAULT_TOP),
    comparing: options.SearchOptions,
    decisions: options.DecisionsFile = None,
    strategy: Annotated[
        EvolveStrategy,
        typer.Option(help="How rules are kept: by counted evidence, by indexes, or by a new search each time."),
    ] = "auto",
    reading: options.Reading,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Load a table into a new state, and find the rules it holds."""
    inputs = (data,) if decisions is None else (data, str(decisions))
    require_writable_files({"--output": printing.output}, *inputs)
    how_many(top)
    how: dict[str, Any] = {"key": key, "strategy": strategy, "options": comparing.job_options}
    how |= {"decisions": as_decisions(decisions)}
    with spark.progress.step(f"loading {data} into {state}, and finding its rules"):
        created = EvolveState.create(state, data, **how, **spark.job_options, **reading.job_options)
        status = created.show(top=top)
    _emit_rules(status, printing)
    spark.progress.next("holdfast", "evolve", "apply", state, "CHANGES")


def evolve_apply(
    state: options.State,
    changes: options.Changes,
    *,
    batch: options.Batch = None,
    strategy: Annotated[
        EvolveStrategy | None, typer.Option(help="How the rules of this batch are kept. Default: as at init.")
    ] = None,
    reading: options.ReadingChanges,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Apply one file of changes, once, and say which rules it adds and removes, and why."""
    require_writable_files({"--output": printing.output}, changes)
    with spark.progress.step(f"applying {changes} to {state}"):
        opened = EvolveState.open(state, **spark.job_options)
        outcome = opened.apply(changes, batch=batch, strategy=strategy, **reading.job_options)
    _emit_evolved(outcome, os.path.basename(changes.rstrip("/")), printing)


def evolve_run(
    state: options.State,
    *,
    source: options.Source,
    once: options.Once = False,
    from_version: options.FromVersion = None,
    format: options.OutputFormat = "text",
    spark: options.OnEngine,
) -> None:
    """Follow a folder or a table: apply what comes, the oldest first; as JSON, a line for each batch."""

    def print_batch(outcome: EvolveOutcome, name: str) -> None:
        _emit_evolved(outcome, name, options.Printing(format), single_line=True)

    spark.progress.say(f"following {source}")
    opened = EvolveState.open(state, **spark.job_options)
    opened.follow(source, once=once, from_version=from_version, on_batch=print_batch, on_problem=warn)


def evolve_show(
    state: options.State,
    *,
    top: options.Top = str(DEFAULT_TOP),
    report: options.Report = None,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Print the rules as they are now, best first, and what the last batches did to them."""
    require_writable_files({"--output": printing.output, "--report": report})
    with spark.progress.step(f"looking at {state}"):
        status = EvolveState.open(state, **spark.job_options).show(top=top, report=report)
    _emit_rules(status, printing)


def _emit_rules(status: EvolveStatus, printing: options.Printing) -> None:
    from holdfast.report.evolve_text import rules_status_text

    emit_result(status, lambda: rules_status_text(status), printing)


def _emit_evolved(outcome: EvolveOutcome, name: str, printing: options.Printing, *, single_line: bool = False) -> None:
    from holdfast.report.evolve_text import evolved_text

    emit_result(outcome, lambda: evolved_text(outcome, name), printing, single_line=single_line)
