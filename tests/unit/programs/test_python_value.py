"""Expressions from texts, as a SQL engine asks for them: the same values as those of the reference."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.encode.column_type import column_type
from holdfast.encode.digits import digits_key
from holdfast.programs.python_value import Argument, described_call, double_of, key_of, text_of
from holdfast.reference import operand_value
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Call, Column, Constant, Operand
from strategies import DOMAINS, expressions

EPOCH = dt.datetime(1970, 1, 1)
TYPES = {kind: kind for kind in DOMAINS if kind not in ("boolean", "binary")}


def as_text(value: Any) -> str | None:
    """A value as the SQL engine hands it over: times as seconds, all else as a cast to text gives it."""
    if value is None:
        return None
    if isinstance(value, dt.datetime):
        return f"{Decimal((value - EPOCH) // dt.timedelta(microseconds=1)).scaleb(-6):f}"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def columns_of(operand: Operand) -> list[Column]:
    if isinstance(operand, Call):
        return list(dict.fromkeys(column for argument in operand.arguments for column in columns_of(argument)))
    return [operand] if isinstance(operand, Column) else []


def asked(call: Call, types: Mapping[str, str], row: Mapping[str, Any]) -> tuple[str, list[str | None]]:
    columns = columns_of(call)
    description = described_call(call, [Argument(column, column_type(types[column.name])) for column in columns])
    return description, [as_text(row[column.name]) for column in columns]


@st.composite
def calls(draw: st.DrawFn) -> tuple[Call, dict[str, Any]]:
    operand, _ = draw(expressions(TYPES, "t").filter(lambda made: isinstance(made[0], Call)))
    assert isinstance(operand, Call)
    return operand, {name: draw(st.sampled_from([*DOMAINS[kind], None])) for name, kind in TYPES.items()}


@settings(max_examples=300)
@given(calls())
def test_values_from_texts_are_those_of_the_reference(case: tuple[Call, dict[str, Any]]) -> None:
    call, row = case
    wanted = operand_value(call, row, row)
    question = asked(call, TYPES, row)
    text = text_of(question[0], *question[1])
    if wanted is None:
        assert text is None
        assert double_of(question[0], *question[1]) is None
        return
    assert text is not None
    if isinstance(wanted, float):
        own = double_of(question[0], *question[1])
        assert own is not None
        assert own == wanted or (math.isnan(own) and math.isnan(wanted))
    elif isinstance(wanted, int | Decimal):
        assert Decimal(text) == wanted
        assert key_of(question[0], *question[1]) == digits_key(wanted)
    else:
        assert text == as_text(wanted) or dt.datetime.fromisoformat(text) == wanted


@pytest.mark.parametrize(
    ("expression", "row", "text"),
    [
        ("coalesce(t.day, date '2024-01-31')", {"day": None}, "2024-01-31"),
        ("coalesce(t.at, timestamp '2024-01-31T12:00:00')", {"at": None}, "2024-01-31 12:00:00"),
        ("coalesce(t.name, '0131')", {"name": None}, "0131"),
        ("t.i + 0.10", {"i": 1}, "1.1"),
        ("t.i * 123456789012345678901234567890", {"i": 1}, "123456789012345678901234567890"),
        ("t.day - t.day", {"day": dt.date(2024, 1, 31)}, "0"),
    ],
)
def test_constants_keep_their_kind(expression: str, row: dict[str, Any], text: str) -> None:
    (predicate,) = parse_constraint(f"not({expression} is null)").predicates
    call = predicate.column  # type: ignore[union-attr]
    assert isinstance(call, Call)
    assert any(isinstance(argument, Constant | Column) for argument in call.arguments)
    types = {"day": "date", "at": "timestamp_ntz", "name": "string", "i": "bigint"}
    question = asked(call, types, row)
    assert text_of(question[0], *question[1]) == text
