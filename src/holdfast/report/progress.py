"""What is being done, told on standard error while it is done."""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

# How often a bar is brought up to date, in seconds; the first time tells a quick step from one with a bar.
_EVERY = 0.5

# (done, all) of what the engine works on now; None where that is not known.
Counts = Callable[[], tuple[int, int] | None]


class Progress:
    """Steps on standard error: a bar on a terminal, plain lines elsewhere, nothing when quiet.

    A bar says how long the step has taken, and with `counts` how far the engine is with what it does now.
    """

    def __init__(self, *, quiet: bool = False, counts: Counts | None = None, console: Console | None = None) -> None:
        self._quiet, self._counts = quiet, counts
        self._console = console or Console(stderr=True)

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        if self._quiet:
            yield
        elif self._console.is_terminal:
            with self._bar(what):
                yield
        else:
            self.say(what)
            yield

    def say(self, what: str) -> None:
        """A line, where results are printed while it goes on."""
        if not self._quiet:
            self._console.print(f"holdfast: {what} …", highlight=False, markup=False, soft_wrap=True)

    def next(self, *command: str | None) -> None:
        """The command that one would type now; words that are None are left out."""
        if not self._quiet:
            text = f"next: {shlex.join(word for word in command if word is not None)}"
            self._console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def _bar(self, what: str) -> Iterator[None]:
        columns = (
            SpinnerColumn("dots"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[told]}", markup=False),
            TimeElapsedColumn(),
        )
        # What is done leaves no trace: the result speaks for itself. Results are printed where they belong: by default
        # whatever is printed beside a bar would go to standard error with it.
        bars = Bars(*columns, console=self._console, transient=True, redirect_stdout=False, redirect_stderr=False)
        with bars:
            task = bars.add_task(what, total=None, told="")
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
                with contextlib.suppress(Exception):  # an engine that ends while it is asked is no failure of the job
                    counted = self._counts()
            if counted is None:
                bars.update(task, total=None, told="")
            else:
                done, everything = counted
                bars.update(task, completed=done, total=everything, told=f"{done:,} of {everything:,} tasks")
