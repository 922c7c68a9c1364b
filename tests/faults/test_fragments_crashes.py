"""A state of fragments that is interrupted at any moment of a batch applies it once, when it is given again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from faults.test_watch_crashes import written as watched_files
from holdfast.api import FragmentsState
from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states import init_fragments as first_load
from holdfast.engines.states import state_table
from holdfast.engines.states.fragmented_table import fragmented
from holdfast.engines.states.state_engine import StateEngine
from holdfast.fragments.sites import parse_sites
from holdfast.states import versions
from holdfast.states.manifest import Manifest
from holdfast.states.store import Store

SITES = """
key: id
sites:
  L: {columns: [a], data: L.parquet}
  R: {columns: [b], data: R.parquet}
rules: ["a -> b"]
"""


class Killed(BaseException):
    """What a process that is killed does not catch."""


def test_a_batch_is_applied_once_whenever_it_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_applied_once(LocalEngine(), tmp_path, monkeypatch)


def test_a_batch_is_applied_once_on_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_applied_once(SparkEngine(spark), tmp_path, monkeypatch)


def assert_applied_once(engine: StateEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"id": [1, 2, 3], "a": [0, 0, 1], "b": [0, 0, 0]})
    for name, column in (("L", "a"), ("R", "b")):
        pq.write_table(rows.select(["id", column]), tmp_path / f"{name}.parquet")
    place = str(tmp_path / "state")
    sites = parse_sites(SITES, folder=tmp_path)

    def cut_off(where: object, name: str, action: Callable[[], object], after: int = -1) -> None:
        """The action, in which the process is killed when it calls the function with a version later than `after`."""
        whole = getattr(where, name)

        def killed(store: Store, version: Manifest[Any]) -> None:
            if version.version > after:
                raise Killed
            whole(store, version)

        with monkeypatch.context() as patch:
            patch.setattr(where, name, killed)
            with pytest.raises(Killed):
                action()

    # While the state is made: what is left behind is no state, and making it again goes well.
    cut_off(first_load, "commit", lambda: first_load.init_fragments(engine, sites, place))
    first_load.init_fragments(engine, sites, place)
    wanted = [({("a-b", 1), ("a-b", 2), ("a-b", 4)}, set()), (set(), {("a-b", 1), ("a-b", 2), ("a-b", 4)})]
    changes = [{"id": [4], "a": [0], "b": [7], "_change_type": ["insert"]}, {"id": [4], "_change_type": ["delete"]}]
    for number, (change, told) in enumerate(zip(changes, wanted, strict=True)):
        file = str(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table(change), file)
        before = fragmented(engine, place).manifest
        # Before the version is there, nothing has happened; after it, all has, and the log is put right later.
        apply = partial(lambda name: fragmented(engine, place).apply_file(name, limit=None), file)
        cut_off(state_table, "commit", apply)
        assert fragmented(engine, place).manifest == before
        late = number == 1
        if late:
            cut_off(versions, "publish", apply, after=before.version)
        outcome = apply()
        assert outcome.applied is not late
        if not late:
            added, removed = ({(v.rule, v.left) for v in some} for some in (outcome.added, outcome.removed))
            assert (added, removed) == told
        assert outcome.totals == {"a-b": 3 if number == 0 else 0}
        assert not apply().applied
    log = [row for file in (tmp_path / "state" / "changes").iterdir() for row in pq.read_table(file).to_pylist()]
    assert {(row["left"], row["change"]) for row in log} == {(key, sign) for key in (1, 2, 4) for sign in (1, -1)}
    assert len(log) == 6
    assert fragmented(engine, place).violations.count() == 0


# Dies at one file after the other that a job puts on the disk, each time in a process of its own; then does the job
# again, to its end. Tells how often it died, and what the states came to.
PROGRAM = """
import json, os, shutil, sys
from pathlib import Path
from holdfast.api import FragmentsState
from holdfast.engines.states import fragmented_table, init_fragments  # here, and not in each process anew
from holdfast.engines.local import local_engine, sources
folder, job = Path(sys.argv[1]), sys.argv[2]

def done(place):
    if job == "init":
        return FragmentsState.create(place, folder / "sites.yaml", engine="local")
    FragmentsState.open(place, engine="local").apply(folder / "changes.csv", limit=None)

def ended(place, last):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    synced, count = os.fsync, 0
    def fsync(file):
        nonlocal count
        synced(file)
        count += 1
        if count == last:
            os._exit(9)
    os.fsync = fsync
    try:
        done(place)
        os._exit(0)
    except BaseException as problem:
        print(problem, file=sys.stderr, flush=True)
        os._exit(1)

def told(place):
    state = FragmentsState.open(place, engine="local")
    shown = state.show(violations=str(place) + "-found")
    return {"totals": dict(shown.totals), "rows": shown.rows, "version": shown.version}

last, codes = 0, []
while not codes or codes[-1][0] == 9:
    last += 1
    place = folder / f"died-{last}"
    if job == "apply":
        shutil.copytree(folder / "before", place)
    code = ended(place, last)
    codes.append((code, ended(place, 0) if code == 9 else 0))
print(json.dumps({"codes": codes, "told": [told(folder / f"died-{n}") for n in range(1, last + 1)]}))
"""
TOWNS = """
key: id
sites:
  A1: {where: "g < 2", columns: [g, a], data: A1.csv}
  A2: {where: "g < 2", columns: [b], data: A2.csv}
  R: {where: "g >= 2", data: R.csv}
rules: ["a -> b", "g, a -> b", "g = 1 -> b = 3"]
"""


@pytest.mark.parametrize("job", ["init", "apply"])
def test_a_job_counts_once_wherever_its_process_dies(job: str, tmp_path: Path) -> None:
    data, (changes, *_), _ = watched_files(tmp_path, 3)
    header, *lines = data.read_text().splitlines()
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    for name, columns in (("A1", "id g a"), ("A2", "id b"), ("R", "id g a b")):
        own = [row for row in rows if (int(row["g"]) < 2) == (name != "R")]
        texts = [",".join(row[column] for column in columns.split()) for row in own]
        (tmp_path / f"{name}.csv").write_text("\n".join([columns.replace(" ", ","), *texts]) + "\n")
    (tmp_path / "sites.yaml").write_text(TOWNS)
    changes.rename(tmp_path / "changes.csv")
    wanted = FragmentsState.create(tmp_path / "before", tmp_path / "sites.yaml", engine="local").status
    if job == "apply":
        shutil.copytree(tmp_path / "before", tmp_path / "whole")
        whole = FragmentsState.open(tmp_path / "whole", engine="local")
        assert whole.apply(tmp_path / "changes.csv").applied
        wanted = whole.status
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), job]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout)
    # A state that counts is there, and is not made again.
    assert ended["codes"][-1] == [0, 0]
    assert [killed for killed, _ in ended["codes"][:-1]] == [9] * (len(ended["codes"]) - 1)
    refused = [again for _, again in ended["codes"] if again]
    assert refused == [1] * done.stderr.count("there is a state at"), done.stderr
    assert len(refused) < (3 if job == "init" else 1)
    assert len(ended["codes"]) > 10
    expected = {"totals": dict(wanted.totals), "rows": wanted.rows, "version": wanted.version}
    assert any(wanted.totals.values())
    assert ended["told"] == [expected] * len(ended["codes"])
    for number in range(1, len(ended["codes"]) + 1):
        listed = pq.read_table(tmp_path / f"died-{number}-found" / "rows").num_rows
        assert listed == sum(wanted.totals.values())
