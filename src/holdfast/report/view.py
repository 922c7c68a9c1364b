"""What rich prints, on a terminal or as plain lines."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

from rich.console import Console, RenderableType

TEXT_WIDTH = 120

# A view, made for a number of columns.
View = Callable[[int], RenderableType]


def print_view(view: View, console: Console) -> None:
    """Prints it: in colour and to the width of a terminal, as plain lines anywhere else."""
    if console.is_terminal:
        console.print(view(console.width))
    else:
        width = console.width if "COLUMNS" in os.environ else TEXT_WIDTH
        console.file.write(view_text(view, width=width) + "\n")


def view_text(view: View, *, width: int = TEXT_WIDTH) -> str:
    """The view as one string, without colours and trailing blanks."""
    target = io.StringIO()
    # Not as in a notebook, where rich would show it and leave the string empty.
    Console(file=target, width=width, color_system=None, force_jupyter=False).print(view(width))
    return "\n".join(line.rstrip() for line in target.getvalue().rstrip().splitlines())
