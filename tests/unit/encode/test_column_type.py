"""Types by Spark's names, and the form in which two of them compare exactly."""

from __future__ import annotations

from itertools import product

import pytest

from holdfast.encode.column_type import SAME, VOID, ColumnType, Encoding, column_type, common_encoding

SIMPLE = {
    "tinyint": "integer",
    "smallint": "integer",
    "int": "integer",
    "bigint": "integer",
    "decimal(10,2)": "decimal",
    "decimal(38,0)": "decimal",
    "float": "float",
    "double": "float",
    "string": "text",
    "string collate UNICODE_CI": "text",
    "char(3)": "text",
    "varchar(10)": "text",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
    "interval day to second": "interval",
    "void": "void",
    "array<int>": "other",
    "map<string,int>": "other",
    "struct<a:int>": "other",
    "variant": "other",
}


@pytest.mark.parametrize(("sql", "family"), SIMPLE.items())
def test_a_type_belongs_to_a_family(sql: str, family: str) -> None:
    assert column_type(sql).family == family
    assert column_type(sql).numeric == (family in ("integer", "decimal", "float"))
    assert column_type(sql).ordered == (family not in ("boolean", "binary", "other"))


def test_a_decimal_knows_its_digits() -> None:
    kind = column_type("decimal(10,2)")
    assert (kind.precision, kind.scale) == (10, 2)


def test_a_collated_text_keeps_its_collation() -> None:
    assert column_type("string collate UNICODE_CI").collated
    assert not column_type("string").collated


@pytest.mark.parametrize(
    ("sql", "told"), [("string", "text"), ("bigint", "integer"), ("void", "nothing but nulls"), ("date", "date")]
)
def test_a_type_is_told_in_a_persons_words(sql: str, told: str) -> None:
    assert str(column_type(sql)) == told


FORMS = [
    ("bigint", "bigint", SAME),
    ("int", "bigint", Encoding("cast", "bigint")),
    ("tinyint", "smallint", Encoding("cast", "bigint")),
    ("float", "double", Encoding("cast", "double")),
    ("double", "double", SAME),
    ("bigint", "double", Encoding("halves")),
    ("int", "float", Encoding("halves")),
    ("decimal(10,2)", "double", Encoding("digits")),
    ("decimal(10,2)", "float", Encoding("digits")),
    ("decimal(10,2)", "decimal(10,2)", SAME),
    ("decimal(10,2)", "decimal(12,4)", Encoding("cast", "decimal(12,4)")),
    ("decimal(10,2)", "decimal(5,4)", Encoding("cast", "decimal(12,4)")),
    ("decimal(10,2)", "bigint", Encoding("cast", "decimal(21,2)")),
    ("decimal(38,0)", "decimal(38,20)", Encoding("digits")),
    ("decimal(38,30)", "bigint", Encoding("digits")),
    ("string", "string", SAME),
    ("string", "varchar(3)", SAME),
    ("date", "date", SAME),
    ("date", "timestamp", Encoding("cast", "timestamp")),
    ("date", "timestamp_ntz", Encoding("cast", "timestamp_ntz")),
    ("timestamp", "timestamp_ntz", Encoding("cast", "timestamp")),
    ("boolean", "boolean", SAME),
    ("binary", "binary", SAME),
    ("void", "void", SAME),
    ("void", "bigint", Encoding("cast", "bigint")),
    ("void", "varchar(3)", Encoding("cast", "string")),
    ("string", "bigint", None),
    ("string", "date", None),
    ("string", "binary", None),
    ("boolean", "bigint", None),
    ("boolean", "string", None),
    ("date", "bigint", None),
    ("array<int>", "array<int>", None),
    ("void", "array<int>", None),
]


@pytest.mark.parametrize(("a", "b", "form"), FORMS)
def test_two_types_have_the_form_in_which_they_compare_exactly(a: str, b: str, form: Encoding | None) -> None:
    assert common_encoding(column_type(a), column_type(b)) == form


def test_the_common_form_does_not_depend_on_the_way_round() -> None:
    for a, b in product(map(column_type, SIMPLE), repeat=2):
        assert common_encoding(a, b) == common_encoding(b, a)


def test_numbers_always_compare_and_nothing_passes_through_double_but_floats() -> None:
    numbers = [kind for kind in map(column_type, SIMPLE) if kind.numeric]
    for a, b in product(numbers, repeat=2):
        form = common_encoding(a, b)
        assert form is not None
        if form.target in ("double", "float"):
            assert {a.family, b.family} == {"float"}


def test_a_column_of_nulls_compares_with_everything_that_compares() -> None:
    for kind in map(column_type, SIMPLE):
        assert (common_encoding(VOID, kind) is None) == (kind.family == "other")


def test_a_type_is_a_value() -> None:
    assert column_type("BIGINT") == ColumnType("bigint", "integer", 19)
