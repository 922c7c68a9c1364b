"""Output of rich, on a terminal or as plain lines."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

from rich.console import Console, RenderableType

TEXT_WIDTH = 120

# Builds what rich prints for a terminal of so many columns.
View = Callable[[int], RenderableType]


def print_view(view: View, console: Console) -> None:
    """Prints the view: in colour and in its width on a terminal, as plain lines elsewhere."""
    if console.is_terminal:
        console.print(view(console.width))
    else:
        width = console.width if "COLUMNS" in os.environ else TEXT_WIDTH
        console.file.write(view_text(view, width=width) + "\n")


def view_text(view: View, *, width: int = TEXT_WIDTH) -> str:
    """Returns the view as one string, without colours and trailing blanks."""
    target = io.StringIO()
    # In a notebook rich would display the output instead of writing it to `target`.
    Console(file=target, width=width, color_system=None, force_jupyter=False).print(view(width))
    return "\n".join(line.rstrip() for line in target.getvalue().rstrip().splitlines())
