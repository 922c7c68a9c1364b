"""`holdfast demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from holdfast.cli.options import Telling

EXAMPLES = """
Examples:
holdfast demo
holdfast demo --dir tour

Exit code: 0 done, violations or not, 2 bad input, 3 a failure.
"""


def demo(
    *,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where the demo's files go. Default: a new folder.")
    ] = None,
    telling: Telling,
) -> None:
    """Show what Holdfast does, on data that ships with it: the whole story in seconds, with a report to look at."""
    from holdfast.demo.run import run_demo

    run_demo(Console(), folder=folder, progress=telling.progress).close()
