"""A plugin of pytest: which lines of the package each test executes, and how long it takes.

    EXECUTED_LINES=lines.pickle MOST_EXAMPLES=15 python -m pytest -p quick_tests -p executed_lines …

Only tests that pass are kept. A line that only compiled kernels execute is not seen, unless they run without their
compiler. One call in a few hundred is watched of a function that says nothing new, so that a long test ends; and a test
that takes longer than LONGEST seconds is broken off.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

PACKAGE = str(Path(__file__).resolve().parent.parent / "src" / "holdfast") + os.sep
MOST_CALLS, MOST_EVENTS = 100, 3_000


class Watched:
    """The lines that are executed while this is switched on."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = {}
        self._calls: dict[CodeType, int] = {}
        self._events: dict[CodeType, int] = {}

    def start(self) -> None:
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def _called(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        calls = self._calls[code] = self._calls.get(code, 0) + 1
        if calls > MOST_CALLS and calls % MOST_CALLS:
            return None
        lines = self.lines.setdefault(code.co_filename, set())
        lines.add(frame.f_lineno)

        def executed(frame: FrameType, event: str, arg: object) -> Any:
            lines.add(frame.f_lineno)
            events = self._events[code] = self._events.get(code, 0) + 1
            if events > MOST_EVENTS:
                frame.f_trace_lines = False
            return executed

        return executed


def _too_long(*_: object) -> None:
    raise TimeoutError("the test takes too long")


class Recorder:
    def __init__(self, path: Path, longest: float) -> None:
        self.path, self.longest = path, longest
        self.tests: dict[str, tuple[float, dict[str, set[int]]]] = {}
        self._failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        watched, started = Watched(), time.monotonic()
        signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, self.longest)
        watched.start()
        try:
            return (yield)
        finally:
            watched.stop()
            signal.setitimer(signal.ITIMER_REAL, 0)
            if item.nodeid not in self._failed:
                lines = {file.removeprefix(PACKAGE): found for file, found in watched.lines.items()}
                self.tests[item.nodeid] = (time.monotonic() - started, lines)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.path.write_bytes(pickle.dumps(self.tests))


def pytest_configure(config: pytest.Config) -> None:
    recorder = Recorder(Path(os.environ["EXECUTED_LINES"]), float(os.environ.get("LONGEST", "30")))
    config.pluginmanager.register(recorder)
