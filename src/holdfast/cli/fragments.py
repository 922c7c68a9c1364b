"""`holdfast fragments`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.api import DEFAULT_LIMIT, FragmentsState
from holdfast.api import fragments_plan as plan_of_sites
from holdfast.checking.output_folders import require_writable_folder
from holdfast.cli import options
from holdfast.cli.command import add_group
from holdfast.cli.files import emit, emit_result, note_cut, require_writable_files
from holdfast.cli.verify import verify_command, verify_examples

if TYPE_CHECKING:
    from holdfast.fragments.outcome import FragmentsStatus

PLAN = """
Examples:
holdfast fragments plan sites.yaml
holdfast fragments plan sites.yaml --picture plan.svg
"""
INIT = """
Examples:
holdfast fragments init split-state sites.yaml
"""
APPLY = """
Examples:
holdfast fragments apply split-state monday.csv
"""
SHOW = """
Examples:
holdfast fragments show split-state --violations broken
"""
NOTES = """
A sites file names the key, what each site holds (columns, rows, or both) and where its data is, and the rules:
key: id
sites: {V1: {columns: [street, zip], data: v1.parquet}, V2: {columns: [CC], data: v2.csv}}
rules: ["CC = 44, zip -> street"]

Exit code: 0 done, whether or not rules are violated, 2 bad input (nothing was changed), 3 a failure.
"""

SitesFile = Annotated[str, typer.Argument(metavar="SITES", help="The sites file (YAML).", show_default=False)]


def add_fragments(app: typer.Typer) -> None:
    add_group(
        app,
        "fragments",
        ("plan", fragments_plan, PLAN + NOTES),
        ("init", fragments_init, INIT + NOTES),
        ("apply", fragments_apply, APPLY),
        ("show", fragments_show, SHOW),
        verify_command("fragments"),
        help="Keep the violations of a table up to date that is split over sites, with almost nothing shipped.",
        examples=(PLAN, INIT, APPLY, SHOW, verify_examples("fragments")),
        notes=NOTES,
    )


def fragments_plan(
    sites: SitesFile,
    *,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the plan there: .svg, or .dot for Graphviz.")
    ] = None,
    printing: options.Printing,
    telling: options.Telling,
) -> None:
    """Say which site ships which ids to whom for one changed row, shared between rules. Needs no data and no Spark."""
    require_writable_files({"--output": printing.output, "--picture": picture}, sites)
    with telling.progress.step("planning shipments"):
        from holdfast.report.shipment_text import shipment_picture, shipment_text

        plan = plan_of_sites(sites)
    if picture is not None:
        emit(shipment_picture(plan, picture.suffix), picture)
    emit_result(plan, lambda: shipment_text(plan), printing)


def fragments_init(
    state: options.State, sites: SitesFile, *, printing: options.Printing, spark: options.OnEngine
) -> None:
    """Load the fragments of a table into a new state, and count the rows that violate each rule."""
    require_writable_files({"--output": printing.output}, sites)
    with spark.progress.step(f"loading the sites of {sites} into {state}"):
        status = FragmentsState.create(state, sites, **spark.job_options).status
    _emit_fragments(status, printing)
    spark.progress.next("holdfast", "fragments", "apply", state, "CHANGES")


def fragments_apply(
    state: options.State,
    changes: options.Changes,
    *,
    batch: options.Batch = None,
    limit: options.ListLimit = str(DEFAULT_LIMIT),
    reading: options.ReadingChanges,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Apply one file of changes, once: which rows come into violation, which leave it, and what sites shipped."""
    require_writable_files({"--output": printing.output}, changes)
    most = options.limit_of(limit)
    with spark.progress.step(f"applying {changes} to {state}"):
        from holdfast.report.watch_text import fragments_batch_text

        opened = FragmentsState.open(state, **spark.job_options)
        outcome = opened.apply(changes, batch=batch, limit=most, **reading.job_options)
    name = os.path.basename(changes.rstrip("/"))
    emit_result(outcome, lambda: fragments_batch_text(outcome, name), printing)
    if printing.format == "json" and outcome.changes.cut:
        note_cut(len(outcome.added) + len(outcome.removed), "rows")


def fragments_show(
    state: options.State,
    *,
    violations: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write (rule, key) of all violating rows there, as Parquet.")
    ] = None,
    printing: options.Printing,
    spark: options.OnEngine,
) -> None:
    """Print the sites, and how many rows violate each rule now."""
    require_writable_files({"--output": printing.output})
    if violations is not None:
        require_writable_folder(violations, ("rows",))
    with spark.progress.step(f"looking at {state}"):
        status = FragmentsState.open(state, **spark.job_options).show(violations=violations)
    _emit_fragments(status, printing)


def _emit_fragments(status: FragmentsStatus, printing: options.Printing) -> None:
    from holdfast.report.watch_text import fragments_status_text

    emit_result(status, lambda: fragments_status_text(status), printing)
