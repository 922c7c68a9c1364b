"""Flags as SQL: what a tableau says does not depend on how its values are written."""

from __future__ import annotations

import pytest

from holdfast.encode.column_type import column_type
from holdfast.programs.form import BreaksConstant
from holdfast.programs.sql_expression import Encoder
from holdfast.programs.sql_forms import SqlForms
from holdfast.rules.dependency import CFD
from holdfast.rules.rule_file import parse_rules

SPELLINGS = [
    ("bigint", "44", "44.0"),
    ("bigint", "0", "-0"),
    ("double", "44", "4.4e1"),
    ("double", "nan", "NaN"),
    ("float", "0.1", "0.10000000001"),
    ("decimal(10,2)", "44.5", "44.500"),
    ("date", "2024-01-31", "2024-01-31 00:00:00"),
    ("timestamp_ntz", "2024-01-31", "2024-01-31T00:00"),
    ("timestamp", "2024-01-31 00:00:00", "2024-01-31 01:00:00+01:00"),
    ("boolean", "true", "TRUE"),
]


def broken(kind: str, rule: str, *patterns: str) -> str:
    """The SQL of rows that break a constant of the rule, whose column `code` is of the type."""
    (only,) = parse_rules(f"rules: [{{rule: {rule}, patterns: [{', '.join(patterns)}]}}]")
    assert isinstance(only.body, CFD)
    types = {"code": column_type(kind), "city": column_type("string")}
    return SqlForms(Encoder(types, "sql", lambda column: column.name), {}).flag(BreaksConstant(only.body))


@pytest.mark.parametrize(("kind", "one", "other"), SPELLINGS)
def test_one_value_written_in_two_ways_is_one_left_side(kind: str, one: str, other: str) -> None:
    sides = [f"{{code: '{one}', city: EDI}}", f"{{code: '{one}', city: MH}}"]
    again = [sides[0], f"{{code: '{other}', city: MH}}"]
    assert broken(kind, "code -> city", *again) == broken(kind, "code -> city", *sides)


@pytest.mark.parametrize(("kind", "one", "other"), SPELLINGS)
def test_one_value_written_in_two_ways_is_one_wanted_value(kind: str, one: str, other: str) -> None:
    wanted = [f"{{city: EDI, code: '{text}'}}" for text in (one, other)]
    assert broken(kind, "city -> code", *wanted) == broken(kind, "city -> code", wanted[0])


def test_texts_that_are_written_differently_are_two() -> None:
    lines = ["{city: EDI, code: '44'}", "{city: EDI, code: '44.0'}"]
    assert broken("string", "city -> code", *lines) != broken("string", "city -> code", lines[0])
