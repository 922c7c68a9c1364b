"""The columns that a condition reads are known, whatever they are called; what cannot be understood is refused."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.errors import SitesError
from holdfast.fragments.condition_columns import (
    condition_columns,
    conjuncts,
    require_condition_of_row,
    same_condition,
)

NAMES = ["grade", "it's", 'size "', "a`b", "2nd", "zip code", "a and b", "--", "x*"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@given(
    used=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    values=st.lists(st.text("ab '`\"2ndgrade*-", max_size=8), min_size=4, max_size=4),
)
@example(used=["it's", "it's"], values=["A", "B", "", ""])
def test_every_column_that_is_read_is_known(used: list[str], values: list[str]) -> None:
    pieces = [f"{quoted(name)} <> {text(value)}" for name, value in zip(used, values, strict=False)]
    condition = " AND ".join(pieces)
    assert set(condition_columns(condition, NAMES)) == set(used)
    assert conjuncts(condition) == pieces
    require_condition_of_row(condition, NAMES)


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("upper(grade) = 'zip code'", ["grade"]),
        ("GRADE = 1 or 2nd > 1e5", ["grade", "2nd"]),
        ("grade in ('it''s', 'x\\\\') and `zip code` is not null", ["grade", "zip code"]),
        ("cast(grade as decimal(10, 2)) between 1.5 and 2L", ["grade"]),
        ("grade = date '2024-01-31' or grade > x'1F'", ["grade"]),
        ('grade = "it\'s"', ["grade", "it's"]),  # a text for most sessions, and a name for some
        ("grade.more.x like 'a*' escape '!'", ["grade"]),
        ("case when grade is distinct from 3 then true else 2nd * 2 > 1 end", ["grade", "2nd"]),
    ],
)
def test_names_are_found_outside_of_texts(condition: str, columns: list[str]) -> None:
    require_condition_of_row(condition, NAMES)
    assert list(condition_columns(condition, ["grade", "it's", "2nd", "zip code"])) == columns


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("grade = 'it\\'s' and `2nd` = 1", "cannot be understood"),
        ("grade = 'A", "cannot be understood"),
        ("`grade = 1", "cannot be understood"),
        ("grade = 1 -- 'x", "cannot be understood"),
        ("grade /* ' */ = 1", "cannot be understood"),
        ("hash(*) % 2 = 0 and grade = 1", "columns that it does not name"),
        ("grade in (select g from other)", "begins a query"),
        ("grade = ?", "cannot be understood"),
    ],
)
def test_a_text_that_may_hide_a_column_is_refused(condition: str, told: str) -> None:
    for read in (condition_columns, require_condition_of_row):
        with pytest.raises(SitesError, match=told):
            read(condition, NAMES)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("true", "names no column"),
        ("grad = 'A'", "names 'grad', which is no column"),
        ("grade < current_date", "names 'current_date', which is no column"),
        ("grade < current_date()", "not decided by the row"),
        ("rand(7) < 0.5 or grade = 1", "not decided by the row"),
        ("grade = 1 and `gone` = 2", "names 'gone', which is no column"),
    ],
)
def test_a_condition_that_something_else_decides_is_refused(condition: str, told: str) -> None:
    with pytest.raises(SitesError, match=told):
        require_condition_of_row(condition, NAMES)


def test_conditions_are_cut_only_where_that_is_simple() -> None:
    assert conjuncts("a = 'x and y' and (b = 1 or c = 2) AND `d and e` > 3") == [
        "a = 'x and y'",
        "(b = 1 or c = 2)",
        "`d and e` > 3",
    ]
    for whole in ("a = 1 or b = 2 and c = 3", "a between 1 and 2", "case when a and b then true end", "a = 1 and"):
        assert conjuncts(whole) == [whole]


def test_spaces_within_texts_count() -> None:
    assert same_condition("g  =\t'a b'") == same_condition("g = 'a b'") != same_condition("g = 'a  b'")
