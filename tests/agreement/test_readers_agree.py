"""The reader in this process and the one on Spark give the same table, or refuse with the same words."""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from holdfast.engines.spark.arrow_table import arrow_table
from holdfast.engines.spark.sources.sources import explain_failure, read_table
from holdfast.errors import HoldfastError
from holdfast.tables.csv_fields import csv_rows
from holdfast.tables.read_local import read_local
from holdfast.tables.read_options import CsvSampleLimits, ReadOptions
from pyspark_versions import IS_3_5

# Of the first twenty rows or so, so that a short file has rows that only the scan meets.
SMALL = CsvSampleLimits(head_bytes=256, block_bytes=256, blocks=1)
LINES = ["n,x,t,d\n", *(f"{i},{i}.5,t{i},2024-01-05\n" for i in range(200))]

Content: TypeAlias = "str | bytes | pa.Table"


@dataclass(frozen=True)
class Case:
    """Files to write, and what is read of them. `differs` says why the two readers do not agree on everything."""

    name: str
    files: Mapping[str, Content]
    data: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    differs: str | None = None


def csv(name: str, content: str | bytes, differs: str | None = None, file: str = "t.csv", **options: Any) -> Case:
    return Case(name, {file: content}, file, options, differs)


def late(name: str, row: str | bytes, **options: Any) -> Case:
    """A row that only the scan meets, not the sample."""
    raw = row if isinstance(row, bytes) else row.encode()
    lines = [line.encode() for line in LINES]
    content = b"".join([*lines[:150], raw, *lines[150:]])
    return csv(f"late {name}", content, sample=SMALL, **options)


def table(name: str, file: str, rows: pa.Table, differs: str | None = None, **options: Any) -> Case:
    return Case(name, {file: rows}, file, options, differs)


