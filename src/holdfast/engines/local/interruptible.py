"""Long work in this process that Ctrl-C ends at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

_Done = TypeVar("_Done")


def interruptible(work: Callable[[], _Done]) -> _Done:
    """Returns what the work returns.

    In the main thread, which alone is told of signals, it waits while another thread works: a compiled loop looks at no
    signal before it ends. A thread that is left behind does not keep the process alive.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    done: list[_Done] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, name="holdfast", daemon=True)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]
    return done[0]
