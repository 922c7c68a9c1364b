"""The door: what crosses is counted, and values of the table do not cross."""

from __future__ import annotations

import pyarrow as pa
import pytest

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
    with pytest.raises(AssertionError):
        Door().cross(0, 1, "eqids", letters)
