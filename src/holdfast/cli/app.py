"""The command: its parts put together."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from holdfast.cli import check, demo, discover, doctor, explain, sql
from holdfast.cli.command import add_commands, end_on_sigterm
from holdfast.cli.evolve import add_evolve
from holdfast.cli.fragments import add_fragments
from holdfast.cli.watch import add_watch

app = typer.Typer(
    name="holdfast",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Finds the rules your data holds, and holds your data to them.",
    epilog="Begin with: holdfast demo. The examples in each command's help use the files that holdfast demo --dir DIR "
    "leaves in DIR.",
)
add_commands(
    app,
    ("demo", demo.demo, demo.EXAMPLES),
    ("discover", discover.discover, discover.EXAMPLES),
    ("check", check.check, check.EXAMPLES),
    ("explain", explain.explain, explain.EXAMPLES),
    ("sql", sql.sql, sql.EXAMPLES),
)
add_watch(app)
add_evolve(app)
add_fragments(app)
add_commands(app, ("doctor", doctor.doctor, doctor.EXAMPLES))


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


def main() -> None:
    end_on_sigterm()
    app()
