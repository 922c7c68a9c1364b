"""Expressions that a SQL engine asks of Python: described as text, and computed row by row from texts."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from holdfast.encode.column_type import ColumnType
from holdfast.encode.digits import digits_key
from holdfast.programs.shifted import call_value
from holdfast.rules.predicate import Call, Column, Constant, Operand

_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Argument:
    """A column that the expression reads, and its type."""

    column: Column
    kind: ColumnType


def described_call(call: Call, arguments: Sequence[Argument]) -> str:
    """The expression as text, over arguments by their places."""
    places = {argument.column: i for i, argument in enumerate(arguments)}

    def described(operand: Operand) -> Any:
        if isinstance(operand, Column):
            return places[operand]
        if isinstance(operand, Constant):
            text = str(operand) if operand.kind == "number" else str(operand.value)
            return {operand.kind: text}
        return [operand.function, *map(described, operand.arguments)]

    return json.dumps([[argument.kind.family for argument in arguments], described(call)])


def key_of(description: str, *texts: str | None) -> bytes | None:
    """The expression's value as bytes that sort as exact numbers do."""
    return digits_key(_value_of(description, texts))


def double_of(description: str, *texts: str | None) -> float | None:
    """The expression's value, a double."""
    value = _value_of(description, texts)
    return None if value is None else float(value)


def text_of(description: str, *texts: str | None) -> str | None:
    """The expression's value as text that casts to its type."""
    value = _value_of(description, texts)
    if value is None:
        return None
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _value_of(description: str, texts: Sequence[str | None]) -> Any:
    families, described = _read(description)
    row = [None if text is None else _typed(family, text) for family, text in zip(families, texts, strict=True)]
    return _computed(described, row)


@lru_cache(maxsize=256)
def _read(description: str) -> tuple[list[str], Any]:
    families, described = json.loads(description)
    return families, described


def _computed(described: Any, row: Sequence[Any]) -> Any:
    if isinstance(described, int):
        return row[described]
    if isinstance(described, dict):
        ((kind, text),) = described.items()
        return _constant(kind, text)
    function, *arguments = described
    return call_value(function, [_computed(argument, row) for argument in arguments])


def _constant(kind: str, text: str) -> Any:
    if kind == "number":
        return int(text) if text.lstrip("-").isdigit() else Decimal(text)
    if kind == "boolean":
        return text == "True"
    if kind == "date":
        return dt.date.fromisoformat(text)
    return dt.datetime.fromisoformat(text) if kind == "timestamp" else text


def _typed(family: str, text: str) -> Any:
    match family:
        case "integer":
            return int(text)
        case "decimal":
            return Decimal(text)
        case "float":
            return float(text)
        case "date":
            return dt.date.fromisoformat(text)
        case "timestamp":
            return _EPOCH + dt.timedelta(microseconds=int(Decimal(text).scaleb(6)))
        case _:
            return text
