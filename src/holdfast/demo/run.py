"""`holdfast demo`: rules found in the bundled orders, and the bundled orders held to them, as a user would do it."""

from __future__ import annotations

import os
import tempfile
from importlib import resources
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from holdfast.errors import OutputError
from holdfast.report.found_text import print_found
from holdfast.report.progress import Progress
from holdfast.report.text import print_summary
from holdfast.rules.rule_file import dump_rules

if TYPE_CHECKING:
    from holdfast.spark.check import CheckResult

CLEAN, DATA, RULES, FOUND, KEY = "clean.csv", "orders.csv", "rules.yaml", "found.yaml", "order_id"
TOP, MOST_PREDICATES = 25, 3


def demo_command(
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where the demo's files go. Default: a new folder.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Show what Holdfast does, on data that ships with it. Done is done: exit code 0, violations or not."""
    run_demo(Console(), folder=folder, progress=Progress(quiet=quiet)).close()


def run_demo(console_out: Console, *, folder: Path | None = None, progress: Progress | None = None) -> CheckResult:
    """What the check of the demo's orders found, after it and the discovery before it were shown on `console_out`.

    The files go into `folder`, or into a new temporary one, and stay there for the reader to play with. Starts Spark
    only when no session runs. `progress` is told what is being done.
    """
    said = progress or Progress(quiet=True)
    place = copy_demo(folder)
    _say(console_out, f"A month of {_order_count():,} customer orders after somebody cleaned them up, {CLEAN}, and the")
    _say(console_out, f"same month as it came in, {DATA}, some of it wrong. The files are in {place}.")
    _say(console_out, "\nFirst: which rules do the clean orders hold? This is what you would type there:")
    _command(
        console_out, f"holdfast discover {CLEAN} --one-row --max-predicates {MOST_PREDICATES} --top {TOP} -o {FOUND}"
    )
    with said.step("starting Spark and discovering rules"):
        from holdfast.jobs import check, discover

        found = discover(place / CLEAN, one_row=True, max_predicates=MOST_PREDICATES, top=TOP)
    _put(place, FOUND, dump_rules(found.rules).encode())
    print_found(found.outcome, console_out)

    _say(
        console_out, f"\nThese rules are now in {FOUND}. Second: what do they find wrong in the orders as they came in?"
    )
    _command(console_out, f"holdfast check {DATA} {FOUND} --key {KEY}")
    with said.step("checking"):
        # Whole rows are not asked for here: the demo splits nothing.
        result = check(place / DATA, place / FOUND, key=KEY)
    with said.step("looking at what was found"):
        detailed = result.detailed
    print_summary(detailed, console_out)

    check_again = f"holdfast check {DATA} {RULES} --key {KEY}"
    _say(console_out, f"\nWhat no table can tell, somebody has to write down: {RULES} has ten rules with constants,")
    _say(console_out, "conditions, warnings and allowances. Go on with:")
    _command(
        console_out,
        f"cd {quote(str(place))}",
        check_again,
        f"{check_again} --format json",
        f"{check_again} --violations found",
        f"{check_again} --quarantine split",
    )
    _say(console_out, "json: the counts, for a program. found: every violating pair, row and group, as Parquet.")
    _say(console_out, "split: clean rows and suspect rows apart, the suspect ones with the rules they break.")
    return result


def copy_demo(folder: Path | None = None) -> Path:
    """The folder that now holds the demo's data and rules; a new temporary one when none is named.

    OutputError where it cannot be written, or where another file of the same name would be lost.
    """
    place = Path(tempfile.mkdtemp(prefix="holdfast-demo-")) if folder is None else folder
    for name in (CLEAN, DATA, RULES):
        _put(place, name, bundled(name))
    return place


def _put(place: Path, name: str, content: bytes) -> None:
    target = place / name
    try:
        place.mkdir(parents=True, exist_ok=True)
        if target.exists() and (not target.is_file() or target.read_bytes() != content):
            raise OutputError(
                f"{os.fspath(place)!r} has another {name}, which the demo does not overwrite.",
                hint="name a new folder with --dir, or leave --dir out.",
            )
        target.write_bytes(content)
    except OSError as problem:
        if isinstance(problem, OutputError):
            raise
        raise OutputError(f"cannot write the demo to {os.fspath(place)!r}: {problem.strerror or problem}.") from problem


def bundled(name: str) -> bytes:
    """The file of the demo, as it ships with the package."""
    return resources.files("holdfast.demo").joinpath(name).read_bytes()


def _order_count() -> int:
    return bundled(DATA).count(b"\n") - 1


def _say(console: Console, text: str) -> None:
    # Whole paths and whole sentences: a terminal may wrap them, but nothing is cut or coloured.
    console.print(Text(text), soft_wrap=True)


def _command(console: Console, *lines: str) -> None:
    _say(console, "\n" + "\n".join(f"  $ {line}" for line in lines) + "\n")
