"""The less-than tree finds the smaller rows, whatever comes and goes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.monitor.lt_tree import LessThanTree

VALUES = st.integers(-3, 12) | st.sampled_from([-(2**63), 2**63 - 1])


@given(st.lists(st.tuples(VALUES, st.booleans()), max_size=60), st.booleans())
def test_smaller_rows_are_found_as_rows_come_and_go(changes: list[tuple[int, bool]], at_once: bool) -> None:
    held: dict[int, int] = {}
    tree = LessThanTree()
    if at_once:
        held = {row: value for row, (value, _) in enumerate(changes[:20])}
        tree = LessThanTree.of(np.array(list(held.values()), np.int64), np.array(list(held), np.int32))
        tree.assert_invariants()
    for row, (value, comes) in enumerate(changes, start=100):
        if comes or not held:
            held[row] = value
            tree.add(value, row)
        else:
            gone = sorted(held)[value % len(held)]
            tree.remove(held.pop(gone), gone)
        tree.assert_invariants()
        for asked in (value, value - 1 if value > -(2**63) else value):
            assert set(tree.smaller(asked)) == {r for r, v in held.items() if v < asked}
            assert set(tree.smaller_or_equal(asked)) == {r for r, v in held.items() if v <= asked}
    assert tree.values == sorted(set(held.values()))
    assert len(tree) == len(set(held.values()))
