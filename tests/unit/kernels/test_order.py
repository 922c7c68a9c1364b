"""Rows are ordered by group, then by value, then as they were."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.kernels.order import grouped, order_in_groups, ranks

BIGINT = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.sampled_from([2**11, 2**22 - 1, 2**62]))


@given(rows=st.lists(st.tuples(st.integers(0, 3), BIGINT), max_size=40))
@example(rows=[(0, -(2**63)), (0, 2**63 - 1), (0, 0), (0, -1)])
@example(rows=[])
def test_the_order_is_that_of_a_stable_sort_by_group_and_value(rows: list[tuple[int, int]]) -> None:
    groups = np.array([group for group, _ in rows], np.int64)
    values = np.array([value for _, value in rows], np.int64)
    expected = sorted(range(len(rows)), key=lambda at: rows[at])
    assert order_in_groups(groups, values).tolist() == expected


@given(values=st.lists(BIGINT, max_size=40))
def test_ranks_are_places_among_the_distinct_values(values: list[int]) -> None:
    distinct = sorted(set(values))
    assert ranks(np.array(values, np.int64)).tolist() == [distinct.index(value) for value in values]


@given(groups=st.lists(st.integers(0, 5), max_size=40))
@example(groups=[])
def test_what_is_grouped_stays_in_order_within_a_group(groups: list[int]) -> None:
    assert grouped(np.array(groups, np.int64)).tolist() == sorted(range(len(groups)), key=lambda at: groups[at])
