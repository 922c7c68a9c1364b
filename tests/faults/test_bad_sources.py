"""Bad input is an error that says what is wrong, where, and what would help; never a silent null."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.engines.spark.sources.sources import Table, explain_failure, read_table
from holdfast.errors import HoldfastError, OptionError, SourceError, SourceNotFoundError, UnknownColumnError
from holdfast.tables.read_options import CsvSampleLimits, ReadOptions

LINES = ["n,x,t,d\n", *(f"{i},{i}.5,t{i},2024-01-05\n" for i in range(200))]


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(spark: SparkSession, data: object, **options: object) -> HoldfastError:
    with pytest.raises(HoldfastError) as caught:
        read_table(spark, data, ReadOptions(**options))  # type: ignore[arg-type]
    return caught.value


def scan_column(column: str, table: Table) -> object:
    return table.frame.select(column).collect()


def failed_scan(table: Table, scan: Callable[[Table], object] = lambda table: table.frame.collect()) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011  Spark's own class differs by version and mode
        scan(table)
    explained = explain_failure(caught.value, table)
    assert isinstance(explained, SourceError | SourceNotFoundError), f"not explained: {caught.value}"
    return explained.for_command()


# Of the first twenty rows or so, so that a short file has rows that only the scan meets.
SMALL_SAMPLE = ReadOptions(sample=CsvSampleLimits(head_bytes=256, block_bytes=256, blocks=1))


@pytest.mark.parametrize(
    ("row", "column", "value", "hint"),
    [
        ("x7,1.5,t,2024-01-05\n", "n", "x7", "--types n=text"),
        ("0131,1.5,t,2024-01-05\n", "n", "0131", "--types n=text"),
        ("1.5,1.5,t,2024-01-05\n", "n", "1.5", "--types n=double"),
        ("99999999999999999999,1.5,t,2024-01-05\n", "n", "99999999999999999999", "'n=decimal(38,0)'"),
        ("1,1d,t,2024-01-05\n", "x", "1d", "--types x=text"),
        ("1,007.5,t,2024-01-05\n", "x", "007.5", "leading zeros"),
        ("1,0x1p3,t,2024-01-05\n", "x", "0x1p3", "--types x=text"),
        ("1,1.5,t,2024-01-05 x\n", "d", "2024-01-05 x", "--types d=text"),
        ("1,1.5,t,2024-02-30\n", "d", "2024-02-30", "--types d=text"),
        ("1,NA,t,2024-01-05\n", "x", "NA", "--null-values 'NA'"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_place(
    spark: SparkSession, tmp_path: Path, row: str, column: str, value: str, hint: str
) -> None:
    table = read_table(spark, write(tmp_path / "late.csv", "".join([*LINES[:150], row, *LINES[150:]])), SMALL_SAMPLE)
    assert [type for _, type in table.frame.dtypes] == ["bigint", "double", "string", "date"]
    message = failed_scan(table, lambda table: table.frame.select(column).collect())
    assert f"late.csv, row 150 (line 151), column '{column}': '{value}' is not a" in message
    assert hint in message


def test_no_mode_of_spark_turns_a_bad_value_into_null(spark: SparkSession, tmp_path: Path, ansi: object) -> None:
    file = write(tmp_path / "given.csv", "a,b,c,e\n1.239,2024-01-05T10:00:00.123456789,5 apples,maybe\n")
    types = {"a": "decimal(5,2)", "b": "timestamp_ntz", "c": "int", "e": "boolean"}
    table = read_table(spark, file, ReadOptions(types=types))
    for column, value in {"a": "1.239", "b": "2024-01-05T10:00:00.123456789", "c": "5 apples", "e": "maybe"}.items():
        message = failed_scan(table, partial(scan_column, column))
        assert f"row 1 (line 2), column '{column}': '{value}' is not" in message
        assert "the type that --types gives" in message
    json = read_table(spark, write(tmp_path / "g.json", '{"a":1.5}\n'), ReadOptions(types={"a": "int"}))
    assert "g.json, column 'a': '1.5' is not a whole number" in failed_scan(json)


def test_a_ragged_row_never_passes_whatever_is_read(spark: SparkSession, tmp_path: Path) -> None:
    short = read_table(spark, write(tmp_path / "short.csv", "a,b,c\n1,x,3\n\n4,y\n5,z,6\n"))
    scans: list[Callable[[Table], object]] = [
        lambda table: table.frame.count(),
        lambda table: table.frame.select("a").collect(),
        lambda table: table.frame.where("b = 'z'").collect(),
        lambda table: table.frame.where("c IS NOT NULL AND a = 5").select("a").collect(),
    ]
    for scan in scans:
        message = failed_scan(short, scan)
        assert "short.csv, row 2 (line 4), has 2 fields, but the header has 3: 4,y" in message
        assert "--multiline" in message
    plain = read_table(spark, tmp_path / "short.csv", ReadOptions(encoding="utf-8"))
    failed_scan(plain, scans[2])
    long = read_table(spark, write(tmp_path / "long.csv", "a,b\n1,2\n3,4,5\n"))
    assert "row 2 (line 3), has 3 fields, but the header has 2" in failed_scan(long, scans[0])
    remote = read_table(spark, f"file:{tmp_path / 'long.csv'}")
    assert "long.csv has a row without 2 fields" in failed_scan(remote)


def test_bytes_that_are_not_utf8_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    early = refused(spark, write(tmp_path / "early.csv", b"a,b\n1,x\n2,caf\xe9\n"))
    assert "early.csv, row 2 (line 3), holds bytes that are not UTF-8" in str(early)
    assert "--encoding latin1" in early.for_command()
    assert "encoding='latin1'" in str(early)  # as a caller of the library writes it
    lines = [line.encode() for line in LINES]
    lines.insert(150, b"1,1.5,caf\xe9,2024-01-05\n")
    late = read_table(spark, write(tmp_path / "late.csv", b"".join(lines)), SMALL_SAMPLE)
    assert "late.csv, row 150 (line 151), holds bytes" in failed_scan(late)
    wide = refused(spark, write(tmp_path / "wide.csv", "a,b\n1,é\n".encode("utf-16")))
    assert "--encoding utf-16" in wide.for_command()
    assert "utf-8, latin1" in str(refused(spark, tmp_path / "early.csv", encoding="klingon"))


def test_headers_that_cannot_be_read_as_one_table(spark: SparkSession, tmp_path: Path) -> None:
    twice = refused(spark, write(tmp_path / "twice.csv", "a,b,a\n1,2,3\n"))
    assert "'a' (columns 1, 3)" in str(twice)
    assert "'a' and 'A'" in str(refused(spark, write(tmp_path / "case.csv", "a,A\n1,2\n")))
    assert "is empty: it has no header" in str(refused(spark, write(tmp_path / "empty.csv", "")))
    write(tmp_path / "two" / "1.csv", "a,b\n1,2\n")
    write(tmp_path / "two" / "2.csv", "b,a\n1,2\n")
    assert "column 1 is 'b' in 2.csv and 'a' in 1.csv" in str(refused(spark, tmp_path / "two"))
    remote = read_table(spark, f"file:{tmp_path / 'two'}")
    assert "different headers: 'b, a' in 2.csv, where 'a, b' is expected" in failed_scan(remote)


def test_data_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "tax.csv", "a\n1\n")
    missing = refused(spark, tmp_path / "taxes.csv")
    assert isinstance(missing, FileNotFoundError)
    assert "did you mean 'tax.csv'?" in str(missing)
    assert "No file matches" in str(refused(spark, tmp_path / "*.parquet"))
    assert "There is no file or folder file:/nowhere/x.csv" in str(refused(spark, "file:/nowhere/x.csv"))
    for folder in ("plain", "named.csv", "named.parquet"):
        write(tmp_path / folder / "_SUCCESS", "")
        assert f"The folder {folder} holds no data files" in str(refused(spark, tmp_path / folder))
    assert "is empty" in str(refused(spark, write(tmp_path / "none.parquet", "")))
    assert "names no table" in str(refused(spark, "spark:"))
    unknown = refused(spark, "spark:default.nothing_here")
    assert "Spark knows no table default.nothing_here" in str(unknown)
    assert "in backticks" in str(refused(spark, "spark:a b"))


def test_formats_that_are_not_what_they_seem(spark: SparkSession, tmp_path: Path) -> None:
    says = {
        "zipped.csv": (gzip.compress(b"a\n1\n"), "is compressed with gzip"),
        "sheet.csv": (b"PK\x03\x04rest", "Excel workbook"),
        "columns.csv": (b"PAR1rest", "--input-format parquet"),
        "plain.csv.gz": (b"a\n1\n", "is not compressed with gzip"),
        "junk.parquet": (b"nonsense, nonsense", "junk.parquet is not a Parquet file"),
        "junk.orc": (b"nonsense, nonsense", "junk.orc is not a ORC file"),
        "what.txt": (b"a\n1\n", "--input-format csv"),
        "packed.csv.zip": (b"PK\x03\x04rest", "does not read"),
        "_hidden.csv": (b"a\n1\n", "takes it for hidden"),
        "a:b.csv": (b"a\n1\n", "colon in its name"),
    }
    for name, (content, message) in says.items():
        assert message.replace("a ORC", "an ORC") in refused(spark, write(tmp_path / name, content)).for_command(), name
    packed = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * 7919 % 10007) for i in range(400_000)), 1)
    cut = read_table(spark, write(tmp_path / "cut.csv.gz", packed[: len(packed) // 2]))
    assert "cut.csv.gz is damaged and cannot be unpacked: it ends too early" in failed_scan(cut)
    write(tmp_path / "mixed" / "a.csv", "a\n1\n")
    write(tmp_path / "mixed" / "b.json", "{}")
    assert "several formats: csv (a.csv), json (b.json)" in str(refused(spark, tmp_path / "mixed"))
    write(tmp_path / "deep" / "sub" / "a.json", "{}")
    assert "not a partition" in str(refused(spark, tmp_path / "deep"))


def test_a_file_without_permission(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "secret.csv", "a\n1\n")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read everything
    assert "secret.csv cannot be read: permission denied" in str(refused(spark, file))


def test_json_that_is_not_lines_of_objects(spark: SparkSession, tmp_path: Path) -> None:
    broken = refused(spark, write(tmp_path / "broken.json", '{"a":1}\n\n{"a":\n'))
    assert 'broken.json, line 3, is not JSON: {"a":' in str(broken)
    assert "--multiline" in broken.for_command()
    assert "line 2, is not a JSON object: 5" in str(refused(spark, write(tmp_path / "five.json", '{"a":1}\n5\n')))
    assert "upper and lower case" in str(refused(spark, write(tmp_path / "case.json", '{"a":1,"A":2}\n')))


def test_options_that_make_no_sense(spark: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "o.csv", "zip,b\n1,2\n")
    unknown = refused(spark, file, types={"zipp": "text"})
    assert isinstance(unknown, UnknownColumnError)
    assert "did you mean 'zip'?" in str(unknown)
    assert "did you mean 'text'?" in str(refused(spark, file, types={"zip": "txet"}))
    assert "did you mean 'csv'?" in str(refused(spark, file, input_format="cvs"))
    assert "not one character" in str(refused(spark, file, delimiter="::"))
    json = write(tmp_path / "o.json", '{"a":{"x":1}}\n')
    assert "--delimiter is for CSV" in refused(spark, json, delimiter=";").for_command()
    assert isinstance(refused(spark, json, types={"a": "int"}), OptionError)


def test_databases_that_cannot_be_read(spark: SparkSession) -> None:
    no_table = str(refused(spark, "jdbc:postgresql://ann:secret@h/db?password=secret"))
    assert "names no table" in no_table
    assert "dbtable=" in no_table
    no_driver = str(refused(spark, "jdbc:nosuchdatabase://ann:secret@h/db?password=secret&dbtable=t"))
    assert "There is no JDBC driver for jdbc:nosuchdatabase://h/db#t" in no_driver
    assert "secret" not in no_table + no_driver
    assert "cannot be reached" in str(refused(spark, "jdbc:derby:/nowhere/db#t"))
    missing = str(refused(spark, "jdbc:derby:memory:bad;create=true#nothing"))
    assert "jdbc:derby:memory:bad#nothing" in missing
    assert "cannot be read as a table" in missing or "does not exist" in missing  # Spark 4.0 passes on Derby's words
