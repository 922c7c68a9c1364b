"""Files that appear at once, and one writer at a time: in folders, in memory, and on an S3 server."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.errors import BusyStateError, DamagedStateError, StateError
from holdfast.states.checksum import sum_of_bytes
from holdfast.states.file_sums import unlike_written
from holdfast.states.object_store import ObjectStore
from holdfast.states.store import Store, open_store
from object_stores import KINDS, fresh_place, fresh_store

AT_LEAST_A_TABLE = 20 << 20


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path, s3_bucket: str, cache: Path) -> Store:
    store = fresh_store(request.param, tmp_path, s3_bucket)
    store.make(["a", "b"])
    return store


def test_of_two_makers_one_makes_the_file(store: Store) -> None:
    assert store.create("a/x", b"one")
    assert not store.create("a/x", b"two")
    assert not store.create("a/x", b"one"), "nor is it the maker who would have made the same"
    assert store.read("a/x") == b"one"
    assert store.names("a") == ["x"], "nothing is left of the one who came second"


def test_of_many_makers_at_once_one_makes_the_file(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda number: store.create("a/x", b"%d" % number), range(8)))
    assert sum(made) == 1
    assert store.read("a/x") == b"%d" % made.index(True)


def test_files_are_found_in_their_folders(store: Store) -> None:
    for name in ("a/x", "a/y", "b/x", "z"):
        store.replace(name, name.encode())
    store.replace("a/x", b"another")
    assert store.names("a") == ["x", "y"]
    assert store.names("c") == []
    assert store.names("") == store.names(".") == ["z"]
    assert store.top_names() == ["a", "b", "z"]
    assert (store.exists("a/x"), store.exists("a/z"), store.exists("c/x")) == (True, False, False)
    assert store.read("a/x") == b"another"
    assert store.sum_of("a/x") == sum_of_bytes(b"another")
    with pytest.raises(FileNotFoundError):
        store.read("a/z")
    assert store.bytes_of(["a/x", "a/y", "b/x"]) == 7 + 3 + 3
    with pytest.raises(FileNotFoundError):
        store.bytes_of(["a/x", "a/z"])


def test_what_is_known_of_a_file_changes_when_it_is_written(store: Store) -> None:
    store.replace("a/x", b"one")
    before = store.marks(["a/x", "a/z", "b/x"])
    assert [name for name, mark in before.items() if isinstance(mark, FileNotFoundError)] == ["a/z", "b/x"]
    store.replace("a/x", b"two")
    assert store.marks(["a/x"])["a/x"] != before["a/x"]


def test_a_file_can_be_moved_again(store: Store) -> None:
    store.replace("a/x", b"one")
    store.move("a/x", "b/x")
    store.move("a/x", "b/x")
    assert (store.names("a"), store.read("b/x")) == ([], b"one")
    with pytest.raises(OSError, match=r"a/y|not there|No such file"):
        store.move("a/y", "b/y")
    store.remove(["b/x", "b/x"])
    assert store.names("b") == []


@pytest.mark.parametrize("size", [0, 3, AT_LEAST_A_TABLE])
def test_a_file_is_read_where_it_was_not_written(store: Store, size: int, cache: Path) -> None:
    content = os.urandom(size)
    own = store.write("a/x", lambda file: file.write(content))
    assert own == sum_of_bytes(content) == store.sum_of("a/x")
    assert store.file("a/x", own).read_bytes() == content
    for copy in cache.rglob("*"):
        if copy.is_file():
            copy.unlink()
    assert store.file("a/x", own).read_bytes() == content


def test_an_object_is_compared_when_it_is_fetched_and_a_file_of_a_folder_at_once(store: Store, cache: Path) -> None:
    """To compare an object is to fetch it, and of a large state few are read."""
    written = {"a/x": store.write("a/x", lambda file: file.write(b"what was written"))}
    store.replace("a/x", b"WHAT WAS WRITTEN")
    for copy in cache.rglob("*"):
        if copy.is_file():
            copy.unlink()
    told = [("a/x", "has another content than was written")]
    assert list(unlike_written(store, written, anew=True)) == told
    if isinstance(store, ObjectStore):
        assert list(unlike_written(store, written)) == []
        with pytest.raises(DamagedStateError, match="a/x"):
            store.file("a/x", written["a/x"])
    else:
        assert list(unlike_written(store, written)) == told


def test_a_second_writer_is_told(store: Store) -> None:
    with store.only_writer(), pytest.raises(BusyStateError, match="another process is writing"), store.only_writer():
        pass
    with store.only_writer() as writer:
        assert not writer.others_may_write, "the writer before has said that it is done"


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_killed_writer_keeps_nobody_out(kind: str, tmp_path: Path, s3_bucket: str, cache: Path) -> None:
    program = (
        "import os, signal, sys\nfrom holdfast.states.store import open_store\nstore = open_store(sys.argv[1])\n"
        "store.make(['a'])\nwith store.only_writer():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    place = str(tmp_path) if kind == "folder" else fresh_place(s3_bucket)
    done = subprocess.run([sys.executable, "-c", program, place], check=False)
    assert done.returncode == -9
    with open_store(place).only_writer() as writer:
        # The system lets go of a lock. Of a lease nobody knows what its holder has sent on its way.
        assert writer.others_may_write == (kind == "s3")


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_task_gets_the_store_without_its_writer(kind: str, tmp_path: Path, s3_bucket: str, cache: Path) -> None:
    store = fresh_store(kind, tmp_path, s3_bucket)
    store.make(["a"])
    with store.only_writer() as writer:
        sent = pickle.loads(pickle.dumps(writer))
        assert sent == writer
        assert b"not-to-be-shown" not in pickle.dumps(writer)
        sent.write("a/x", lambda file: file.write(b"one"))
        assert writer.read("a/x") == b"one"


@pytest.mark.parametrize("place", ["hdfs://host/x", "ftp://host/x", "http://host/x", "memory:///x"])
def test_untested_file_systems_are_refused(place: str) -> None:
    with pytest.raises(StateError, match="was never tested"):
        open_store(place)


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    assert open_store(f"file://{tmp_path}").root == str(tmp_path)
