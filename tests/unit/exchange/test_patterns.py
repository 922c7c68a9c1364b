"""A pattern for the whole value matches where the given one is found in it."""

from __future__ import annotations

import re

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ConditionError
from holdfast.exchange.patterns import like_pattern, whole_pattern
from holdfast.rules.text_operators import OPERATORS

VALUES = st.text(alphabet="ab|^$.\\]x\n1", max_size=6)
PATTERNS = [
    "a", "^a", "b$", "^ab$", "a|b", "^a|b$", "^(a|b)$", "(a|b)|x$", r"\$", r"a\$", r"\\$", r"[|]a", r"[a\]]b",
    "^[^a]*$", "", "^$", r"\Aa", r"b\Z", "a{2}", r"\d+", "^.$",
]  # fmt: skip


@given(value=VALUES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_search_becomes_a_match_of_the_whole(pattern: str, value: str) -> None:
    # Python's own $ is also true before a line's end at the end of a text.
    searched = re.sub(r"(?<!\\)((?:\\\\)*)\$", r"\1\\Z", pattern)
    assert OPERATORS["matches"].holds(value, whole_pattern(pattern)) == (re.search(searched, value) is not None)


@given(value=VALUES, pattern=st.text(alphabet="ab%_.|^", max_size=5))
def test_like_is_as_in_sql(value: str, pattern: str) -> None:
    ((found,),) = duckdb.execute("SELECT ? LIKE ?", [value, pattern]).fetchall()
    assert OPERATORS["matches"].holds(value, like_pattern(pattern)) == found


@pytest.mark.parametrize("pattern", ["(?=a)", r"\bword", "a(?P<n>b)", "a^b", "[a"])
def test_what_engines_read_differently_is_refused(pattern: str) -> None:
    with pytest.raises(ConditionError, match="cannot be written"):
        whole_pattern(pattern)


def test_like_with_a_backslash_is_refused() -> None:
    with pytest.raises(ConditionError, match="backslash"):
        like_pattern("a\\%")
