"""The command: its parts put together."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from holdfast.cli.check import add_check
from holdfast.cli.command import end_on_sigterm
from holdfast.cli.demo import add_demo
from holdfast.cli.discover import add_discover
from holdfast.cli.doctor import add_doctor
from holdfast.cli.evolve import add_evolve
from holdfast.cli.explain import add_explain
from holdfast.cli.fragments import add_fragments
from holdfast.cli.sql import add_sql
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
for _add in (add_demo, add_discover, add_check, add_explain, add_sql, add_watch, add_evolve, add_fragments, add_doctor):
    _add(app)


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
