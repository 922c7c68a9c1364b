"""`holdfast doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.command import BAD_INPUT
from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import Printing, Telling

EXAMPLES = """
Examples:
holdfast doctor
holdfast doctor --no-start --format json

Exit code: 0 all is well, 2 something has to be put right first.
"""


def doctor(
    *,
    start: Annotated[bool, typer.Option("--start/--no-start", help="Also start Spark, and let it count.")] = True,
    printing: Printing,
    telling: Telling,
) -> None:
    """Look at Python, Java, memory, folders and Spark, and say what to do where something is missing."""
    require_writable_files({"--output": printing.output})
    with telling.progress.step("looking at this machine"):
        from holdfast.api import doctor as job

        findings = job(start=start)
    if printing.format == "json":
        emit_json([finding.to_dict() for finding in findings], printing.output)
    else:
        from holdfast.report.findings_text import findings_text

        emit(findings_text(findings), printing.output)
    if any(finding.grade == "problem" for finding in findings):
        raise typer.Exit(BAD_INPUT)
