"""Files become tables in this process; pyspark and pandas stay unimported."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import holdfast
from holdfast.errors import OptionError, SourceError, SourceNotFoundError
from holdfast.tables import csv_file, json_files
from holdfast.tables.read_local import bytes_on_disk, read_local
from holdfast.tables.read_options import CsvSampleLimits, ReadOptions


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_reading_imports_neither_pyspark_nor_pandas(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "id,zip,x,day,at,flag\n1,0131,+1.5,2024-01-05, 2024-01-05 10:00 ,true\n2,,NA,,,\n")
    write(tmp_path / "t.json", '{"a":1,"b":"x"}\n')
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "t.parquet")
    program = (
        "import sys\n"
        "from holdfast.tables.read_local import ReadOptions, read_local\n"
        "read_local('t.csv', ReadOptions(null_values=('NA',)))\n"
        "read_local('t.json')\n"
        "read_local('t.parquet')\n"
        "print([m for m in ('pyspark', 'py4j', 'pandas') if m in sys.modules])\n"
    )
    here = {**os.environ, "PYTHONPATH": str(Path(holdfast.__file__).parent.parent)}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_types_have_the_names_that_spark_gives_them(tmp_path: Path) -> None:
    table = pa.table(
        {
            "i8": pa.array([1], pa.int8()),
            "u32": pa.array([1], pa.uint32()),
            "u64": pa.array([1], pa.uint64()),
            "large": pa.array(["x"], pa.large_string()),
            "at": pa.array([datetime(2024, 1, 5)], pa.timestamp("ns")),
            "list": pa.array([[1]], pa.list_(pa.int32())),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_local(tmp_path / "t.parquet").sql_types == {
        "i8": "tinyint",
        "u32": "bigint",
        "u64": "decimal(20,0)",
        "large": "string",
        "at": "timestamp_ntz",
        "list": "array<int>",
    }


def test_text_with_few_values_stays_in_dictionaries(tmp_path: Path) -> None:
    few, many = ["a", "b"] * 5000, [f"text number {i}" for i in range(10_000)]
    pq.write_table(pa.table({"few": few, "many": many}), tmp_path / "t.parquet", row_group_size=4000)
    rows = read_local(tmp_path / "t.parquet").rows
    assert rows.schema.types == [pa.dictionary(pa.int32(), pa.string()), pa.string()]
    assert rows.column("few").cast(pa.string()).to_pylist() == few


def test_columns_that_are_not_needed_are_not_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "t.parquet")
    assert read_local(tmp_path / "t.parquet", columns=["b"]).rows.column_names == ["b"]
    assert read_local(tmp_path / "t.parquet", columns=[]).rows.num_rows == 1


def test_rows_are_in_the_order_of_the_paths(tmp_path: Path) -> None:
    for number, name in enumerate(["a b.csv", "a!.csv", "a.csv", "b.csv"]):
        write(tmp_path / name, f"n\n{number}\n")
    # To Spark a blank in a path is %20, which comes after '!' and before '.'.
    assert read_local(tmp_path).rows.column("n").to_pylist() == [1, 0, 2, 3]


def test_a_long_file_is_cut_alike_by_arrow_and_by_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'{i},"say ""{i}""",{i}.5,2024-01-05\n' if i % 3 else f",,{i}e2,\n" for i in range(40_000)]
    file = write(tmp_path / "long.csv", "n,t,x,d\n" + "".join(lines))
    fast = read_local(file).rows
    monkeypatch.setattr(csv_file, "_is_regular", lambda *_: False)
    assert read_local(file).rows.to_pylist() == fast.to_pylist()
    assert fast.num_rows == 40_000
    assert fast.slice(39_999, 1).to_pylist() == [{"n": None, "t": None, "x": 3999900.0, "d": None}]


def test_a_row_longer_than_a_block_is_read(tmp_path: Path) -> None:
    text = "x" * 3_000_000
    assert read_local(write(tmp_path / "t.csv", f"a,b\n1,{text}\n2,y\n")).rows.column("b").to_pylist() == [text, "y"]


