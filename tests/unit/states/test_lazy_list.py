"""A list that is computed when it is read has the items it said it would have."""

from __future__ import annotations

import pytest

from holdfast.errors import RunError
from holdfast.states.lazy_list import LazyList


def test_a_list_is_computed_once_when_it_is_read() -> None:
    made: list[int] = []
    items = LazyList(2, lambda: made.append(1) or ["a", "b"])  # type: ignore[func-returns-value]
    assert (len(items), made) == (2, [])
    assert (items[1], list(items), items == ["a", "b"], repr(items)) == ("b", ["a", "b"], True, "['a', 'b']")
    assert made == [1]


def test_a_list_of_another_length_is_refused() -> None:
    with pytest.raises(RunError, match="2 items has 1"):
        list(LazyList(2, lambda: ["a"]))
