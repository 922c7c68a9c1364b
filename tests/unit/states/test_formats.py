"""Manifests are written in one format; those of earlier formats still open, and are written in the newest.

The archive has states that were written in format 1: each was made of four rows and has applied a batch.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from holdfast.errors import StateError
from holdfast.states.formats import manifest_from_json, manifest_to_json
from holdfast.states.manifest import Body, EvolveBody, FragmentsBody, WatchBody
from holdfast.states.segment import Segment
from holdfast.states.store import Store, open_store
from holdfast.states.versions import latest, read_version, tidy

ARCHIVE = Path(__file__).with_name("states_of_format_1.tar.gz")
BODIES: list[type[Body]] = [WatchBody, EvolveBody, FragmentsBody]


@pytest.fixture
def states(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def opened(states: Path, body: type[Body]) -> Store:
    return open_store(states / body.job)


@pytest.mark.parametrize("body", BODIES)
def test_a_state_of_format_1_opens_with_all_its_files(states: Path, body: type[Body]) -> None:
    store = opened(states, body)
    now = latest(store, body)
    assert (now.version, now.rows, now.applied, now.key) == (1, 4, 1, ("id",))
    kept = [f"kept/{name}" for name in store.names("kept")]
    files = {f"{folder}/{name}" for folder in now.body.tables for name in store.names(folder)}
    assert now.body.files <= files | set(kept)
    assert {file for file in files if ".arrow" in file} <= now.body.files


@pytest.mark.parametrize("body", BODIES)
def test_tidying_a_state_of_format_1_removes_no_file_it_needs(states: Path, body: type[Body]) -> None:
    store = opened(states, body)
    tidy(store)
    assert all(store.exists(file) for file in latest(store, body).body.files)


@pytest.mark.parametrize("body", BODIES)
def test_what_is_read_in_format_1_is_written_in_the_newest(states: Path, body: type[Body]) -> None:
    store = opened(states, body)
    for name in store.names("versions"):
        manifest = read_version(store, name)
        text = manifest_to_json(manifest)
        assert json.loads(text)["format"] == 3
        assert manifest_from_json(text, store.root) == manifest


def test_tables_are_known_by_name(states: Path) -> None:
    watched = latest(opened(states, WatchBody), WatchBody).body
    assert list(watched.tables) == ["rows", "pairs-0-0", "pairs-0-1"]
    assert watched.row_table.segments[1] == Segment(
        "rows/a3e95933c83e0198026645d2.arrow", 2, -3341702809300393011, 404280023041566627
    )
    assert [table.about for table in watched.pair_tables] == ["7dccc016c3a7d20373125aa2", "8a5165e720fd10f2c3208af5"]
    assert "rule: zip -> city" in watched.rules
    evolved = latest(opened(states, EvolveBody), EvolveBody).body
    assert list(evolved.tables) == ["rows"]
    assert (evolved.kept, evolved.options["exact"]) == ("kept/bca268fbd3275e7d0ed677a7.npz", True)
    split = latest(opened(states, FragmentsBody), FragmentsBody).body
    kinds = ("rows", "counts", "members")
    assert list(split.tables) == [*(f"site-{site}-{kind}" for site in (0, 1) for kind in kinds), "violations"]


def test_the_first_states_of_format_1_do_not_name_their_job(states: Path) -> None:
    store = opened(states, WatchBody)
    content = json.loads(store.read("versions/000000000001.json"))
    early = {name: value for name, value in content.items() if name not in ("job", "kept", "options")}
    assert manifest_from_json(json.dumps(early).encode(), store.root) == latest(store, WatchBody)


def test_a_state_of_another_job_is_refused(states: Path) -> None:
    with pytest.raises(StateError, match="was made by holdfast evolve, not by holdfast watch"):
        latest(opened(states, EvolveBody), WatchBody)


def test_a_later_format_is_refused_with_a_way_out() -> None:
    with pytest.raises(StateError, match="is of format 4; this Holdfast reads format 1 and 2 and 3") as refused:
        manifest_from_json(b'{"format": 4}', "s")
    assert "make the state anew" in (refused.value.hint or "")