def test_the_first_bad_value_is_the_one_that_is_named(tmp_path: Path) -> None:
    sample = CsvSampleLimits(head_bytes=256, block_bytes=256, blocks=1)
    lines = [f"{i},{i}.5\n" for i in range(300_000)]
    lines[200_000] = "5,late\n"
    lines[100_000] = "early,1.5\n"
    with pytest.raises(SourceError) as caught:
        read_local(write(tmp_path / "t.csv", "n,x\n" + "".join(lines)), ReadOptions(sample=sample))
    assert caught.value.message.startswith("t.csv, row 100001 (line 100002), column 'n': 'early' is not a whole number")
    assert caught.value.hint == "--types n=text reads the column so that it fits."


def test_json_is_read_alike_by_arrow_and_by_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = '{"b": %d, "a": "2024-01-05", "n": {"y": 1.5, "x": [1, 2]}, "e": null}\n'
    file = write(tmp_path / "t.json", "".join(line % i for i in range(100)))
    slow = read_local(file).rows
    monkeypatch.setattr(json_files, "_ARROW_FROM", 0)
    assert read_local(file).rows.equals(slow)
    assert read_local(file).sql_types == {
        "a": "string",
        "b": "bigint",
        "e": "string",
        "n": "struct<x:array<bigint>,y:double>",
    }


def test_arrow_files_are_read(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    pa.feather.write_feather(table, tmp_path / "t.feather")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    with pa.ipc.new_stream(tmp_path / "s.arrow", table.schema) as stream:
        stream.write_table(table)
    for name in ("t.feather", "t.arrow", "s.arrow"):
        assert read_local(tmp_path / name).rows.equals(table), name
    (tmp_path / "junk.arrow").write_bytes(b"nonsense, nonsense")
    with pytest.raises(SourceError, match="not an Arrow file"):
        read_local(tmp_path / "junk.arrow")


def test_excel_sheets_are_read(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "x", "t", "d", "m"], [1, 1.5, "a", date(2024, 1, 5), 1], [2, 2, None, None, "z"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_local(tmp_path / "t.xlsx")
    assert table.sql_types == {"id": "bigint", "x": "double", "t": "string", "d": "date", "m": "string"}
    assert table.rows.to_pylist()[1] == {"id": 2, "x": 2.0, "t": None, "d": None, "m": "z"}
    assert table.notes == ("column 'm' mixes values of several types; kept as text",)


def test_what_only_spark_reads_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    for data in ("spark:db.t", "jdbc:derby:x#t", "s3://bucket/t.csv", str(tmp_path / "delta")):
        with pytest.raises(OptionError, match="by Spark only"):
            read_local(data)
        assert bytes_on_disk(data) is None


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.csv", "a\n1\n")
    write(tmp_path / "d" / "b.csv", "a\n22\n")
    write(tmp_path / "d" / "README.md", "not data")
    assert bytes_on_disk(tmp_path / "d") == 9
    assert bytes_on_disk(tmp_path / "d" / "*.csv") == 9
    assert bytes_on_disk(f"file:{tmp_path}/d") == 9
    assert read_local(f"file://{tmp_path}/d").name == "d"
    assert bytes_on_disk(tmp_path / "nothing.csv") is None
    with pytest.raises(SourceNotFoundError):
        read_local(tmp_path / "nothing.csv")


def test_a_table_knows_where_its_files_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in" / "one.csv", "a\n1\n")
    monkeypatch.chdir(tmp_path)
    assert read_local("in/one.csv").place == "in/one.csv"
    monkeypatch.chdir(tmp_path / "in")
    assert read_local("one.csv").place is not None


def test_a_name_too_long_for_any_file_is_the_name_of_none() -> None:
    with pytest.raises(SourceNotFoundError, match="There is no file or folder"):
        read_local("x" * 5000 + ".csv")
    with pytest.raises(SourceNotFoundError, match="There is no file or folder"):
        read_local("x" * 5000 + "/a.csv")
