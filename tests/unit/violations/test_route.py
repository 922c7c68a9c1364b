"""Where left and right rows of a program meet."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from holdfast.programs.program import PairProgram
from holdfast.rules.rule import Nulls
from holdfast.violations.route import Meeting, needed_rows_sql


@pytest.mark.parametrize(
    ("left", "right", "in_one_place"),
    [((0, 1), (0, 1), True), ((0, 1), (1, 0), True), ((0,), (1,), False), ((0, 1), (1, 2), False)],
)
def test_a_row_has_one_number_where_it_is_left_and_right_row_of_one_piece(
    left: tuple[int, ...], right: tuple[int, ...], in_one_place: bool
) -> None:
    meets = Meeting(left, right)
    rows = pa.table({f"f{i}": pa.array([1, 2, 2, None], pa.int64()) for i in range(3)})
    here, there = meets.hashes(rows)
    assert meets.in_one_place is in_one_place
    assert (meets.hashes_sql[0] == meets.hashes_sql[1]) is in_one_place
    if in_one_place:
        assert here.tolist() == there.tolist()


def test_a_pair_meets_in_one_number_also_across_columns() -> None:
    meets = Meeting((0, 1), (1, 0))
    rows = pa.table({"f0": pa.array([1, 2], pa.int64()), "f1": pa.array([2, 1], pa.int64())})
    left, right = meets.hashes(rows)
    # The left row (1, 2) meets right rows whose values are (2, 1) in the other order.
    assert left[0] == right[1]
    assert meets.hashes_sql[0].startswith("least(")


def test_without_an_equality_all_rows_meet() -> None:
    meets = Meeting((), ())
    assert meets.hashes_sql == ("0L", "0L")
    left, right = meets.hashes(pa.table({"f0": pa.array([1, 2], pa.int64())}))
    assert set(left.tolist()) == set(right.tolist()) == {0}


def test_rows_are_dropped_that_can_neither_meet_another_nor_break_a_rule_alone() -> None:
    meets, pairs = Meeting((0, 1), (1, 0)), PairProgram((), True)
    assert needed_rows_sql(meets, [pairs], "sql") == "(f0 IS NOT NULL AND f1 IS NOT NULL)"
    assert (
        needed_rows_sql(meets, [pairs, replace(pairs, alone=4)], "sql") == "(f0 IS NOT NULL AND f1 IS NOT NULL) OR b4"
    )


@pytest.mark.parametrize(
    ("meets", "nulls"), [(Meeting((0,), (0,)), "equal"), (Meeting((), ()), "sql"), (Meeting((0,), (1,)), "sql")]
)
def test_no_row_is_dropped_where_nulls_meet_or_rows_meet_in_two_roles(meets: Meeting, nulls: Nulls) -> None:
    assert needed_rows_sql(meets, [PairProgram((), True, 4)], nulls) is None
