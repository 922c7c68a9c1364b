"""A watched table whose processes are killed at any moment loses no change and applies none twice.

A process applies files of changes one after the other, is killed, and is started again with the same files until it
gets through. The totals are then those of a fresh check, and the log adds up to them.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from waiting import wait_until

RULES = ["g -> a", "not(t.g = s.g and t.a > s.a and t.b < s.b)", "unique(b)", "not(t.a > 8)"]
ROWS, BATCHES, MANY_BATCHES = 60, 2, 4

# Applies what it is given, tries again where Spark failed, and says what it did.
PROGRAM = """
import json, sys
from pathlib import Path
from typing import Any
from holdfast.errors import HoldfastError
from holdfast.api import WatchState
from holdfast.rules.rule import rule_set
from holdfast.engines.spark.session import get_session
from holdfast.engines.spark.sources.sources import read_table
from holdfast.engines.spark.watching.watch import watched
from holdfast.engines.spark.watching.watch import init_watch
from holdfast.states.versions import has_state
from holdfast.states.store import open_store
place, data, rules, mode, files = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4], sys.argv[5:]

def tell(outcome, name):
    print(json.dumps({"file": str(Path(files[0]).with_name(name)), "applied": outcome.applied}), flush=True)

spark = get_session(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
print("up", flush=True)
if not has_state(open_store(place)):
    init_watch(read_table(spark, data), rule_set(rules), ("id",), place, {})
print("init", flush=True)
if mode == "run":
    WatchState.open(place).follow(Path(files[0]).parent, once=True, limit=None, on_batch=tell)
for file in files if mode != "run" else ():
    for attempt in range(20):
        try:
            outcome = watched(spark, place).apply_file(file, limit=None)
        except HoldfastError as problem:
            print(json.dumps({"failed": str(problem)}), flush=True)
            continue
        print(json.dumps({"file": file, "applied": outcome.applied}), flush=True)
        break
state = watched(spark, place)
with state.check(limit=None) as result:
    fresh = {r["name"]: r["violating_rows"] if r["violating_pairs"] is None else r["violating_pairs"]
             for r in result.to_dict()["rules"]}
print(json.dumps({"totals": dict(state.manifest.totals), "fresh": fresh, "rows": state.manifest.rows,
                  "there": state.frame.count(), "version": state.manifest.version}), flush=True)
"""


def written(folder: Path, seed: int, batches: int = BATCHES) -> tuple[Path, list[Path], int]:
    """A table, so many files of changes to it, and how many rows there are after them."""
    chance = random.Random(seed)

    def row(key: int) -> str:
        return f"{key},{chance.randrange(4)},{chance.randrange(10)},{chance.randrange(40)}"

    (folder / "in").mkdir()
    (folder / "t.csv").write_text("id,g,a,b\n" + "\n".join(map(row, range(ROWS))) + "\n")
    there, after, files = set(range(ROWS)), ROWS, []
    for number in range(batches):
        lines = ["id,g,a,b,_change_type"]
        some = chance.sample(sorted(there), 12)
        lines += [f"{key},,,,delete" for key in some[:5]]
        lines += [f"{row(key)},update_postimage" for key in some[5:]]
        lines += [f"{row(key)},insert" for key in range(after, after + 8)]
        there = there - set(some[:5]) | set(range(after, after + 8))
        after += 8
        files.append(folder / "in" / f"c{number}.csv")
        files[-1].write_text("\n".join(lines) + "\n")
    return folder / "t.csv", files, len(there)


def started(folder: Path, data: Path, files: list[Path], mode: str = "apply") -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        str(folder / "state"),
        str(data),
        json.dumps(RULES),
        mode,
        *map(str, files),
    ]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def workers(leader: int) -> list[int]:
    """Python workers among the processes of the session that `leader` leads."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and os.getsid(int(place.name)) == leader:
                words = (place / "cmdline").read_bytes().split(b"\0")
                if b"pyspark.daemon" in words:  # workers are its children, and look like it
                    found.append(int(place.name))
        except OSError:
            continue
    return found


def lines_until(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert any(word in line for line in process.stdout), f"the process ended before it said {word!r}"


def moment(state: Path, *, versions: int, files: int) -> Callable[[], bool]:
    """Whether the state has so many versions, and since then has got so many files, or another version."""
    before: set[Path] = set()

    def reached() -> bool:
        there = {Path(folder, name) for folder, _, names in os.walk(state) for name in names}
        done = sum(file.parent.name == "versions" for file in there)
        if done < versions:
            before.update(there)
            return False
        return done > versions or len(there - before) >= files

    return reached


def kill(process: subprocess.Popen[str], when: Callable[[], bool]) -> None:
    """The process, and all that it started, is killed at the moment; AssertionError where it had ended by then."""
    wait_until(lambda: process.poll() is not None or when(), "the moment to kill the process")
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it ended before it was killed"


def is_alive(process: int) -> bool:
    """Whether the process runs; one that is dead and not yet buried does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill_workers(process: subprocess.Popen[str], when: Callable[[], bool]) -> list[int]:
    """The workers that were alive at the moment and are dead now, while the process that they work for goes on."""
    wait_until(lambda: process.poll() is not None or (when() and workers(process.pid)), "workers to kill")
    killed = [worker for worker in workers(process.pid) if is_alive(worker)]
    for worker in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, killed)), "the workers to die")
    assert process.poll() is None, "it ended before its workers were killed"
    return killed


def crash(folder: Path, seed: int, whom: str, batches: int = BATCHES) -> None:
    """Kills the driver and its JVM, or workers only, once they work, and looks at what is there in the end."""
    chance = random.Random(seed)
    data, files, rows = written(folder, seed, batches)
    mode = "run" if whom == "driver of a run" else "apply"
    process = started(folder, data, files, mode)
    early = whom == "early driver"
    lines_until(process, "up" if early else "init")
    # The first version is the state as it was made, and each batch is one more.
    made = 0 if early else 1 + chance.randrange(batches)
    when = moment(folder / "state", versions=made, files=chance.randrange(6))
    if whom == "worker":
        assert kill_workers(process, when), "there was no worker to kill"
        if made < batches:  # once more, while there is a batch to come
            assert kill_workers(process, moment(folder / "state", versions=made, files=1))
        output = process.communicate(timeout=600)[0]
    else:
        kill(process, when)
        process = started(folder, data, files, mode)
        output = process.communicate(timeout=600)[0]
    assert process.returncode == 0, output
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    told = {line["file"] for line in lines if "file" in line}
    # Of what a run had finished before it was killed, nothing is told again.
    assert told <= set(map(str, files)) if mode == "run" else told == set(map(str, files))
    last = lines[-1]
    assert last["totals"] == last["fresh"]
    assert last["rows"] == last["there"] == rows
    assert_log_adds_up(folder / "state", last["totals"])


def assert_log_adds_up(state: Path, totals: dict[str, int]) -> None:
    """Each pair comes and goes in turn, and what came less what went, since the first version, makes the totals."""
    first = json.loads((state / "versions" / f"{0:012}.json").read_bytes())
    assert_adds_up(pq.read_table(state / "changes").to_pylist(), first["totals"], totals)


def assert_adds_up(lines: list[dict[str, Any]], first: dict[str, int], totals: dict[str, int]) -> None:
    by_pair: dict[tuple[object, ...], list[int]] = {}
    log = sorted(lines, key=lambda line: line["version"])
    net = dict.fromkeys(totals, 0)
    for line in log:
        by_pair.setdefault((line["rule"], str(line["left"]), str(line["right"])), []).append(line["change"])
        net[line["rule"]] += line["change"]
    assert all(a != b for changes in by_pair.values() for a, b in pairwise(changes))
    assert {name: first[name] + n for name, n in net.items()} == totals


@pytest.mark.parametrize("whom", [pytest.param("driver", marks=pytest.mark.soak), "worker"])
def test_a_killed_process_loses_nothing(tmp_path: Path, whom: str) -> None:
    crash(tmp_path, 1, whom)


@pytest.mark.soak
@pytest.mark.parametrize("whom", ["driver", "worker", "early driver", "driver of a run"])
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_killed_processes_lose_nothing(tmp_path: Path, seed: int, whom: str) -> None:
    crash(tmp_path, seed, whom, MANY_BATCHES)
