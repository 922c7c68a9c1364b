"""The schema of a state's table is what Spark writes, and is read as Spark reads it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    CharType,
    DayTimeIntervalType,
    DecimalType,
    IntegerType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from holdfast.errors import StateError
from holdfast.states.table_schema import arrow_schema, key_field, safe_fields, schema_json, sql_types

ARROW = pa.schema(
    {
        "id": pa.int64(),
        "zip code": pa.string(),
        "i8": pa.int8(),
        "i16": pa.int16(),
        "i32": pa.int32(),
        "f": pa.float32(),
        "d": pa.float64(),
        "money": pa.decimal128(20, 2),
        "ok": pa.bool_(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "bytes": pa.binary(),
        "none": pa.null(),
        "long": pa.duration("us"),
        "pair": pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))]),
        "items": pa.map_(pa.string(), pa.int64()),
    }
)


def test_the_json_is_what_spark_writes_of_such_a_table() -> None:
    written = from_arrow_schema(ARROW, prefer_timestamp_ntz=True).jsonValue()
    assert schema_json(ARROW) == written
    assert arrow_schema(written).equals(ARROW)


def test_types_have_the_names_that_spark_gives_them() -> None:
    kinds = [
        StringType("UTF8_LCASE"),
        CharType(5),
        ArrayType(MapType(StringType(), IntegerType())),
        DayTimeIntervalType(),
        TimestampNTZType(),
        TimestampType(),
        StructType([StructField("x", DecimalType(10, 2)), StructField("y z", StringType("UNICODE"))]),
        NullType(),
        VariantType(),
    ]
    schema = StructType([StructField(f"c{i}", kind) for i, kind in enumerate(kinds)])
    assert sql_types(schema.jsonValue()) == {field.name: field.dataType.simpleString() for field in schema.fields}


@pytest.mark.parametrize("kind", [StringType("UTF8_LCASE"), VariantType()])
def test_what_only_spark_reads_is_refused_by_name(kind: StringType) -> None:
    with pytest.raises(StateError, match="only Spark"):
        arrow_schema(StructType([StructField("x", kind)]).jsonValue())


def test_a_key_of_several_columns_is_a_struct() -> None:
    json = schema_json(ARROW)
    assert (key_field(json, ["id"])["name"], key_field(json, ["id"])["type"]) == ("k", "long")
    assert [own["name"] for own in key_field(json, ["zip code", "id"])["type"]["fields"]] == ["zip code", "id"]


def test_a_column_keeps_its_collation_under_another_name() -> None:
    schema = StructType(
        [StructField("x", StringType("UTF8_LCASE")), StructField("y", ArrayType(StringType("UNICODE")))]
    )
    safe = StructType.fromJson({"type": "struct", "fields": safe_fields(schema.jsonValue())})
    assert [field.dataType for field in safe.fields] == [field.dataType for field in schema.fields]
    assert safe.names == ["c0", "c1"]
