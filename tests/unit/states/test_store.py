"""Files that appear at once, and one writer at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import BusyStateError, StateError
from holdfast.states.store import open_store


def test_of_two_makers_one_makes_the_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert store.create("a", b"one")
    assert not store.create("a", b"two")
    assert store.read("a") == b"one"
    assert os.listdir(tmp_path) == ["a"], "nothing is left of the one who came second"


def test_a_second_writer_is_told(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.only_writer(), pytest.raises(BusyStateError, match="another process is writing"), store.only_writer():
        pass
    with store.only_writer():
        pass


def test_a_killed_writer_leaves_no_lock(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom holdfast.states.store import open_store\n"
        "with open_store(sys.argv[1]).only_writer():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == -9
    with open_store(tmp_path).only_writer():
        pass


@pytest.mark.parametrize("place", ["s3://bucket/x", "hdfs://host/x", "abfss:x"])
def test_untested_file_systems_are_refused(place: str) -> None:
    with pytest.raises(StateError, match="was never tested"):
        open_store(place)


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    assert open_store(f"file://{tmp_path}").root == str(tmp_path)
