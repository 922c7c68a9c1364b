"""Writers of a state on an object store that die, or are not heard of any more, while they apply a batch."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from faults.test_watch_crashes import RULES, assert_adds_up, written
from holdfast.api import EvolveState, WatchState
from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.states.watched_table import WatchedTable
from holdfast.errors import BusyStateError
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.lease import CLOCK, LEASE, Lease
from holdfast.states.limits import StateLimits
from holdfast.states.manifest import WatchBody
from holdfast.states.object_store import ObjectStore
from holdfast.states.versions import latest, tidy, versions_there
from object_stores import fresh_place, objects_of
from waiting import wait_until

# A line of its input is a number of requests and a file of changes: a process of its own, which is forked before
# anybody speaks to the store, applies it, and is killed when it has made so many changes in the store; 0 is never. What
# a process says that gets through is a line of the output; of one that was killed that is empty.
PROGRAM = """
import importlib, json, os, signal, sys, tempfile
import obstore
import holdfast.api
from holdfast.engines.local import local_engine
from holdfast.engines.states import evolved_table, watched_table
from holdfast.states import object_store
job, place = getattr(holdfast.api, sys.argv[1]), sys.argv[2]
after, count = 0, 0
def counted(change):
    def counting(*given, **named):
        global count
        done = change(*given, **named)
        count += 1
        if count == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return counting
for name in ("put", "copy", "delete"):
    setattr(object_store.obstore, name, counted(getattr(obstore, name)))
for line in sys.stdin:
    after, file = int(line.split()[0]), line.split()[1]
    child = os.fork()
    if not child:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["HOLDFAST_CACHE"] = cache
            outcome = job.open(place, engine="local").apply(file)
            shown = job.open(place, engine="local").status
            totals, rules = dict(getattr(shown, "totals", {})), sorted(map(str, getattr(shown, "rules", ())))
            said = {"applied": outcome.applied, "rows": shown.rows, "totals": totals, "rules": rules}
            print(json.dumps(said), flush=True)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(ended):
        print(flush=True)
    elif ended:
        sys.exit("the process failed")
"""


class Writers:
    """Processes that apply files of changes to a state, one after the other."""

    def __init__(self, job: str, place: str) -> None:
        command = [sys.executable, "-c", PROGRAM, job, place]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def apply(self, file: Path, *, killed_after: int = 0) -> dict[str, Any] | None:
        """What the process says; None where it was killed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(killed_after, file, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, self.process.poll()
        return json.loads(line) if line.strip() else None

    def end(self) -> None:
        self.process.communicate()


def kill_at_every_change(job: type[WatchState] | type[EvolveState], tmp_path: Path, bucket: str, step: int) -> str:
    """Returns the place of a state; batches were applied to it whose writers died at each change they made in it."""
    place, folder, name = fresh_place(bucket), str(tmp_path / "state"), job.__name__
    data, files, _ = written(tmp_path, 1, 60 // step)
    for own in (place, folder):
        if job is WatchState:
            WatchState.create(own, data, RULES, key="id", engine="local")
        else:
            EvolveState.create(own, data, key="id", engine="local", exclude=("id",))
    on_objects, in_folder = Writers(name, place), Writers(name, folder)
    try:
        for number, file in enumerate(files):
            expected = in_folder.apply(file)
            assert expected is not None
            killed = on_objects.apply(file, killed_after=1 + step * number)
            again = on_objects.apply(file)
            assert again is not None
            for what in ("rows", "totals", "rules"):
                assert again[what] == expected[what]
            if killed is not None:  # it was done before it could be killed
                assert not again["applied"]
                return place
    finally:
        on_objects.end()
        in_folder.end()
    raise AssertionError("there are more changes than batches")


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.soak), 8])
def test_a_batch_counts_once_wherever_its_writer_dies(tmp_path: Path, s3_bucket: str, cache: Path, step: int) -> None:
    place = kill_at_every_change(WatchState, tmp_path, s3_bucket, step)
    assert not WatchState.verify(place).problems
    state = WatchState.open(place, engine="local")
    # show() checks the rows themselves: its totals are those of a check.
    totals = dict(state.show().totals)
    lines = [
        line
        for name, content in objects_of(place).items()
        if name.startswith("changes/")
        for line in pq.read_table(io.BytesIO(content)).to_pylist()
    ]
    first = WatchState.create(tmp_path / "first", tmp_path / "t.csv", RULES, key="id", engine="local").status.totals
    assert_adds_up(lines, dict(first), totals)
    assert_nothing_is_left(ObjectStore(place, limits=StateLimits(kept_versions=1)))


