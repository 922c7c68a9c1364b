"""The command: its parts put together."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Annotated

import typer

from holdfast.cli.command import add_commands, end_on_sigterm, leave_at_once, rare_garbage_collection
from holdfast.cli.lazy_group import LazyCommand, lazy_group
from holdfast.cli.next_start import prepare_for_next_command
from holdfast.engines.choose import one_command
from holdfast.tables.pandas_later import postpone_pandas

# The first line of each command's help stands here, so that the list of commands imports none of them.
_COMMANDS = {
    "demo": "Show what Holdfast does, on data that ships with it: the whole story in seconds, with a report.",
    "discover": "Find the most general rules a table holds, the ones worth reading first.",
    "review": "Ask which of the rules that were found to keep, and write them as a rule file.",
    "check": "Detect every violation of a set of rules, and count them exactly.",
    "explain": "Say which rules a row breaks, with which others, and which change of one cell would mend most of it.",
    "lint": "Say what is wrong with rule files: mistakes, rules said twice or implied, columns that DATA has not.",
    "history": "Draw what became of each rule from check to check, and say what got worse.",
    "sql": "Print rules as SQL queries, to check them in any database. No Spark is started.",
    "mcp": "Serve discover, check and explain to agents, read-only, on the files that are named.",
    "doctor": "Look at Python, Java, memory, folders and Spark, and say what to do where something is missing.",
}
_GROUPS = {
    "watch": "Keep the violations of a table up to date under inserts, deletes and updates.",
    "evolve": "Keep the rules that a table holds up to date under inserts, deletes and updates.",
    "fragments": "Keep the violations of a table up to date that is split over sites, with almost nothing shipped.",
    "export": "Write rules for other tools: tests of a dbt project, or a data contract.",
    "import": "Read rules from the files of other tools: suites, checks and data contracts.",
}
# Modules that cannot be called as their command is.
_MODULES = {"export": "exporting", "import": "importing"}


def _add_command(name: str, app: typer.Typer) -> None:
    """Adds the function of that name in the module of that name."""
    module = import_module(f"holdfast.cli.{name}")
    add_commands(app, (name, getattr(module, name), module.EXAMPLES))


def _add_group(name: str, app: typer.Typer) -> None:
    """Calls `add_<name>` in the module of the group."""
    getattr(import_module(f"holdfast.cli.{_MODULES.get(name, name)}"), f"add_{name}")(app)


COMMANDS = {
    **{name: LazyCommand(help, partial(_add_command, name)) for name, help in _COMMANDS.items()},
    **{name: LazyCommand(help, partial(_add_group, name)) for name, help in _GROUPS.items()},
}

app = typer.Typer(
    name="holdfast",
    cls=lazy_group(COMMANDS),
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Finds the rules your data holds, and holds your data to them.",
    epilog="Begin with: holdfast demo. The examples in each command's help use the files that holdfast demo --dir DIR "
    "leaves in DIR.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # reads e-mail headers, which takes time

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
    postpone_pandas()
    with rare_garbage_collection():
        try:
            with one_command():
                app()
        except SystemExit as end:
            leave_at_once(end.code)
            prepare_for_next_command(end.code)
            raise
