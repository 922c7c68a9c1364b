"""Values as people read them: on one line, whole or visibly cut, with nothing that a terminal obeys."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules.plain_words import MAX_VALUE, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (b"\x00\xff", "0x00ff"),
        ((1, None, "x"), "1, null, x"),
        (dt.datetime(2024, 1, 31, 12), "2024-01-31 12:00:00"),
        (Decimal("1E+3"), "1000"),
        ("\x1b[31m\n\u202e", r"\x1b[31m\n\u202e"),
    ],
)
def test_a_value_is_written_on_one_line(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_only_a_value_that_is_too_long_is_cut_and_shows_it() -> None:
    assert value_text("x" * MAX_VALUE) == "x" * MAX_VALUE
    assert value_text("x" * (MAX_VALUE + 1)) == "x" * (MAX_VALUE - 1) + "…"


@given(st.text(max_size=2 * MAX_VALUE))
def test_any_text_is_printable_and_short(text: str) -> None:
    written = value_text(text)
    assert written.isprintable()
    assert len(written) <= MAX_VALUE
