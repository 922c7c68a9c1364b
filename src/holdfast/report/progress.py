"""What is being done, told on standard error while it is done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console


class Progress:
    """Steps on standard error: a spinner on a terminal, plain lines elsewhere, nothing when quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True)

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        if self._quiet:
            yield
        elif self._console.is_terminal:
            with self._console.status(what, spinner="dots"):
                yield
        else:
            self._console.print(f"holdfast: {what} …", highlight=False, markup=False, soft_wrap=True)
            yield
