"""A process that dies while it applies a batch, at whichever file, leaves a state with which the next one goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from faults.test_watch_crashes import RULES, assert_log_adds_up, written

# Ends as if it was killed when it has put so many files on the disk, the last argument; 0 is never.
DYING = """
import json, os, sys
last = int(sys.argv[-1])
synced, count = os.fsync, 0
def fsync(file):
    global count
    synced(file)
    count += 1
    if count == last:
        os._exit(9)
os.fsync = fsync
"""

PROGRAM = (
    DYING
    + """
from holdfast.api import WatchState
place, data, rules, changes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
if not os.path.exists(place):
    WatchState.create(place, data, rules, key="id", engine="local")
state = WatchState.open(place, engine="local")
outcome = state.apply(changes, limit=None)
shown = state.show()
print(json.dumps({"applied": outcome.applied, "totals": dict(shown.totals), "rows": shown.rows, "synced": count,
                  "version": shown.version}))
"""
)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_batch_counts_once_wherever_its_process_dies(tmp_path: Path) -> None:
    data, files, _ = written(tmp_path, 1)
    rules, before = json.dumps(RULES), tmp_path / "before"
    first = run(before, data, rules, files[0], 0)
    assert first.returncode == 0, first.stderr
    whole = run(shutil.copytree(before, tmp_path / "whole"), data, rules, files[1], 0)
    expected = json.loads(whole.stdout)
    assert expected["applied"]
    died = 0
    for last in range(1, expected["synced"] + 1):
        state = shutil.copytree(before, tmp_path / f"died-{last}")
        killed = run(state, data, rules, files[1], last)
        assert killed.returncode == 9, killed.stderr
        died += 1
        again = run(state, data, rules, files[1], 0)
        assert again.returncode == 0, again.stderr
        told = json.loads(again.stdout)
        # show() has checked the rows themselves: its totals are those of a check.
        assert {name: told[name] for name in ("totals", "rows", "version")} == {
            name: expected[name] for name in ("totals", "rows", "version")
        }
        assert_log_adds_up(state, told["totals"])
    assert died > 3


# Makes a state of rules by indexes where there is none, applies a batch, and says which rules there are then.
EVOLVING = (
    DYING
    + """
import holdfast as hf
from holdfast.api import EvolveState
from holdfast.search.space import as_masks
from holdfast.states.store import open_store
from holdfast.states.versions import has_state
place, data, changes = sys.argv[1:4]
options = {"exclude": ["id"], "cross_columns": "off"}
if not has_state(open_store(place)):
    EvolveState.create(place, data, key="id", engine="local", strategy="index", options=options)
made = count
state = EvolveState.open(place, engine="local")
outcome = state.apply(changes)
kept = state._table.newest().kept
now = state._table.newest().table.rows
fresh = hf.discover(now, engine="local", top="all", **options).outcome.found
print(json.dumps({"kept": sorted(str(kept.space.constraint(mask)) for mask in as_masks(kept.masks)),
                  "fresh": sorted(str(rule.constraint) for rule in fresh), "rows": kept.rows, "there": len(now),
                  "made": made, "synced": count, "problems": dict(EvolveState.verify(place).problems)}))
"""
)


def evolve(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", EVOLVING, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rules_after_a_crash(folder: Path, data: Path, changes: Path, last: int) -> None:
    state = folder / f"died-{last}"
    killed = evolve(state, data, changes, last)
    assert killed.returncode == 9, killed.stderr
    again = evolve(state, data, changes, 0)
    assert again.returncode == 0, again.stderr
    answer = json.loads(again.stdout)
    assert answer["kept"] == answer["fresh"]
    assert answer["rows"] == answer["there"]
    assert not answer["problems"]


def test_rules_by_indexes_are_whole_when_their_process_dies(tmp_path: Path) -> None:
    data, files, _ = written(tmp_path, 1)
    whole = json.loads(evolve(tmp_path / "whole", data, files[0], 0).stdout)
    assert whole["kept"] == whole["fresh"]
    assert 3 < whole["made"] < whole["synced"]
    rules_after_a_crash(tmp_path, data, files[0], whole["synced"] - 2)


@pytest.mark.soak
def test_rules_by_indexes_are_whole_wherever_at_all_their_process_dies(tmp_path: Path) -> None:
    data, files, _ = written(tmp_path, 2)
    whole = json.loads(evolve(tmp_path / "whole", data, files[0], 0).stdout)
    for last in range(1, whole["synced"] + 1):
        rules_after_a_crash(tmp_path, data, files[0], last)