NUMBERS = pa.table(
    {
        "i8": pa.array([1, None, -128], pa.int8()),
        "i16": pa.array([1, None, -32768], pa.int16()),
        "i32": pa.array([1, None, 2**31 - 1], pa.int32()),
        "i64": pa.array([1, None, -(2**63)], pa.int64()),
        "f32": pa.array([1.5, None, float("nan")], pa.float32()),
        "f64": pa.array([-0.0, None, float("inf")], pa.float64()),
        "dec": pa.array([Decimal("1.50"), None, Decimal("-99.99")], pa.decimal128(10, 2)),
        "flag": pa.array([True, None, False]),
        "text": pa.array(["x", None, ""]),
        "raw": pa.array([b"x", None, b""], pa.binary()),
        "day": pa.array([date(2024, 1, 5), None, date(1, 1, 1)], pa.date32()),
    }
)
UNSIGNED = pa.table(
    {
        "u8": pa.array([255, None], pa.uint8()),
        "u16": pa.array([65535, None], pa.uint16()),
        "u32": pa.array([2**32 - 1, None], pa.uint32()),
        "u64": pa.array([2**64 - 1, None], pa.uint64()),
    }
)
NOON = datetime(2024, 1, 5, 12, 0, 0, 123456)
TIMES = pa.table(
    {
        "us": pa.array([NOON, None], pa.timestamp("us")),
        "ms": pa.array([NOON.replace(microsecond=123000), None], pa.timestamp("ms")),
        "us_utc": pa.array([NOON.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "ms_tokyo": pa.array([NOON.replace(tzinfo=UTC, microsecond=0), None], pa.timestamp("ms", "Asia/Tokyo")),
        "s": pa.array([NOON.replace(microsecond=0), None], pa.timestamp("s")),
    }
)
LARGE = pa.table(
    {
        "coded": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        "large": pa.array(["a", "b", None, "a"], pa.large_string()),
        "raw": pa.array([b"ab", b"cd", None, b"ef"], pa.binary(2)),
        "day": pa.array([date(2024, 1, 5)] * 4, pa.date64()),
        "took": pa.array([1, 2, None, 3], pa.duration("us")),
    }
)
NESTED = pa.table(
    {
        "list": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
        "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    }
)
SMALL_ORC = pa.table(
    {
        "i8": pa.array([1, None], pa.int8()),
        "i16": pa.array([1, None], pa.int16()),
        "i32": pa.array([1, None], pa.int32()),
        "i64": pa.array([1, None], pa.int64()),
        "f64": pa.array([1.5, None]),
        "text": pa.array(["x", None]),
        "flag": pa.array([True, None]),
        "day": pa.array([date(2024, 1, 5), None]),
        "dec": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "at": pa.array([NOON, None], pa.timestamp("us")),
    }
)
ONE = pa.table({"a": [1], "b": ["x"]})
TWO = pa.table({"a": [2], "c": [1.5]})

CASES = [
    # How text is cut into fields.
    csv("plain", "a,b\n1,x\n2,y\n"),
    csv("quotes", 'a,b\n1,"x,y"\n2,"y"\n'),
    csv("doubled quotes", 'a,b\n1,"say ""x"""\n2,""""\n'),
    csv("quotes in the middle", 'a,b\n1,x"y\n2,"x"y\n3,x"\n4,"" z\n5,"x" "y"\n'),
    csv("blanks around quotes", 'a,b\n1, "x"\n2,"x" \n3,\t"x"\n'),
    csv("an open quote", 'a,b\n1,"x\n2,y\n3,z\n', multiline=False),
    csv("an open quote at the end", 'a,b\n1,x\n2,"y', multiline=False),
    csv("line breaks in quotes", 'a,b\n1,"x\n2,y"\n3,z\n'),
    csv("line breaks in quotes with returns", 'a,b\r\n1,"x\r\n2,y"\r\n3,z\r\n'),
    csv("line breaks not looked for", 'a,b\n1,"x\n2,y"\n3,z\n', multiline=False),
    csv("one column with line breaks", 'a\n"x\ny"\n\nz\n  \n""\n'),
    csv("one column by lines", "a\nx\n\n  \nz\n", multiline=False),
    csv("empty and quoted empty", 'a,b,c\n1,,""\n2,x,y\n"","",\n'),
    csv("blanks kept", "a,b\n 1 , x \n2,  \n"),
    csv("a byte order mark", "\ufeffa,b\n1,é\n"),
    csv("returns and line feeds", "a,b\r\n1,x\r\n\r\n2,y\r\n"),
    csv("returns alone", "a,b\r1,x\r2,y\r"),
    csv("no line break at the end", "a,b\n1,x\n2,"),
    csv("blank lines", "\n\na,b\n\n1,x\n   \n2,y\n\n"),
    csv("an empty file", ""),
    csv("a file of blanks", "  \n\n"),
    csv("a header alone", "a,b\n"),
    csv("names of all characters", 'a.b,`x`,"c ""d""",é,,c0\n1,2,3,4,5,6\n'),
    csv("names twice", "a,b,a\n1,2,3\n"),
    csv("names that differ in case", "a,A\n1,2\n"),
    csv("semicolons", "a;b\n1,5;2\n"),
    csv("bars", "a|b\n1|2\n", delimiter="|"),
    csv("tabs", "a\tb\n1\t2\n\t\n \t3\n", file="t.tsv"),
    csv("tabs that are sniffed", "a\tb\n1\t2\n"),
    csv("too short", "a,b,c\n1,x,3\n\n4,y\n5,z,6\n"),
    csv("too long", "a,b\n1,2\n3,4,5\n"),
    csv("too short after a bad value", "a,b\n1,x\nz,y\n3\n", types={"a": "int"}),
    csv("too short before a bad value", "a,b\n1,x\n3\nz,y\n", types={"a": "int"}),
    csv("too short in quotes", 'a,b\n"1\n",x\n"2"\n'),
    # Types that a sample shows.
    csv("whole numbers", "a,b\n1,-5\n 2 ,0\n,9223372036854775807\n"),
    csv("big whole numbers", "a\n9223372036854775808\n1\n-99999999999999999999\n"),
    csv("very big whole numbers", f"a,b\n{'9' * 38},{'9' * 39}\n"),
    csv("leading zeros", "a,b,c\n0131,1,00\n131,01.5,0\n"),
    csv("plus signs", "a,b\n+44,+1.5\n1,2\n"),
    csv("numbers", "a,b,c\n1.5,.5,5.\n-0.0,1e3,1E-5\n0,NaN,-inf\n"),
    csv("exact numbers", "a,b\n0.1234567890123456789,1234567890123456.75\n2,-0.50\n"),
    csv("truth values", "a,b\ntrue,TRUE\nFalse, false \n,\n"),
    csv("dates", "a\n2024-02-29\n 2023-12-31 \n\n1900-01-01\n"),
    csv("days that do not exist", "a,b\n2024-02-30,1\n"),
    csv("timestamps", "a,b\n2024-01-05 10:00,2024-01-05\n2024-01-05T10:00:01.5,2024-01-06 00:00:00.123456\n"),
    csv("timestamps with zones", "a\n2024-01-05T10:00:00Z\n2024-01-05 10:00+02:00\n2024-01-05T10:00:00.5 -0330\n"),
    csv("mixtures", "a,b\n1,2024-01-05\nx,5\n"),
    csv("a column without values", "a,b\n,1\n,2\n"),
    csv("null values", "a,b,c\n-999,NA,it's\n5 ,x,?\n-999 ,NA ,y\n", null_values=("NA", "-999", "?", "it's")),
    csv("null values of a given type", "a,b\ny,1\n y ,2\nn,3\n", null_values=("y",), types={"a": "boolean"}),
    # Values that do not fit, which the sample does not show.
    late("text", "x7,1.5,t,2024-01-05\n"),
    late("leading zero", "0131,1.5,t,2024-01-05\n"),
    late("a fraction", "1.5,1.5,t,2024-01-05\n"),
    late("a hexadecimal number", "0x1F,1.5,t,2024-01-05\n"),
    late("minus zero", "-0,1.5,t,2024-01-05\n"),
    late("a plus", "+5,1.5,t,2024-01-05\n"),
    late("a big number", "99999999999999999999,1.5,t,2024-01-05\n"),
    late("a number with blanks", " 7 ,  8.5\t,t, 2024-01-05 \n"),
    late("a quoted number", '"7","+8.5","","2024-01-05"\n'),
    late("blank fields", ',"", ,  \n'),
    late("Java's numbers", "1,1d,t,2024-01-05\n"),
    late("a double with leading zeros", "1,007.5,t,2024-01-05\n"),
    late("Java's hexadecimal doubles", "1,0x1p3,t,2024-01-05\n"),
    late("special doubles", "1,-Infinity,t,2024-01-05\n1,nan,t,2024-01-05\n1,1e999,t,2024-01-05\n"),
    late("a signed nan", "1,-nan,t,2024-01-05\n"),
    late("more than a date", "1,1.5,t,2024-01-05 x\n"),
    late("a short date", "1,1.5,t,2024-01-5T\n"),
    late("a day that does not exist", "1,1.5,t,2024-02-30\n"),
    late("a word for null", "1,NA,t,2024-01-05\n"),
    late("two bad values in a row", "x,y,t,z\n"),
    late("two bad rows", "1,y,t,2024-01-05\nx,1,t,2024-01-05\n"),
    late("a long bad value", "z" * 300 + ",1.5,t,2024-01-05\n"),
    late("a ragged row", "1,1.5,t\n"),
    late("quotes in text", '1,1.5,t"t,2024-01-05\n'),
    late("bytes that are not UTF-8", b"1,1.5,caf\xe9,2024-01-05\n"),
    late("bytes that are not UTF-8 in a number", b"1\xe9,1.5,t,2024-01-05\n"),
    late("a replacement character", "1,1.5,t\ufffd,2024-01-05\n"),
    # Types that are given.
    csv(
        "given types",
        "a,b,c,d\n007,1.50,yes,2024-01-05\n",
        types={"a": "int", "b": "decimal(5,1)", "c": "bool", "d": "text"},
    ),
    csv("given whole numbers", "a\n+5\n-0\n 007 \n\n12\n", types={"a": "bigint"}),
    csv("given whole numbers that are none", "a,b\n1,1\n5.0,2\n", types={"a": "bigint"}),
    csv("given doubles", "a,b\n007.5,1\n1e5,2\n+.5,3\nInf,4\n", types={"a": "double"}),
    csv("given decimals", "a,b\n1.239,1\n", types={"a": "decimal(5,2)"}),
    csv("given decimals with zeros", "a,b\n1.2300,1\n+007,2\n.5,3\n", types={"a": "decimal(5,2)"}),
    csv("given decimals that are too long", "a,b\n1234.5,1\n", types={"a": "decimal(5,2)"}),
    csv("given decimals with exponents", "a,b\n1e2,1\n", types={"a": "decimal(5,2)"}),
    csv("given truth values", "a,b\nT,1\nno,2\n 1 ,3\n0,4\nFALSE,5\n", types={"a": "boolean"}),
    csv("given truth values that are none", "a,b\nmaybe,1\n", types={"a": "boolean"}),
    csv("given timestamps", "a,b\n2024-01-05,1\n2024-01-05 10:00,2\n2024-07-05T10:00Z,3\n", types={"a": "timestamp"}),
    csv("given timestamps that are too fine", "a,b\n2024-01-05T10:00:00.123456789,1\n", types={"a": "timestamp_ntz"}),
    csv("an hour without minutes", "a,b\n2024-01-05 10,1\n", types={"a": "timestamp_ntz"}),
    csv("a zone beyond 18 hours", "a,b\n2024-01-05 10:00+19:00,1\n", types={"a": "timestamp"}),
    csv("given dates", "a,b\n2024-01-05,1\n2024-1-5,2\n", types={"a": "date"}),
    csv("given text", "a,b\n007,1\n", types={"a": "text", "b": "string"}),
    csv("a type of no column", "zip,b\n1,2\n", types={"zipp": "text"}),
    csv("no type", "zip,b\n1,2\n", types={"zip": "txet"}),
    csv("a decimal without digits", "zip,b\n1,2\n", types={"zip": "decimal"}),
    csv("a delimiter of two characters", "a,b\n1,2\n", delimiter="::"),
    # Encodings and packing.
    csv("latin-1", "a,b\n1,café\n".encode("latin1"), encoding="latin1"),
    csv("utf-16", "a,b\n1,café\n2,x\n".encode("utf-16"), encoding="utf-16"),
    csv("utf-16 unsaid", "a,b\n1,café\n".encode("utf-16")),
    csv("bad UTF-8", b"a,b\n1,x\n2,caf\xe9\n"),
    csv("bad UTF-8 that is wanted", b"a,b\n1,x\n2,caf\xe9\n", encoding="utf-8"),
    csv("an unknown encoding", "a,b\n1,2\n", encoding="klingon"),
    csv("an encoding that Spark does not read", "a,b\n1,2\n", encoding="cp1252"),
    csv("gzip", gzip.compress(b"a,b\n1,x\n"), file="t.csv.gz"),
    csv("bzip2", bz2.compress(b"a,b\n1,x\n"), file="t.csv.bz2"),
    csv(
        "gzip that ends early",
        gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * 7919 % 10007) for i in range(400_000)), 1)[:600_000],
        file="t.csv.gz",
    ),
    csv("gzip in name only", b"a\n1\n", file="t.csv.gz"),
    csv("gzip without the name", gzip.compress(b"a\n1\n")),
    csv("a workbook named CSV", b"PK\x03\x04rest"),
    csv("another packer", b"PK\x03\x04rest", file="t.csv.zip"),
    csv("another ending", "a,b\n1,2\n", file="t.txt"),
    csv("another ending that is said", "a,b\n1,2\n", file="t.txt", input_format="csv"),
    csv("no format", "a,b\n1,2\n", input_format="cvs"),
    csv("a hidden file", "a\n1\n", file="_t.csv"),
    csv("a colon in the name", "a\n1\n", file="a:b.csv"),
    # Several files, and none.
    Case("a folder", {"d/a.csv": "a,b\n1,2\n", "d/b.csv": "a,b\n3,4\n", "d/c.csv": "", "d/README.md": "no"}, "d"),
    Case("a pattern", {"d/a.csv": "a,b\n1,2\n", "d/b.csv": "a,b\n3,x\n", "d/c.json": "{}"}, "d/*.csv"),
    Case("headers that differ", {"d/a.csv": "a,b\n1,2\n", "d/b.csv": "b,a\n1,2\n"}, "d"),
    Case(
        "a bad value in the second file",
        {"d/a.csv": "a,b\n1,2\n", "d/b.csv": "a,b\nx,y\n"},
        "d",
        {"types": {"a": "int"}},
    ),
    Case("formats that differ", {"d/a.csv": "a\n1\n", "d/b.json": "{}"}, "d"),
    Case("CSV in a subfolder", {"d/e/a.csv": "a\n1\n"}, "d"),
    Case("JSON in a subfolder", {"d/e/a.json": "{}"}, "d"),
    Case("a folder without data", {"d/_SUCCESS": ""}, "d"),
    Case("a folder of other things", {"d/README.md": "x"}, "d"),
    Case("a missing file with a near name", {"tax.csv": "a\n1\n"}, "taxes.csv"),
    Case("a missing folder", {}, "nowhere/t.csv"),
    Case("a missing URL", {}, "file:/nowhere/t.csv"),
    Case("a pattern that matches nothing", {}, "*.parquet"),
    Case("no name", {}, " "),
    # JSON.
    csv("JSON lines", '{"b":1,"a":"x"}\n\n{"a":null,"b":2.5,"c":true}\n', file="t.json"),
    csv("nested JSON", '{"a":1,"n":{"y":[1,2.5],"x":null}}\n{"a":2,"n":{"x":"q"},"e":[]}\n', file="t.jsonl"),
    csv(
        "mixed JSON",
        '{"a":1,"b":1.50,"c":{"x":1.0}}\n{"a":"x","b":"y","c":"z"}\n{"a":true,"b":null,"c":[1,"é"]}\n',
        file="t.json",
    ),
    csv(
        "big numbers in JSON",
        '{"a":9223372036854775808,"b":1,"c":1e400}\n{"a":1,"b":12345678901234567890123}\n',
        file="t.json",
    ),
    csv("times in JSON", '{"a":"2024-01-05","b":"2024-01-05T10:00:00Z"}\n', file="t.json"),
    csv("JSON of arrays", '[{"a":1},{"a":2}]\n{"a":3}\n', file="t.json"),
    csv("JSON of many lines", '[\n{"a":1},\n{"a":2}]', file="t.json", multiline=True),
    csv("one JSON object of many lines", '{\n"a":1,\n"b":"x"}', file="t.json", multiline=True),
    csv("JSON that is not", '{"a":1}\n\n{"a":\n', file="t.json"),
    csv("JSON that is not an object", '{"a":1}\n5\n', file="t.json"),
    csv("JSON names that differ in case", '{"a":1,"A":2}\n', file="t.json"),
    csv("empty JSON", "", file="t.json"),
    csv("JSON in an unknown encoding", '{"a":1}\n', file="t.json", encoding="klingon"),
    csv("JSON in latin-1", '{"a":"café"}\n'.encode("latin1"), file="t.json", encoding="latin1"),
    csv("a delimiter for JSON", '{"a":1}\n', file="t.json", delimiter=";"),
    csv(
        "types for JSON",
        '{"a":"007","b":2.0,"c":1,"d":1.5}\n{"a":null,"b":null,"c":null,"d":1e10}\n',
        file="t.json",
        types={"a": "int", "b": "bigint", "c": "text", "d": "text"},
    ),
    csv("types that JSON does not have", '{"a":1.5}\n', file="t.json", types={"a": "int"}),
    csv(
        "a type for an object in JSON",
        '{"a":{"x":1}}\n',
        file="t.json",
        types={"a": "int"},
    ),
    csv("packed JSON", gzip.compress(b'{"a":1}\n'), file="t.json.gz"),
    # Formats with types of their own.
    table("Parquet numbers", "t.parquet", NUMBERS),
    table("Parquet unsigned numbers", "t.parquet", UNSIGNED),
    table("Parquet times", "t.parquet", TIMES),
    table("Parquet with Arrow's own types", "t.parquet", LARGE),
    table("Parquet nested", "t.parquet", NESTED),
    table("Parquet without rows", "t.parquet", NUMBERS.slice(0, 0)),
    table(
        "Parquet nanoseconds",
        "t.parquet",
        pa.table({"a": pa.array([NOON], pa.timestamp("ns"))}),
        differs="Spark does not read times in nanoseconds",
    ),
    table(
        "types for Parquet",
        "t.parquet",
        NUMBERS,
        types={"i32": "double", "f64": "text", "dec": "double", "i8": "decimal(5,1)", "day": "timestamp_ntz"},
    ),
    table("types for times", "t.parquet", TIMES, types={"us": "text", "us_utc": "text", "s": "text"}),
    table("types that Parquet does not have", "t.parquet", NUMBERS, types={"dec": "bigint"}),
    csv("Parquet in name only", b"nonsense, nonsense", file="t.parquet"),
    csv("empty Parquet", b"", file="t.parquet"),
    csv("a delimiter for Parquet", b"nonsense", file="t.parquet", delimiter=";"),
    csv("multiline for Parquet", b"nonsense", file="t.parquet", multiline=True),
    table("Parquet names that differ in case", "t.parquet", pa.table({"a": [1], "A": [2]})),
    Case("Parquet files that grow", {"d/1.parquet": ONE, "d/2.parquet": TWO}, "d"),
    Case("Parquet files that disagree", {"d/1.parquet": ONE, "d/2.parquet": pa.table({"a": ["x"]})}, "d"),
    Case(
        "decimals that widen",
        {
            "d/1.parquet": pa.table({"a": pa.array([Decimal("1.5")], pa.decimal128(5, 1))}),
            "d/2.parquet": pa.table({"a": pa.array([Decimal("2.5")], pa.decimal128(9, 1))}),
        },
        "d",
    ),
    Case("partitions", {"d/y=1/k=a/1.parquet": ONE, "d/y=2/k=b/2.parquet": ONE}, "d"),
    Case("partitions with leading zeros", {"d/zip=0131/1.parquet": ONE, "d/zip=0200/2.parquet": ONE}, "d"),
    Case(
        "partitions of many types",
        {
            "d/n=1.5/day=2024-01-05/big=3000000000/flag=true/1.parquet": ONE,
            "d/n=2/day=2024-01-06/big=1/flag=false/2.parquet": ONE,
        },
        "d",
    ),
    Case("partitions without a value", {"d/y=1/1.parquet": ONE, "d/y=__HIVE_DEFAULT_PARTITION__/2.parquet": ONE}, "d"),
    Case("one partition", {"d/y=1/1.parquet": ONE, "d/y=2/2.parquet": ONE}, "d/y=1"),
    Case("partitions of JSON", {"d/y=1/1.json": '{"a":1}\n', "d/y=2/2.json": '{"a":2}\n'}, "d"),
    table("ORC", "t.orc", SMALL_ORC),
    table("types for ORC", "t.orc", SMALL_ORC, types={"i64": "text", "text": "int"}),
    csv(
        "ORC in name only",
        b"nonsense, nonsense",
        file="t.orc",
    ),
    Case("ORC files that grow", {"d/1.orc": ONE, "d/2.orc": TWO}, "d"),
]


