"""Rules kept by a process that is killed at any moment are those of the last version, and the next batch goes on."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from faults.test_watch_crashes import BATCHES, MANY_BATCHES, kill, lines_until, moment, written

# Applies what it is given, and says which rules there are then, and which a discovery finds.
PROGRAM = """
import json, sys
from holdfast.evolving.options import evolve_options
from holdfast.search.space import as_masks
from holdfast.engines.discovery import run_discover
from holdfast.engines.spark.discovery.discover import SparkDiscovery
from holdfast.engines.spark.evolving.evolve import evolved_table, init_evolve
from holdfast.engines.spark.session import get_session
from holdfast.engines.spark.sources.sources import read_table
from holdfast.engines.spark.sources.table import Table
from holdfast.states.versions import has_state
from holdfast.states.store import open_store
place, data, files = sys.argv[1], sys.argv[2], sys.argv[3:]
options = evolve_options(exclude=("id",), cross_columns="off")
spark = get_session(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
if not has_state(open_store(place)):
    init_evolve(read_table(spark, data), ("id",), place, options, "auto", {})
print("init", flush=True)
for file in files:
    evolved_table(spark, place).apply_file(file, limit=None)
state = evolved_table(spark, place)
found = run_discover(SparkDiscovery(Table(state.frame, "now")), options).outcome.found
print(json.dumps({"kept": sorted(str(state.kept.space.constraint(m)) for m in as_masks(state.kept.masks)),
                  "fresh": sorted(str(one.constraint) for one in found), "rows": state.kept.rows,
                  "there": state.frame.count(), "batches": state.manifest.applied}), flush=True)
"""


def started(folder: Path, data: Path, files: list[Path]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder / "state"), str(data), *map(str, files)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def crash(folder: Path, seed: int, batches: int = BATCHES) -> None:
    data, files, rows = written(folder, seed, batches)
    process = started(folder, data, files)
    lines_until(process, "init")
    chance = random.Random(seed)
    kill(process, moment(folder / "state", versions=1 + chance.randrange(len(files)), files=chance.randrange(6)))
    process = started(folder, data, files)
    output = process.communicate(timeout=600)[0]
    assert process.returncode == 0, output
    last = json.loads(output.splitlines()[-1])
    assert last["kept"] == last["fresh"]
    assert last["rows"] == last["there"] == rows
    assert last["batches"] == len(files)


def test_a_killed_process_loses_no_rule(tmp_path: Path) -> None:
    crash(tmp_path, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_killed_processes_lose_no_rule(tmp_path: Path, seed: int) -> None:
    crash(tmp_path, seed, MANY_BATCHES)
