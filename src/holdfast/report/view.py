"""Output of rich, on a terminal or as plain lines."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from holdfast.rules.plain_words import visible

TEXT_WIDTH = 120

# Builds what rich prints for a terminal of so many columns.
View = Callable[[int], RenderableType]


@dataclass(frozen=True)
class _Visible:
    """A view whose texts hold nothing that a terminal obeys; its own colours stay."""

    view: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.view, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def print_view(view: View, console: Console) -> None:
    """Prints the view: in colour and in its width on a terminal, as plain lines elsewhere."""
    if console.is_terminal:
        console.print(_Visible(view(console.width)))
    else:
        width = console.width if "COLUMNS" in os.environ else TEXT_WIDTH
        console.file.write(view_text(view, width=width) + "\n")


def view_text(view: View, *, width: int = TEXT_WIDTH) -> str:
    """Returns the view as one string, without colours and trailing blanks."""
    target = io.StringIO()
    # In a notebook rich would display the output instead of writing it to `target`.
    Console(file=target, width=width, color_system=None, force_jupyter=False).print(_Visible(view(width)))
    return "\n".join(line.rstrip() for line in target.getvalue().rstrip().split("\n"))
