"""Versions of a state: one maker each, whole or not there, and files that no version needs are gone."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import BusyStateError, DamagedStateError, StateError
from holdfast.states.formats import manifest_to_json
from holdfast.states.manifest import FOLDERS, Manifest, StoredTable, WatchBody, by_name
from holdfast.states.past import PastFile
from holdfast.states.segment import Segment
from holdfast.states.store import Store
from holdfast.states.versions import commit, has_state, latest, past_versions, read_version, tidy, was_applied
from object_stores import fresh_store

FIRST = Manifest(
    version=0,
    key=("id",),
    schema={"type": "struct", "fields": []},
    reading={},
    rows=3,
    totals={"unique-a": 1},
    body=WatchBody(
        by_name(
            [
                StoredTable("rows", (Segment("rows/a.arrow", 3, -5, 9, True),)),
                StoredTable("pairs-0-0", (Segment("pairs-0-0/b.arrow", 3, 0, 0),), "about"),
            ]
        ),
        rules="rules: [unique(a)]",
    ),
    batches=("content-1",),
    streams={"s": 4},
)


def newest(store: Store) -> Manifest[WatchBody]:
    """The newest version, whose files are not there."""
    return read_version(store, store.names("versions")[-1])


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, cache: Path) -> Store:
    store = fresh_store(request.param, tmp_path, "")
    store.make([*FOLDERS, "pairs-0-0"])
    return store


def test_a_version_reads_back_as_it_was(store: Store) -> None:
    assert not has_state(store)
    with pytest.raises(StateError, match="there is no state"):
        latest(store, WatchBody)
    commit(store, FIRST)
    assert has_state(store)
    assert newest(store) == FIRST


def test_a_version_has_one_maker(store: Store) -> None:
    commit(store, FIRST)
    with pytest.raises(BusyStateError, match="another process has written version 0"):
        commit(store, replace(FIRST, rows=4))
    assert newest(store).rows == 3


def test_what_no_version_needs_is_tidied_away(store: Store) -> None:
    for name in ("rows/a.arrow", "rows/a.arrow.zones", "rows/lost.arrow", "pairs-0-0/b.arrow", "pending/lost.parquet"):
        store.replace(name, b"")
    commit(store, FIRST)
    tidy(store)
    assert store.names("rows") == ["a.arrow", "a.arrow.zones"]
    assert store.names("pairs-0-0") == ["b.arrow"]
    assert store.names("pending") == []


def test_a_log_that_a_crash_left_behind_is_published(store: Store) -> None:
    store.replace("pending/x.parquet", b"log")
    assert store.create("versions/000000000000.json", manifest_to_json(replace(FIRST, log=("x.parquet",))))
    tidy(store)
    assert store.names("changes") == ["x.parquet"]
    tidy(store)
    assert store.names("changes") == ["x.parquet"]


def test_ids_outlive_their_versions(store: Store) -> None:
    past: tuple[PastFile, ...] = ()
    for version in range(200):
        commit(store, replace(FIRST, version=version, batches=(f"content-{version}",), past=past))
        past = newest(store).past
    tidy(store)
    assert len(store.names("versions")) <= 20 + 16
    assert len(store.names("past")) <= 16
    now = newest(store)
    assert all(was_applied(store, now, f"content-{version}") for version in range(200))
    assert not was_applied(store, now, "content-")  # though that is how all of them begin
    assert not was_applied(store, now, "content-200")
    assert [point.version for point in past_versions(store, now)] == list(range(now.past[-1].last + 1))


def resummed(text: bytes) -> bytes:
    """The manifest with the sum of what it says now."""
    said = text[: text.rindex(b', "sum"')]
    return said + f', "sum": "{zlib.crc32(said):08x}"}}'.encode()


def test_a_version_that_should_be_there_is_missed(store: Store) -> None:
    for version in range(4):
        commit(store, replace(FIRST, version=version))
    for name in ("000000000003.json", "000000000001.json", "000000000000.json"):
        kept = store.read(f"versions/{name}")
        store.remove([f"versions/{name}"])
        with pytest.raises(DamagedStateError, match=f"versions/{name} is missing"):
            latest(store, WatchBody)
        store.create(f"versions/{name}", kept)


def test_a_version_that_is_another_one_is_noticed(store: Store) -> None:
    for version in range(2):
        commit(store, replace(FIRST, version=version))
    content = store.read("versions/000000000000.json")
    store.remove(["versions/000000000001.json"])
    store.create("versions/000000000001.json", content)
    with pytest.raises(DamagedStateError, match="has the content of version 0"):
        latest(store, WatchBody)


def test_what_a_killed_commit_left_is_tidied_away(store: Store) -> None:
    commit(store, FIRST)
    left = ["versions/.000000000001.json.abc", ".checked.json.abc", "kept/.x.npz.abc"]
    store.make(["kept"])
    for name in left:
        store.replace(name, b"{")
    tidy(store)
    assert not any(map(store.exists, left))


def test_a_state_of_another_format_is_refused(store: Store) -> None:
    store.create(
        "versions/000000000000.json", resummed(manifest_to_json(FIRST).replace(b'"format": 3', b'"format": 9'))
    )
    with pytest.raises(StateError, match="is of format 9"):
        latest(store, WatchBody)
