"""Progress of a command, on standard error."""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from holdfast.rules.plain_words import on_one_line
from holdfast.states.object_address import without_secrets

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

# Seconds between updates of a bar.
_EVERY = 0.5

# Returns (done, all) tasks of the engine now; None where that is not known.
Counts = Callable[[], tuple[int, int] | None]


class Progress:
    """Prints steps on standard error: a bar on a terminal, plain lines elsewhere, nothing when quiet.

    A bar shows how long the step has taken, and with `counts` how many tasks of the engine are done.
    """

    def __init__(self, *, quiet: bool = False, counts: Counts | None = None, console: Console | None = None) -> None:
        self._quiet, self._counts = quiet, counts
        self._console = console or Console(stderr=True)

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        what = without_secrets(what)
        if self._quiet:
            yield
        elif self._console.is_terminal:
            with self._bar(what):
                yield
        else:
            self.say(what)
            yield

    def say(self, what: str) -> None:
        """Prints a line; for steps that print results while they run."""
        if not self._quiet:
            self._console.print(on_one_line(f"holdfast: {what} …"), highlight=False, markup=False, soft_wrap=True)

    def next(self, *command: str | None) -> None:
        """Prints the command to type next; words that are None are left out."""
        if not self._quiet:
            text = f"next: {shlex.join(word for word in command if word is not None)}"
            self._console.print(on_one_line(text), style="dim", highlight=False, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def _bar(self, what: str) -> Iterator[None]:
        # Only here: most runs are in scripts, and show no bar.
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        columns = (
            SpinnerColumn("dots"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[tasks]}", markup=False),
            TimeElapsedColumn(),
        )
        # The bar disappears when the step is done. Without the two redirect options, results that are printed while
        # the bar is shown would go to standard error with it.
        bars = RichProgress(
            *columns, console=self._console, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        with bars:
            task = bars.add_task(on_one_line(what), total=None, tasks="")
            ended = threading.Event()
            watcher = threading.Thread(target=self._follow, args=(bars, task, ended), daemon=True)
            watcher.start()
            try:
                yield
            finally:
                ended.set()
                watcher.join(timeout=2 * _EVERY)

    def _follow(self, bars: Bars, task: TaskID, ended: threading.Event) -> None:
        while not ended.wait(_EVERY):
            counted = None
            if self._counts is not None:
                with contextlib.suppress(Exception):  # the engine may end while it is asked; the job has not failed
                    counted = self._counts()
            if counted is None:
                bars.update(task, total=None, tasks="")
            else:
                done, everything = counted
                bars.update(task, completed=done, total=everything, tasks=f"{done:,} of {everything:,} tasks")
