"""Long work in this process: on all cores, and such that Ctrl-C ends it at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


def interruptible(work: Callable[[], _Done]) -> _Done:
    """Returns what the work returns.

    In the main thread, which alone is told of signals, it waits while another thread works: a compiled loop looks at no
    signal before it ends. A thread that is left behind does not keep the process alive.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    return interruptible_each(lambda _: work(), [None])[0]


def interruptible_each(work: Callable[[_Item], _Done], items: Iterable[_Item]) -> list[_Done]:
    """Returns what the work returns for each of the items, in their order; as many at once as there are cores.

    Kernels and Arrow let go of Python's lock, so that threads are enough. The first problem, in the order of the items,
    is raised; items that no thread has begun by then are left out. Interruptible as `interruptible` is.
    """
    waiting = list(enumerate(items))
    waiting.reverse()
    done: dict[int, _Done] = {}
    problems: dict[int, BaseException] = {}

    def run() -> None:
        while not problems:
            try:
                at, item = waiting.pop()
            except IndexError:
                return
            try:
                done[at] = work(item)
            except BaseException as problem:
                problems[at] = problem

    count = min(os.cpu_count() or 1, len(waiting))
    threads = [threading.Thread(target=run, name="holdfast", daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[min(problems)]
    return [done[at] for at in range(len(done))]
