"""A quotation mark that stands twice in a text of a condition is one, whoever reads the condition."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ConditionError
from holdfast.programs.condition import parsed_condition
from holdfast.programs.sql_text import doubled_quotes, with_escaped_quotes, with_joined_quotes

Q, D = "CAST(X'27' AS STRING)", "CAST(X'22' AS STRING)"


@pytest.mark.parametrize(
    ("condition", "joined", "escaped"),
    [
        ("a = 'it''s'", f"a = concat('it', {Q}, 's')", r"a = 'it\'s'"),
        ('a = "say ""no"""', f'a = concat("say ", {D}, "no", {D}, "")', r'a = "say \"no\""'),
        ("a in ('', '''', 'x')", f"a in ('', concat('', {Q}, ''), 'x')", r"a in ('', '\'', 'x')"),
        (r"a = 'x\\''y\n'", rf"a = concat('x\\', {Q}, 'y\n')", r"a = 'x\\\'y\n'"),
    ],
)
def test_a_text_with_a_doubled_mark_is_written_for_all(condition: str, joined: str, escaped: str) -> None:
    assert with_joined_quotes(condition) == joined
    assert with_escaped_quotes(condition) == escaped


@pytest.mark.parametrize(
    "condition",
    [
        "a = 'x' and b = \"it's\"",
        r"a = 'it\'s' or a = '\\'",
        "`it''s` = 'x'",
        "a = r'x''y'",
        "a = 'x' -- it''s\n and b = 1",
        "a = /* it''s */ 'x'",
        "a = '' and b = ''",
        "a = 'never ended",
        "",
    ],
)
def test_all_other_conditions_stay_as_they_are(condition: str) -> None:
    assert doubled_quotes(condition) == frozenset()
    assert with_joined_quotes(condition) == with_escaped_quotes(condition) == condition


def test_a_mark_that_the_session_reads_stays() -> None:
    condition = "a = 'it''s' and \"b\"\"c\" = 1"
    assert doubled_quotes(condition) == {"'", '"'}
    assert with_joined_quotes(condition, {"'"}) == f"a = concat('it', {Q}, 's') and \"b\"\"c\" = 1"


@given(st.lists(st.text("a'\" `-/*\n", max_size=6), min_size=1, max_size=3))
def test_any_text_is_read_back_by_others_as_in_this_process(values: list[str]) -> None:
    condition = " or ".join("name = '" + value.replace("'", "''") + "'" for value in values)
    read = sqlglot.parse_one(with_escaped_quotes(condition), read="spark")
    assert sorted(literal.this for literal in read.find_all(sqlglot.exp.Literal)) == sorted(values)
    try:
        parsed_condition(condition)
    except ConditionError:
        pytest.fail("it is a condition in this process")
