"""The most memory that a step took: of this process, of its JVM, and of its Python workers, as Linux tells it in /proc.

    seconds, result, peak = measured(lambda: holdfast.check(...))

Where there is no /proc, nothing is measured, and every figure is None.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

PROC = Path("/proc")
EVERY = 0.05
# Who belongs to us is looked up on each so many-th look: it costs more than looking at those who do.
LOOK_FOR_PROCESSES = 5
MIB = 2**20
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True)
class Peak:
    """The most MiB that were resident while something ran; None where it was not measured.

    Of each part the most at one time, and of all of them `together` the most at one time, which is not their sum. Pages
    that several processes share, as forked workers do, count for each of them.
    """

    driver: float | None = None
    jvm: float | None = None
    workers: float | None = None
    others: float | None = None
    together: float | None = None

    def or_more(self, other: Peak) -> Peak:
        """Part by part the larger one."""
        both = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return Peak(*(max((one for one in pair if one is not None), default=None) for pair in both))

    def columns(self) -> dict[str, float | None]:
        """As columns of a record, in MiB."""
        return {f"{field.name}_mib": getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        if self.together is None:
            return "memory: not measured here"
        parts = (("this process", self.driver), ("JVM", self.jvm), ("workers", self.workers), ("others", self.others))
        told = ", ".join(f"{name} {size:,.0f}" for name, size in parts if size)
        return f"peak memory, MiB: {told}; together {self.together:,.0f}"


MIB_UNITS = dict.fromkeys(Peak().columns(), "MiB")


class PeakMemory:
    """Looks at the memory of this process and its children while the block runs; then `peak` is known."""

    def __init__(self, every: float = EVERY) -> None:
        self.peak, self.every = Peak(), every
        self._parts: dict[int, str] = {}
        self._most: dict[str, int] = {}
        self._looks = 0
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> PeakMemory:
        if (PROC / "self" / "statm").exists():
            self._find()
            for pid in self._parts:
                _forget_peak(pid)
            self._look()
            self._thread = threading.Thread(target=self._watch, name="peak memory", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is None:
            return
        self._end.set()
        self._thread.join()
        self._find()
        self._look()
        # What the kernel remembers of a process is exact; between two looks it may have been more than we saw.
        for pid, part in self._parts.items():
            self._keep(part, _high_water(pid))
        most = self._most
        self._keep("together", max(most.values()))
        self.peak = Peak(*(most.get(field.name, 0) / MIB for field in fields(Peak)))

    def _watch(self) -> None:
        while not self._end.wait(self.every):
            self._looks += 1
            if self._looks % LOOK_FOR_PROCESSES == 0:
                self._find()
            self._look()

    def _find(self) -> None:
        self._parts = {pid: _part(pid) for pid in family()}

    def _look(self) -> None:
        now: dict[str, int] = {}
        for pid, part in list(self._parts.items()):
            if part == "others":  # what starts the JVM is a shell, which then becomes it
                part = self._parts[pid] = _part(pid)
            now[part] = now.get(part, 0) + _resident(pid)
        for part, size in now.items():
            self._keep(part, size)
        self._keep("together", sum(now.values()))

    def _keep(self, part: str, size: int) -> None:
        self._most[part] = max(self._most.get(part, 0), size)


def measured(work: Callable[[], Any]) -> tuple[float, Any, Peak]:
    """Seconds by the clock, what the work returns, and the most memory it took."""
    with PeakMemory() as memory:
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
    return seconds, result, memory.peak


def family() -> list[int]:
    """This process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir(PROC):
        if name.isdigit():
            try:
                parent = int(_read(name, "stat").rsplit(b")", 1)[1].split(None, 2)[1])
            except OSError:  # it ended
                continue
            children.setdefault(parent, []).append(int(name))
    found = [os.getpid()]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _read(pid: int | str, name: str) -> bytes:
    # As bare as it can be, as it is done many times a second beside what is measured.
    place = os.open(f"{PROC}/{pid}/{name}", os.O_RDONLY)
    try:
        return os.read(place, 65_536)
    finally:
        os.close(place)


def _part(pid: int) -> str:
    if pid == os.getpid():
        return "driver"
    try:
        words = _read(pid, "cmdline")
    except OSError:
        return "others"
    if Path(os.fsdecode(words.partition(b"\0")[0])).name == "java":
        return "jvm"
    return "workers" if b"pyspark.daemon" in words or b"pyspark.worker" in words else "others"


def _resident(pid: int) -> int:
    try:
        return int(_read(pid, "statm").split()[1]) * PAGE_SIZE
    except OSError:
        return 0


def _high_water(pid: int) -> int:
    try:
        status = _read(pid, "status").decode()
    except OSError:
        return 0
    lines = (line.split() for line in status.splitlines() if line.startswith("VmHWM"))
    return next((int(line[1]) * 1024 for line in lines), 0)


def _forget_peak(pid: int) -> None:
    """What the kernel remembers of the process begins anew; where that is not allowed, it may be too much."""
    try:
        (PROC / str(pid) / "clear_refs").write_text("5")
    except OSError:
        return
