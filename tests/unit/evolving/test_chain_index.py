"""Chains: always in order, as few as can be at first, and what is fetched is what nested loops find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import RunError
from holdfast.evolving.chain_index import ChainIndex
from holdfast.rules.relation import GE, GT, LE, LT, mask_of, operator_of

OPERATORS = (LT, LE, GT, GE)
HOLDS = {LT: lambda a, b: a < b, LE: lambda a, b: a <= b, GT: lambda a, b: a > b, GE: lambda a, b: a >= b}

values = st.tuples(st.integers(-4, 4), st.integers(-4, 4))


def arrays(rows: dict[int, tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = (np.array([row[i] for row in rows.values()], np.int64) for i in (0, 1))
    return a, b, np.array(list(rows), np.int64)


def longest_antichain(places: set[tuple[int, int]], first: int, second: int) -> int:
    """Places of which none can follow another: by Dilworth, as many chains are needed, and no more."""
    up = [(a if first in (GT, GE) else -a, b if second in (GT, GE) else -b) for a, b in places]

    def follows(p: tuple[int, int], q: tuple[int, int]) -> bool:
        x = p[0] < q[0] if first in (LT, GT) else p[0] <= q[0]
        y = p[1] < q[1] if second in (LT, GT) else p[1] <= q[1]
        return p != q and x and y

    # Chains that cover all: as many as places, less the most that can each be given one that follows it.
    partner: dict[tuple[int, int], tuple[int, int]] = {}

    def place(p: tuple[int, int], seen: set[tuple[int, int]]) -> bool:
        for q in up:
            if follows(p, q) and q not in seen:
                seen.add(q)
                if q not in partner or place(partner[q], seen):
                    partner[q] = p
                    return True
        return False

    return len(up) - sum(place(p, set()) for p in up)


@settings(max_examples=200)
@given(
    rows=st.lists(values, max_size=14),
    more=st.lists(values, max_size=8),
    gone=st.sets(st.integers(0, 21)),
    first=st.sampled_from(OPERATORS),
    second=st.sampled_from(OPERATORS),
    asked=st.lists(values, min_size=1, max_size=3),
)
def test_fetch_finds_what_nested_loops_find(
    rows: list[tuple[int, int]],
    more: list[tuple[int, int]],
    gone: set[int],
    first: int,
    second: int,
    asked: list[tuple[int, int]],
) -> None:
    index = ChainIndex(first, second)
    there = dict(enumerate(rows))
    index.add(*arrays(there))
    index.assert_invariants()
    assert index.rank == longest_antichain(set(rows), first, second)
    added = {len(rows) + i: row for i, row in enumerate(more)}
    index.add(*arrays(added))
    index.assert_invariants()
    there |= added
    lost = {i: there.pop(i) for i in sorted(gone) if i in there}
    index.remove(*arrays(lost))
    index.assert_invariants()
    assert sorted(row for chain in index.chains for row in chain) == sorted(there)
    a, b = (np.array([row[i] for row in asked], np.int64) for i in (0, 1))
    for op_a in OPERATORS:
        for op_b in OPERATORS:
            told = (operator_of(first), operator_of(second), operator_of(op_a), operator_of(op_b))
            forward, backward = index.fetch(a, b, op_a, op_b), index.fetch_backward(a, b, op_a, op_b)
            wanted = {
                (i, t) for i, s in enumerate(asked) for t, row in there.items()
                if HOLDS[op_a](s[0], row[0]) and HOLDS[op_b](s[1], row[1])
            }  # fmt: skip
            assert sorted(zip(forward.asking.tolist(), forward.rows.tolist(), strict=True)) == sorted(wanted), told
            assert index.count(a, b, op_a, op_b) == len(wanted)
            wanted = {
                (i, t) for i, s in enumerate(asked) for t, row in there.items()
                if HOLDS[op_a](row[0], s[0]) and HOLDS[op_b](row[1], s[1])
            }  # fmt: skip
            assert sorted(zip(backward.asking.tolist(), backward.rows.tolist(), strict=True)) == sorted(wanted), told


def test_the_least_and_the_greatest_codes_have_their_places() -> None:
    least, most = -(2**63), 2**63 - 1
    index = ChainIndex(LT, GT)
    index.add(np.array([least, 0, most]), np.array([most, 0, least]), np.arange(3))
    index.assert_invariants()
    found = index.fetch(np.array([0]), np.array([0]), mask_of("<"), mask_of(">"))
    assert found.rows.tolist() == [2]


@pytest.mark.parametrize(("rows", "rank"), [(0, 0), (1, 1), (1000, 1)])
def test_columns_that_rise_together_are_one_chain(rows: int, rank: int) -> None:
    index = ChainIndex(GT, GT)
    index.add(np.arange(rows), 2 * np.arange(rows), np.arange(rows))
    assert index.rank == rank
    assert len(index) == rows


def test_a_row_that_is_not_there_cannot_go() -> None:
    index = ChainIndex(GT, GT)
    index.add(np.arange(3), np.arange(3), np.arange(3))
    with pytest.raises(RunError, match="row 7 is to go"):
        index.remove(np.array([1, 1]), np.array([1, 1]), np.array([1, 7]))
    assert len(index) == 3
