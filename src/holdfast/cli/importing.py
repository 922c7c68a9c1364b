"""`holdfast import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.command import add_group
from holdfast.cli.files import emit, require_writable_files
from holdfast.cli.options import Telling
from holdfast.rules.plain_words import number, on_one_line

GE = """
Examples:
holdfast import ge suite.json -o imported.yaml
"""
DEEQU = """
Examples:
holdfast import deequ suggestions.json -o imported.yaml
"""
DQDL = """
Examples:
holdfast import dqdl ruleset.dqdl -o imported.yaml
"""
DQX = """
Examples:
holdfast import dqx checks.yaml -o imported.yaml
"""
ODCS = """
Examples:
holdfast import odcs contract.yaml -o imported.yaml
"""
NOTES = """
What becomes no rule is listed with the reason, on standard error and in comments of the rule file; so is what the \
rule says a little otherwise.
"""

File = Annotated[str, typer.Argument(metavar="FILE", help="The file of the other tool.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the rule file there.")]
Checked = Annotated[
    str | None, typer.Option(metavar="NAME", help="What the checked table is called, where checks name another one.")
]


def ge(file: File, *, output: Out = None, telling: Telling) -> None:
    """Read a suite of Great Expectations (JSON, of versions 0.x and 1.x)."""
    _read("ge", file, output, telling)


def deequ(file: File, *, output: Out = None, telling: Telling) -> None:
    """Read constraints that Deequ suggested (JSON)."""
    _read("deequ", file, output, telling)


def dqdl(file: File, *, table: Checked = None, output: Out = None, telling: Telling) -> None:
    """Read a rule set of AWS Glue (DQDL)."""
    _read("dqdl", file, output, telling, table)


def dqx(file: File, *, table: Checked = None, output: Out = None, telling: Telling) -> None:
    """Read checks of Databricks Labs DQX (YAML or JSON)."""
    _read("dqx", file, output, telling, table)


def odcs(file: File, *, output: Out = None, telling: Telling) -> None:
    """Read a contract of the Open Data Contract Standard, version 3 (YAML)."""
    _read("odcs", file, output, telling)


def _read(kind: str, file: str, output: Path | None, telling: Telling, table: str | None = None) -> None:
    from holdfast.api import import_rules

    require_writable_files({"--output": output}, file)
    imported = import_rules(kind, file, table=table)  # type: ignore[arg-type]
    emit(imported.to_yaml(), output)
    for left in imported.left_out:
        print(on_one_line(f"left out: {left}"), file=sys.stderr)
    for remark in imported.remarks:
        print(on_one_line(f"note: {remark}"), file=sys.stderr)
    if not telling.quiet:
        said = f"{number(len(imported.rules), 'rule')}, {number(len(imported.left_out), 'check')} left out"
        print(said, file=sys.stderr)


def add_import(app: typer.Typer) -> None:
    add_group(
        app,
        "import",
        ("ge", ge, GE + NOTES),
        ("deequ", deequ, DEEQU + NOTES),
        ("dqdl", dqdl, DQDL + NOTES),
        ("dqx", dqx, DQX + NOTES),
        ("odcs", odcs, ODCS + NOTES),
        help="Read rules from the files of other tools: suites, checks and data contracts.",
        examples=(GE, DEEQU, DQDL, DQX, ODCS),
        notes=NOTES,
    )
