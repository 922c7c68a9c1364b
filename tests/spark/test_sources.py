"""Every kind of DATA becomes a table with the right types, values and names."""

from __future__ import annotations

import bz2
import gzip
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.engines.spark.sources.sources import ReadOptions, Table, explain_failure, read_table


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(spark: SparkSession, data: object, **options: object) -> list[tuple[object, ...]]:
    frame = read_table(spark, data, ReadOptions(**options)).frame  # type: ignore[arg-type]
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_csv_columns_are_typed_alike_with_ansi_on_and_off(spark: SparkSession, tmp_path: Path, ansi: object) -> None:
    file = write(
        tmp_path / "all.csv",
        "id,big,x,exact,flag,day,at,when,zip,code,none,text\n"
        "1,99999999999999999999,0.5,0.1234567890123456789,TRUE,2024-02-29,2024-01-05 10:00,"
        "2024-01-05T10:00:00Z,0131,A3,,\n"
        ' -2 ,5,1e3,2, false , 2024-01-31 ,2024-01-05T10:00:01.5,2024-01-05 10:00:00+02:00,131,12,,""\n'
        '"",,NaN,,"",,2024-01-06,,," 7 ",, k \n',
    )
    table = read_table(spark, file)
    assert [type for _, type in table.frame.dtypes] == [
        *("bigint", "decimal(38,0)", "double", "decimal(38,19)", "boolean", "date"),
        *("timestamp_ntz", "timestamp", "string", "string", "string", "string"),
    ]
    assert table.notes == ("column 'code' mixes numbers and text ('7', 'A3'); kept as text",)
    first, second, third = table.frame.drop("when").collect()
    assert tuple(first) == (
        *(1, Decimal("99999999999999999999"), 0.5, Decimal("0.1234567890123456789"), True, date(2024, 2, 29)),
        *(datetime(2024, 1, 5, 10), "0131", "A3", None, None),
    )
    assert tuple(second) == (
        *(-2, Decimal(5), 1000.0, Decimal(2), False, date(2024, 1, 31)),
        *(datetime(2024, 1, 5, 10, 0, 1, 500000), "131", "12", None, ""),
    )
    assert third["id"] is None
    assert third["flag"] is None
    assert third["x"] != third["x"]
    assert (third["code"], third["text"]) == (" 7 ", " k ")
    instants = [row[0] for row in table.frame.selectExpr("unix_seconds(`when`)").collect()]
    assert instants == [
        int(datetime(2024, 1, 5, 10, tzinfo=UTC).timestamp()),
        int(datetime(2024, 1, 5, 8, tzinfo=UTC).timestamp()),
        None,
    ]


def test_null_values_are_null_also_where_they_would_cast(spark: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "n.csv", "a,b,c\n-999,NA,it's\n5 ,x,?\n-999 ,NA ,y\n")
    table = read_table(spark, file, ReadOptions(null_values=("NA", "-999", "?", "it's")))
    assert table.frame.dtypes == [("a", "bigint"), ("b", "string"), ("c", "string")]
    assert [tuple(row) for row in table.frame.collect()] == [(None, None, None), (5, "x", None), (None, "NA ", "y")]


def test_names_of_any_characters_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    names = ["a.b", "we ird", "`tick`", 'say "x"', "é", "_corrupt_record", "c0", "_c6", "new\nline"]
    header = '\ufeffa.b,we ird,`tick`,"say ""x""",é,_corrupt_record,c0,,"new\nline"\n'
    table = read_table(spark, write(tmp_path / "names.csv", header + "1,2,3,4,5,6,7,8,9\n"))
    names[7] = "_c7"
    assert table.frame.columns == names
    assert [tuple(row) for row in table.frame.collect()] == [tuple(range(1, 10))]
    assert any("column 8 has no name" in note for note in table.notes)
    as_json = read_table(
        spark, write(tmp_path / "names.json", '{"a.b":"1","x y`":"2"}\n'), ReadOptions(types={"a.b": "int"})
    )
    assert [tuple(row) for row in as_json.frame.collect()] == [(1, "2")]


def test_delimiters_line_breaks_and_encodings(spark: SparkSession, tmp_path: Path) -> None:
    semicolons = read_table(spark, write(tmp_path / "s.csv", "a;b\r\n1,5;2\r\n"))
    assert [tuple(row) for row in semicolons.frame.collect()] == [("1,5", 2)]
    assert semicolons.notes == ("s.csv: fields are separated by ';'",)
    assert rows(spark, write(tmp_path / "t.tsv", "a\tb\n1\t2\n")) == [(1, 2)]
    assert rows(spark, write(tmp_path / "p.csv", "a b|c\n1|2\n"), delimiter="|") == [(1, 2)]
    breaks = read_table(spark, write(tmp_path / "m.csv", 'a,b\n1,"x\n2,y"\n3,z\n'))
    assert [tuple(row) for row in breaks.frame.collect()] == [(1, "x\n2,y"), (3, "z")]
    assert any("line breaks" in note for note in breaks.notes)
    assert rows(spark, write(tmp_path / "one.csv", 'a\n"x\ny"\nz\n')) == [("x\ny",), ("z",)]
    latin = write(tmp_path / "l.csv", "a,b\n1,café\n".encode("latin1"))
    assert rows(spark, latin, encoding="latin1") == [(1, "café")]
    wide = write(tmp_path / "u.csv", "a,b\n1,café\n".encode("utf-16"))
    assert rows(spark, wide, encoding="utf-16") == [(1, "café")]


def test_a_header_alone_is_an_empty_table_of_text(spark: SparkSession, tmp_path: Path) -> None:
    table = read_table(spark, write(tmp_path / "h.csv", "a,b\n"))
    assert table.frame.dtypes == [("a", "string"), ("b", "string")]
    assert table.frame.collect() == []


