"""How much memory there is."""

from __future__ import annotations

import os
from pathlib import Path

_GIGABYTE = 1 << 30


def physical_memory() -> int:
    """Returns the memory of the machine, or of its container where that is less, in bytes."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        machine = 4 * _GIGABYTE
    for limit_file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limit = Path(limit_file).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():
            return min(machine, int(limit))
    return machine
