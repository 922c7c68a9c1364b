"""The nearest texts are those that the distance, computed for each, puts first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.explaining.candidates import edit_distance
from holdfast.kernels.compiled_edit_distance import find_nearest_compiled
from holdfast.kernels.edit_distance import find_nearest, nearest_texts

TEXTS = st.text("abcä𝔸", max_size=6)


@pytest.mark.parametrize("search", [find_nearest, find_nearest_compiled])
@settings(deadline=None)
@given(texts=st.lists(TEXTS, max_size=12), wanted=TEXTS, most=st.integers(1, 4))
def test_the_nearest_texts_come_first_and_of_several_the_first(
    search: object, texts: list[str], wanted: str, most: int
) -> None:
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    changes = [edit_distance(text, wanted) for text in texts]
    expected = sorted(range(len(texts)), key=lambda place: (changes[place], place))[:most]
    places, found = search(points, ends, np.frombuffer(wanted.encode("utf-32-le"), np.uint32), most)  # type: ignore[operator]
    assert places.tolist() == expected
    assert found.tolist() == [changes[place] for place in expected]


def test_no_text_is_near_among_none() -> None:
    nothing = np.zeros(0, np.uint32)
    places, changes = nearest_texts(nothing, np.zeros(0, np.int64), nothing, most=3)
    assert len(places) == len(changes) == 0