@pytest.mark.parametrize("name", ["sp ace é.csv", "st*r [1]{a,b}?.csv", "p%20q,r.csv", "back\\slash.csv"])
def test_a_path_that_exists_is_read_literally(spark: SparkSession, tmp_path: Path, name: str) -> None:
    assert rows(spark, write(tmp_path / "[d]" / name, "a,b\n1,2\n")) == [(1, 2)]


def test_folders_patterns_and_packed_files(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    write(folder / "a.csv", "a,b\n1,2\n")
    write(folder / "b.csv.gz", gzip.compress(b"a,b\n3,4\n"))
    write(folder / "c.CSV.bz2", bz2.compress(b"a,b\n5,6\n"))
    write(folder / "d.csv", "")
    write(folder / "_SUCCESS", "")
    write(folder / "README.md", "not data")
    table = read_table(spark, str(folder))
    assert sorted(tuple(row) for row in table.frame.collect()) == [(1, 2), (3, 4), (5, 6)]
    assert table.notes == ("many: files of other kinds are left out (README.md)",)
    assert rows(spark, folder / "*.csv") == [(1, 2)]
    # What only Spark sees is listed and sampled through Spark.
    assert rows(spark, f"file:{folder}") == [(1, 2), (3, 4), (5, 6)]
    assert rows(spark, write(tmp_path / "x.txt", "a,b\n1,2\n"), input_format="csv") == [(1, 2)]


def test_parquet_orc_and_json(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "x"), (2, None)], ["id", "t x"])
    for format in ("parquet", "orc", "json"):
        frame.coalesce(1).write.format(format).save(str(tmp_path / f"f.{format}"))
        table = read_table(spark, tmp_path / f"f.{format}")
        assert sorted(tuple(row) for row in table.frame.select("id", "`t x`").collect()) == [(1, "x"), (2, None)]
    nested = read_table(spark, write(tmp_path / "n.jsonl", '{"a":1,"n":{"x":[1]}}\n{"a":2}\n'))
    assert nested.frame.dtypes == [("a", "bigint"), ("n", "struct<x:array<bigint>>")]
    assert rows(spark, write(tmp_path / "one.json", '[\n{"a":1},\n{"a":2}]'), multiline=True) == [(1,), (2,)]
    for zip_code in ("0131", "0200"):
        frame.coalesce(1).write.parquet(str(tmp_path / "hive" / f"zip={zip_code}"))
    assert {row[0] for row in read_table(spark, tmp_path / "hive").frame.select("zip").collect()} == {"0131", "0200"}
    frame.coalesce(1).write.parquet(str(tmp_path / "grown" / "v=1"))
    frame.coalesce(1).selectExpr("*", "id + 1 AS more").write.parquet(str(tmp_path / "grown" / "v=2"))
    assert "more" in read_table(spark, tmp_path / "grown").frame.columns


def test_types_override_what_the_source_says(spark: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "o.csv", "a,b,c,d\n007,1.50,yes,2024-01-05\n")
    types = {"a": "int", "b": "decimal(5,1)", "c": "boolean", "d": "text"}
    assert rows(spark, file, types=types) == [(7, Decimal("1.5"), True, "2024-01-05")]
    json = write(tmp_path / "o.json", '{"a":"007","b":2.0,"c":1}\n{"a":null,"b":null,"c":null}\n')
    typed = rows(spark, json, types={"a": "int", "b": "bigint", "c": "text"})
    assert typed == [(7, 2, "1"), (None, None, None)]


def test_spark_tables_and_jdbc(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).createOrReplaceTempView("my_view")
    table = read_table(spark, "spark:`my_view`")
    assert (table.name, table.frame.count()) == ("spark:`my_view`", 3)
    spark.catalog.dropTempView("my_view")
    spark.range(3).write.jdbc("jdbc:derby:memory:sources;create=true", "numbers")
    assert rows(spark, "jdbc:derby:memory:sources#numbers") == [(0,), (1,), (2,)]
    database = read_table(spark, "jdbc:derby:memory:sources;password=secret;dbtable=numbers")
    assert database.frame.count() == 3
    assert database.name == "jdbc:derby:memory:sources#numbers"


def test_checks_stay_out_of_one_big_method_and_filters_out_of_the_parser(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = read_table(spark, write(tmp_path / "p.csv", "a,b\n1,x\n"))
    # A filter that reached the parser would let it drop ragged rows before they are counted.
    table.frame.where("b = 'x' AND a > 0").explain()
    plan = capsys.readouterr().out
    assert "PushedFilters: []" in plan
    assert "Project [CASE" in plan
    assert ") Project [CASE" not in plan


def test_other_failures_are_not_blamed_on_the_source(spark: SparkSession, tmp_path: Path) -> None:
    table = read_table(spark, write(tmp_path / "ok.csv", "a\n1\n"))
    assert explain_failure(ValueError("something else"), table) is None


def test_a_table_knows_where_its_files_lie(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one.csv", "many/a.csv", "many/b.csv"):
        write(tmp_path / "in" / name, "a\n1\n")
    monkeypatch.chdir(tmp_path)
    assert read_table(spark, "in/one.csv").place == "in/one.csv"
    assert read_table(spark, "in/../in/many").place == "in/many"
    assert read_table(spark, tmp_path / "in" / "one.csv").place == "in/one.csv"
    assert read_table(spark, "in/many/*.csv").place == "in/many"
    monkeypatch.chdir(tmp_path / "in" / "many")
    assert read_table(spark, "../one.csv").place is None
    assert read_table(spark, "*.csv").place is None
    assert Table(spark.range(1), "DataFrame").place is None
