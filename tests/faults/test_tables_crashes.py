"""A process that follows folders of two tables and is killed at whichever file loses no change and applies none twice.

It stops itself when it has put a number of files on the disk: there it is killed, alive, and started again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faults.test_watch_crashes import assert_log_adds_up, is_alive
from waiting import wait_until

RULES = [
    "orders(customer) in customers(id)",
    "not(orders.customer = customers.id and orders.day < customers.since)",
]
PROGRAM = """
import json, os, signal, sys
from holdfast.api import WatchState
from holdfast.states.row_changes import CHANGE_TYPE
folder, rules, last = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
place, keys = folder + "/state", {"orders": "id", "customers": "id"}
if not os.path.exists(place):
    WatchState.create(place, {name: f"{folder}/{name}.csv" for name in keys}, rules, key=keys, engine="local")
synced, count, told = os.fsync, 0, []
def fsync(file):
    global count
    synced(file)
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGSTOP)
os.fsync = fsync
state = WatchState.open(place, engine="local")
state.follow({name: f"{folder}/{name}" for name in keys}, once=True, limit=None,
             on_batch=lambda outcome, name: told.append(name))
shown = state.show()
print(json.dumps({"told": told, "totals": dict(shown.totals), "rows": shown.rows, "synced": count}))
"""


def written(folder: Path) -> Path:
    """Two tables, and for each a folder with two files of changes, some of which break what others mend."""
    folder.mkdir()
    files = {
        "orders.csv": ["id,customer,day", *(f"{i},{i % 12},{i % 5}" for i in range(40))],
        "customers.csv": ["id,since", *(f"{i},{i % 4}" for i in range(10))],
        "orders/1.csv": ["id,customer,day,_change_type", "1,11,0,update_postimage", "2,,,delete", "90,15,1,insert"],
        "orders/2.csv": ["id,customer,day,_change_type", "90,3,0,update_postimage", "3,3,0,update_postimage"],
        "customers/1.csv": ["id,since,_change_type", "3,,delete", "11,9,insert", "15,9,insert"],
        "customers/2.csv": ["id,since,_change_type", "3,1,insert", "4,,delete", "11,0,update_postimage"],
    }
    for place, lines in files.items():
        file = folder / place
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))  # long ago, so that it is whole at once
    return folder


def started(folder: Path, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(RULES), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(folder: Path) -> dict[str, Any]:
    process = started(folder, 0)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    told: dict[str, Any] = json.loads(output)
    return told


def has_stopped(process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None, "it ended before it was to be killed"
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def killed_at(folder: Path, last: int) -> None:
    """The process has put so many files on the disk, is alive then, and is killed."""
    process = started(folder, last)
    wait_until(lambda: has_stopped(process), "the process to stop itself")
    assert is_alive(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def crashes(tmp_path: Path, moments: range) -> None:
    before = written(tmp_path / "before")
    assert finished(shutil.copytree(before, tmp_path / "made"))  # where caches are made
    whole = finished(shutil.copytree(before, tmp_path / "whole"))
    every = ["orders: 1.csv", "orders: 2.csv", "customers: 1.csv", "customers: 2.csv"]
    assert whole["told"] == every
    synced = whole["synced"]
    assert synced >= 20
    for last in moments:
        folder = shutil.copytree(before, tmp_path / f"killed-{last}")
        killed_at(folder, 1 + last % synced)
        # show() has checked the rows themselves: its totals are those of a check.
        again = finished(folder)
        assert (again["totals"], again["rows"]) == (whole["totals"], whole["rows"])
        told = again["told"]
        assert told == every[len(every) - len(told) :], "of what was finished before, nothing is told again"
        assert_log_adds_up(folder / "state", whole["totals"])


def test_a_killed_process_loses_nothing_of_two_tables(tmp_path: Path) -> None:
    crashes(tmp_path, range(2, 19, 7))


@pytest.mark.soak
def test_a_process_killed_at_any_file_loses_nothing_of_two_tables(tmp_path: Path) -> None:
    crashes(tmp_path, range(20))
