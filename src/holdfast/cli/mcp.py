"""`holdfast mcp`."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import Redact, Telling, names_in
from holdfast.errors import OptionError

EXAMPLES = """
Examples:
holdfast mcp clean.csv orders.csv rules.yaml
holdfast mcp orders.csv --redact name,email --time-limit 20

Speaks the Model Context Protocol on standard input and output, as clients of agents start it. Only the files that are \
named are read, by the names they have here; everything else is refused, and nothing is written. Rule files and files \
of decisions end in .yaml. It needs: pip install "holdfast[mcp]"

Exit code: 0 the input ended, 2 bad input or no package mcp, 3 a failure.
"""


def mcp(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="The tables, rule files and files of decisions to serve.", show_default=False
        ),
    ],
    *,
    redact: Redact = None,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="End each search then, and say so.")] = 60.0,
    telling: Telling,
) -> None:
    """Serve discover, check and explain to agents, read-only, on the files that are named."""
    del telling
    if time_limit <= 0:
        raise OptionError(f"--time-limit is {time_limit:g}.", hint="give a number of seconds above 0.")
    from holdfast.serving.served_files import served_files

    served = served_files(files)
    from holdfast.serving.answers import Answers
    from holdfast.serving.server import serve

    serve(Answers(served, tuple(names_in(redact)), time_limit))
