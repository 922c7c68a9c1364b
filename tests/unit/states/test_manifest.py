"""Versions of a state: one maker each, whole or not there, and files that no version needs are gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import BusyStateError, StateError
from holdfast.states.formats import manifest_to_json
from holdfast.states.manifest import FOLDERS, Manifest, StoredTable, WatchBody, by_name
from holdfast.states.segment import Segment
from holdfast.states.store import Store, open_store
from holdfast.states.versions import commit, has_state, latest, tidy, was_applied

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


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = open_store(tmp_path / "state")
    store.make([*FOLDERS, "pairs-0-0"])
    return store


def test_a_version_reads_back_as_it_was(store: Store) -> None:
    assert not has_state(store)
    with pytest.raises(StateError, match="there is no state"):
        latest(store, WatchBody)
    commit(store, FIRST)
    assert has_state(store)
    assert latest(store, WatchBody) == FIRST


def test_a_version_has_one_maker(store: Store) -> None:
    commit(store, FIRST)
    with pytest.raises(BusyStateError, match="another process has written version 0"):
        commit(store, replace(FIRST, rows=4))
    assert latest(store, WatchBody).rows == 3


def test_what_no_version_needs_is_tidied_away(store: Store) -> None:
    for name in ("rows/a.arrow", "rows/a.arrow.zones", "rows/lost.arrow", "pairs-0-0/b.arrow", "pending/lost.parquet"):
        store.path(name).write_bytes(b"")
    commit(store, FIRST)
    tidy(store)
    assert store.names("rows") == ["a.arrow", "a.arrow.zones"]
    assert store.names("pairs-0-0") == ["b.arrow"]
    assert store.names("pending") == []


def test_a_log_that_a_crash_left_behind_is_published(store: Store) -> None:
    store.path("pending/x.parquet").write_bytes(b"log")
    assert store.create("versions/000000000000.json", manifest_to_json(replace(FIRST, log=("x.parquet",))))
    tidy(store)
    assert store.names("changes") == ["x.parquet"]
    tidy(store)
    assert store.names("changes") == ["x.parquet"]


def test_ids_outlive_their_versions(store: Store) -> None:
    for version in range(25):
        commit(store, replace(FIRST, version=version, batches=(f"content-{version}",)))
    tidy(store)
    assert len(store.names("versions")) == 20
    now = latest(store, WatchBody)
    assert all(was_applied(store, now, f"content-{version}") for version in range(25))
    assert not was_applied(store, now, "content-25")


def test_a_state_of_another_format_is_refused(store: Store) -> None:
    store.create("versions/000000000000.json", manifest_to_json(FIRST).replace(b'"format": 2', b'"format": 9'))
    with pytest.raises(StateError, match="is of format 9"):
        latest(store, WatchBody)
