"""Comparisons that have no meaning by the types of their columns are refused, with a hint that helps."""

from __future__ import annotations

import re

import pytest

from holdfast.encode.column_type import column_type
from holdfast.errors import TypeMismatchError
from holdfast.programs.bind import Schema, require_types
from holdfast.rules.rule import rule_set


@pytest.mark.parametrize("kind", ["bigint", "double", "decimal(10,2)", "date", "timestamp"])
def test_a_column_that_is_read_as_the_hint_says_can_be_compared(kind: str) -> None:
    rules, types = rule_set(["not(t.a < s.b)"]), {"a": "text", "b": kind}
    with pytest.raises(TypeMismatchError) as refused:
        require_types(rules, schema_of(types))
    ways = re.findall(r"--types (\w)=(\w+)", refused.value.hint or "")
    assert [column for column, _ in ways] == ["a", "b"]
    for column, read_as in ways:
        require_types(rules, schema_of({**types, column: read_as}))


def schema_of(types: dict[str, str]) -> Schema:
    return Schema(
        "people.csv", {name: column_type("string" if kind == "text" else kind) for name, kind in types.items()}
    )