@dataclass(frozen=True)
class Answer:
    """What a reader gives: a table as types, rows and notes, or an error as class, message and hint."""

    types: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: tuple[str, str, str | None] | None = None


def write(folder: Path, files: Mapping[str, Content]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pa.orc.write_table(content, path) if name.endswith(".orc") else pq.write_table(content, path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def answer(read: Callable[[], tuple[list[tuple[str, str]], pa.Table, tuple[str, ...]]], *, ordered: bool) -> Answer:
    try:
        types, rows, notes = read()
    except HoldfastError as error:
        return Answer(error=(type(error).__name__, error.message, error.hint))
    shown = [repr(tuple(row.values())) for row in rows.to_pylist()]
    return Answer(tuple(types), tuple(shown if ordered else sorted(shown)), notes)


def in_utc(rows: pa.Table) -> pa.Table:
    for i, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            rows = rows.set_column(i, column.name, rows.column(i).cast(pa.timestamp("us", "UTC")))
    return rows


def by_spark(
    spark: SparkSession, data: str, options: ReadOptions
) -> tuple[list[tuple[str, str]], pa.Table, tuple[str, ...]]:
    table = read_table(spark, data, options)
    try:
        rows = arrow_table(table.frame)
    except Exception as error:
        raise explain_failure(error, table) or error from None
    return table.frame.dtypes, in_utc(rows), table.notes


def locally(data: str, options: ReadOptions) -> tuple[list[tuple[str, str]], pa.Table, tuple[str, ...]]:
    table = read_local(data, options)
    return list(table.sql_types.items()), table.rows, table.notes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_readers_agree(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    if IS_3_5 and case.name == "mixed JSON":
        pytest.skip("PySpark 3.5: it writes numbers of JSON anew where their column is text, 1.50 as 1.5")
    write(tmp_path, case.files)
    monkeypatch.chdir(tmp_path)
    options = ReadOptions(**case.options)
    data = str(tmp_path / case.data) if case.data.strip() and ":/" not in case.data else case.data
    ordered = len(case.files) == 1
    here = answer(lambda: locally(data, options), ordered=ordered)
    there = answer(lambda: by_spark(spark, data, options), ordered=ordered)
    if case.differs is not None:
        assert here != there, f"they agree now, though it is said that {case.differs}"
    else:
        assert here == there


def test_quotes_in_any_place_are_cut_alike(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(5)
    lines = ["".join(chance.choice('ab"", ') for _ in range(chance.randint(1, 14))) for _ in range(4000)]
    lines = [line for line in lines if line.strip()]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    schema = ", ".join(f"c{i} string" for i in range(15))
    reader = spark.read.schema(schema).options(quote='"', escape='"', nullValue="\x00null\x00", emptyValue="")
    there = [list(row) for row in reader.csv(str(tmp_path / "t.csv")).collect()]
    here = [(fields + [None] * 15)[:15] for fields in csv_rows("\n".join(lines), ",", multiline=False)]
    differing = [(line, a, b) for line, a, b in zip(lines, here, there, strict=True) if a != b]
    assert not differing