def assert_nothing_is_left(store: ObjectStore) -> None:
    """When the next writer has tidied up, every object is one that the state needs."""
    with store.only_writer() as writer:
        tidy(writer)
    now = latest(store, WatchBody)
    needed = {*now.written, *now.written_past_log, "newest", LEASE}
    for version in versions_there(store):
        needed |= {*version.written_log, f"versions/{version.version:012}.json"}
    assert objects_of(store.root).keys() - {CLOCK} == needed


@pytest.mark.soak
def test_rules_that_evolve_are_right_wherever_their_writer_dies(tmp_path: Path, s3_bucket: str, cache: Path) -> None:
    place = kill_at_every_change(EvolveState, tmp_path, s3_bucket, 3)
    assert not EvolveState.verify(place).problems


def taken_in(state: WatchedTable, file: Path) -> BatchOutcome | None:
    """The outcome of the batch; None where another writer has the lease."""
    try:
        return state.newest().apply_file(str(file), limit=None)
    except BusyStateError:
        return None


@pytest.mark.parametrize(
    ("pause", "reason"),
    [("before it commits", "has taken the state"), ("before its version is there", "has written version 2")],
)
def test_who_was_taken_over_from_cannot_commit(
    pause: str, reason: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first writer is not heard of while it works; when it goes on, all it wrote has been removed."""
    # Nobody renews the lease, as where a machine sleeps.
    monkeypatch.setattr(Lease, "_renew_often", lambda _: None)
    data, files, _ = written(tmp_path, 1)
    WatchState.create(tmp_path / "state", data, RULES, key="id", engine="local")
    objects = MemoryStore()
    for file in (own for own in (tmp_path / "state").rglob("*") if own.is_file()):
        objects.put(str(file.relative_to(tmp_path / "state")), file.read_bytes())
    store = ObjectStore("memory://x", client=objects, lease_seconds=0.01)
    state = WatchedTable(LocalEngine(), store)
    second: list[Any] = []

    def meanwhile() -> None:
        second.append(wait_until(lambda: taken_in(state, files[0]), "the lease to end"))

    def apply_first() -> None:
        with state._written() as first:
            if pause == "before it commits":
                first._apply(first._read(str(files[0]), {}), "first", ("first",), None, before_commit=meanwhile)
            else:
                monkeypatch.setattr(ObjectStore, "create", paused)
                first._apply(first._read(str(files[0]), {}), "first", ("first",), None)

    create = ObjectStore.create

    def paused(store: ObjectStore, name: str, content: bytes, *, private: bool = False) -> bool:
        if name.startswith("versions/"):
            monkeypatch.setattr(ObjectStore, "create", create)
            meanwhile()
        return create(store, name, content, private=private)

    with pytest.raises(BusyStateError, match=reason):
        apply_first()
    assert second[0].applied
    fresh = WatchedTable(LocalEngine(), store)
    again = wait_until(lambda: taken_in(fresh, files[0]), "the lease to end")
    assert again is not None
    assert not again.applied
    wait_until(lambda: taken_in(fresh, files[1]), "the lease to end")
    with fresh.newest().check(limit=None) as result:
        rules = {rule.rule.name: rule for rule in result.outcome.rules}
    now = fresh.newest().manifest
    assert {name: rules[name].violating_pairs or rules[name].violating_rows for name in rules} == now.totals
