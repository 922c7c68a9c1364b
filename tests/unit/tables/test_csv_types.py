"""What a column of text is taken for, and what it is never taken for."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.errors import OptionError
from holdfast.tables import csv_types
from holdfast.tables.csv_types import CsvType, Shape, better_type, infer, parse_type, shape

INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("values", "sql"),
    [
        ([], "string"),
        (["", "  "], "string"),
        (["true", "FALSE", " True "], "boolean"),
        (["true", "1"], "string"),
        (["0", "-7", " 12 ", ""], "bigint"),
        (["0131"], "string"),
        (["-007"], "string"),
        (["12", "0131"], "string"),
        (["00"], "string"),
        (["00.5"], "string"),
        (["+4420"], "string"),
        (["9223372036854775807", "-9223372036854775808"], "bigint"),
        (["9223372036854775808"], "decimal(38,0)"),
        (["1" * 38], "decimal(38,0)"),
        (["1" * 39], "string"),
        (["0.1", ".5", "5.", "-0.25", "+1.5"], "double"),
        (["-0"], "double"),
        (["1", "2.5"], "double"),
        (["1e3", "NaN", "-inf", "Infinity", "4"], "double"),
        (["1e999"], "string"),
        (["9007199254740993", "0.5"], "decimal(38,1)"),
        (["0.10000000000000000001"], "decimal(38,20)"),
        (["9007199254740993", "1e3"], "string"),
        (["1" * 30 + "." + "1" * 20], "string"),
        (["1d"], "string"),
        (["0x1p3"], "string"),
        (["1_000"], "string"),
        (["1,5"], "string"),
        (["٣"], "string"),
        (["2024-02-29", " 2024-01-31 "], "date"),
        (["2023-02-29"], "string"),
        (["2024-1-5"], "string"),
        (["20240105"], "bigint"),
        (["2024-01-05 10:00", "2024-01-05T10:00:01", "2024-01-05 10:00:01.123456"], "timestamp_ntz"),
        (["2024-01-05", "2024-01-05 10:00"], "timestamp_ntz"),
        (["2024-01-05T10:00:00Z", "2024-01-05 10:00+01:00", "2024-01-05 10:00:00-0500"], "timestamp"),
        (["2024-01-05T10:00:00Z", "2024-01-05T10:00:00"], "string"),
        (["2024-01-05 10:00:00.123456789"], "string"),
        (["2024-01-05 24:00"], "string"),
        (["2024-01-05", "7"], "string"),
    ],
)
def test_a_column_has_the_narrowest_type_that_keeps_its_values(values: list[str], sql: str) -> None:
    assert infer(values).type.sql == sql


def test_null_values_say_nothing_about_the_type() -> None:
    assert infer(["1", "NA", " NA "], ("NA",)).type.sql == "bigint"
    assert infer(["NA"], ("NA",)).type.sql == "string"
    assert infer(["1", "NA"]).type.sql == "string"


def test_a_mixed_column_says_what_it_mixes_with_an_example_of_each() -> None:
    assert infer(["12", "A3", "x"]).reason == "mixes numbers and text ('12', 'x')"
    assert (
        infer(["true", "2024-01-05", "7"]).reason == "mixes numbers, truth values and dates ('7', 'true', '2024-01-05')"
    )
    assert infer(["0131", "12"]).reason is None
    assert infer(["a", "b"]).reason is None
    assert "digit by digit" in str(infer(["1" * 30 + "." + "1" * 20]).reason)


@given(st.lists(INT64.map(str), min_size=1))
@example(["-9223372036854775808"])
def test_what_is_taken_for_bigint_is_written_as_the_number_is(texts: list[str]) -> None:
    assert infer(texts).type.sql == "bigint"
    assert all(str(int(text)) == text for text in texts)


@given(st.lists(st.text("-+0123456789. eE", min_size=1, max_size=24), min_size=1))
@example(["-0"])
@example(["0 "])
def test_numbers_keep_their_value(texts: list[str]) -> None:
    type = infer(texts).type
    values = [text.strip() for text in texts if text.strip()]
    if type.kind == "bigint":
        assert all(str(int(value)) == value for value in values)
    elif type.kind == "decimal":
        assert all(-int(Decimal(value).as_tuple().exponent) <= type.scale for value in values)
    elif type.kind == "double":
        exact = [value for value in values if "e" not in value.lower()]
        assert all(Decimal(repr(float(value))) == Decimal(value) for value in exact)


@given(st.text("0123456789", max_size=20).map("0{}".format), st.sampled_from(["", "-", "+"]))
def test_leading_zeros_make_text(digits: str, sign: str) -> None:
    if len(digits) > 1:
        assert shape(sign + digits) is Shape.ZERO_LED
        assert infer([sign + digits, "5"]).type.kind == "text"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_as_python_writes_it_is_a_double(value: float) -> None:
    assert infer([repr(value)]).type.sql == "double"


@given(st.dates().map(date.isoformat), st.datetimes().map(datetime.isoformat))
def test_iso_dates_and_timestamps_are_taken_for_what_they_are(day: str, stamp: str) -> None:
    assert infer([day]).type.sql == "date"
    assert infer([stamp]).type.sql == "timestamp_ntz"
    assert infer([stamp + "Z"]).type.sql == "timestamp"
    assert infer([day, stamp]).type.sql == "timestamp_ntz"


@given(st.lists(st.text()))
def test_every_column_has_a_type(texts: list[str]) -> None:
    assert infer(texts).type.kind


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("text", "string"),
        ("String", "string"),
        ("INT", "bigint"),
        ("long", "bigint"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(10,2)"),
        (" decimal( 5 ) ", "decimal(5,0)"),
        ("timestamp", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("boolean", "boolean"),
    ],
)
def test_types_have_friendly_names(name: str, sql: str) -> None:
    assert parse_type(name, column="c").sql == sql
    assert parse_type(parse_type(name, column="c").option, column="c").sql == sql


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dat", "did you mean 'date'"),
        ("int(5)", "not a type"),
        ("decimal", "decimal(12,2)"),
        ("decimal(39,0)", "at most 38 digits"),
        ("decimal(3,5)", "after the point"),
        ("", "Types: text"),
    ],
)
def test_a_wrong_type_name_is_refused_with_a_hint(name: str, says: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_type(name, column="zip")
    assert "column 'zip'" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("value", "refused", "option"),
    [
        ("1.5", CsvType("bigint"), "double"),
        ("9" * 20, CsvType("bigint"), "decimal(38,0)"),
        ("0131", CsvType("bigint"), "text"),
        ("x", CsvType("bigint"), "text"),
        ("1.555", CsvType("decimal", 5, 2, given=True), "decimal(38,3)"),
        ("1e5", CsvType("decimal", 38, 2), "double"),
        ("2024-01-05 10:00", CsvType("date"), "timestamp_ntz"),
        ("soon", CsvType("date"), "text"),
    ],
)
def test_the_type_offered_instead_takes_the_value(value: str, refused: CsvType, option: str) -> None:
    assert better_type(value, refused).option == option


class _Everything:
    def __contains__(self, _: object) -> bool:
        return True


@given(value=st.text(st.sampled_from("0123456789+-.:TZeEnaifruls tlINFxyÄ"), max_size=12))
@example(value="-inf")
@example(value="NaN")
@example(value="infinity")
@example(value="+0131")
@example(value="TRUE")
def test_what_a_value_begins_with_leaves_out_only_text(value: str) -> None:
    looked_at_first = shape(value)
    with patch.object(csv_types, "_FIRST_OF_TYPED", _Everything()):
        assert shape(value) == looked_at_first
