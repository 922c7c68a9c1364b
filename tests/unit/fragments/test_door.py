"""The door: what crosses is counted, and values of the table do not cross."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from holdfast import fragments
from holdfast.errors import DoorError
from holdfast.fragments.door import Door
from holdfast.states.messages import Shipped


def test_what_crosses_is_counted_by_kind() -> None:
    door = Door()
    ids = pa.array([b"0123456789abcdef"] * 3)
    door.cross(0, 1, "eqids", pa.table({"key": pa.array([1, 2, 3]), "id": ids}))
    door.cross(1, 0, "tuples", pa.table({"id": ids, "n": pa.array([1, 1, 2], pa.int8())}))
    door.cross(1, 0, "tuples", pa.table({"key": pa.array([], pa.int64())}))
    assert door.shipped == Shipped(eqids=3, tuples=3, bytes=3 * (8 + 16) + 3 * (16 + 1))


@pytest.mark.parametrize(
    "letters",
    [
        pa.table({"key": [1], "street": ["Mayfield"]}),
        pa.table({"key": [1], "id": [b"Mayfield"]}),
        pa.table({"key": [1], "id": ["Mayfield"]}),
        pa.table({"key": [1], "n": [65_000]}),
    ],
    ids=["a column", "a value for an id", "a text for an id", "a number for a count"],
)
def test_nothing_else_crosses(letters: pa.Table) -> None:
    door = Door()
    with pytest.raises(DoorError):
        door.cross(0, 1, "eqids", letters)
    assert door.shipped == Shipped()


def test_the_door_is_there_without_assertions() -> None:
    """`python -O` leaves assertions out, and nothing that guards what crosses."""
    program = (
        "import pyarrow as pa\nfrom holdfast.errors import DoorError\nfrom holdfast.fragments.door import Door\n"
        "for sender, letters in ((0, pa.table({'key': [1], 'street': ['Mayfield']})), (1, pa.table({'key': [1]}))):\n"
        "    try:\n        Door().cross(sender, 1, 'eqids', letters)\n"
        "    except DoorError as problem:\n        print(problem)\n"
    )
    done = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "site 0 would ship the columns street, which are no keys, ids or counts.",
        "site 1 would ship to itself.",
    ]


def test_nothing_in_fragments_is_guarded_by_an_assertion() -> None:
    for file in Path(fragments.__path__[0]).glob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)], file.name
