"""CSV files: Spark's parser reads text, and our checked casts give it types."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from holdfast.engines.spark.kept import setting_of
from holdfast.engines.spark.sources.checked_cast import checked_cast, checked_text
from holdfast.engines.spark.sources.table import Table, complaint_token
from holdfast.tables.csv_plan import csv_charset, csv_delimiter, plan_csv, python_encoding
from holdfast.tables.csv_sample import CsvSample, not_utf8, sample_files, sample_lines
from holdfast.tables.csv_types import CsvType
from holdfast.tables.data_files import DataFiles, escape_glob
from holdfast.tables.read_options import CsvLayout, Origin, ReadOptions

# With nullValue "", the default, Spark reads both a missing field and a quoted empty one as null. With a text that
# never occurs, only a missing field is null.
_NEVER_A_VALUE = "\x00null\x00"
_REMOTE_SAMPLE_ROWS = 2000
_REMOTE_SAMPLE_FILES = 3


def read_csv(spark: SparkSession, files: DataFiles, options: ReadOptions) -> Table:
    """Returns the table of CSV files with one header; it has types, and is checked when it is read.

    Does not scan. A value that does not fit the type of its column, a row with too few or too many fields, and bytes
    that are not UTF-8 raise when the rows are read; explain_failure() says where.
    """
    charset = csv_charset(options.encoding, java_charsets=_is_set(spark, "spark.sql.legacy.javaCharsets"))
    encoding = python_encoding(options)
    delimiter = csv_delimiter(files, options)
    if files.local:
        sample = sample_files(files.local, delimiter=delimiter, encoding=encoding, limits=options.sample)
    else:
        sample = _remote_sample(spark, files, delimiter, charset)
    case_sensitive = _is_set(spark, "spark.sql.caseSensitive")
    plan = plan_csv(sample, files, options, charset=charset, case_sensitive=case_sensitive)
    names, types, layout = plan.names, plan.types, plan.layout

    raw = _raw(spark, files, names, layout, charset)
    token = complaint_token(files.name)
    nulls = options.null_values

    def typed(position: int, type: CsvType) -> Column:
        if type.kind != "text":
            return checked_cast(f"c{position}", type, token=token, position=position, null_values=nulls)
        return checked_text(
            f"c{position}", token=token, position=position, check_bytes=encoding is None, null_values=nulls
        )

    # Aliases by position: the user's names, whatever their characters, come last and all at once.
    frame = raw.select(*(typed(i, type).alias(f"c{i}") for i, type in enumerate(types))).toDF(*names)
    origin = Origin("csv", columns=names, types=types, local=files.local, remote=files.remote, layout=layout)
    return Table(frame, files.name, plan.notes, origin)


def _raw(
    spark: SparkSession, files: DataFiles, names: tuple[str, ...], layout: CsvLayout, charset: str | None
) -> DataFrame:
    """Returns all columns as text, named c0, c1, …, with options under which Spark skips no row and no check."""
    # With names by position, no column has a special meaning for Spark (_corrupt_record), and case does not matter.
    # Spark compares headers, by real names, only where this process cannot.
    by_name = not files.local and len(files.remote) > 1
    columns = names if by_name else tuple(f"c{i}" for i in range(len(names)))
    reader = (
        spark.read.format("csv")
        .schema(StructType([StructField(column, StringType()) for column in columns]))
        .options(
            header=True,
            sep=layout.delimiter,
            quote='"',
            escape='"',
            mode="FAILFAST",
            columnPruning=False,  # pruned rows are not counted field by field, so ragged ones would pass
            enforceSchema=not by_name,
            multiLine=layout.multiline,
            nullValue=_NEVER_A_VALUE,
            emptyValue="",
            maxColumns=max(20480, len(names) + 1),
        )
    )
    if charset is not None:
        reader = reader.option("encoding", charset)
    if files.name_filter is not None:
        reader = reader.option("pathGlobFilter", files.name_filter)
    return reader.load(list(files.load)).toDF(*(f"c{i}" for i in range(len(names))))


def _remote_sample(
    spark: SparkSession, files: DataFiles, delimiter: str | None, charset: str | None
) -> CsvSample | None:
    """Returns the header of the first file and the first rows of a few files, read by Spark."""
    picked = sorted({0, len(files.remote) // 2, len(files.remote) - 1})[:_REMOTE_SAMPLE_FILES]
    joined: CsvSample | None = None
    for position in picked:
        # With a separator that does not occur and without quotes each line is one field, in the right encoding.
        reader = spark.read.options(sep="\x01", quote="", header=False, nullValue=_NEVER_A_VALUE)
        if charset is not None:
            reader = reader.options(encoding=charset, multiLine=charset.startswith(("UTF-16", "UTF-32")))
        lines_frame = reader.schema("line string").csv(escape_glob(files.remote[position]))
        lines = [row[0] or "" for row in lines_frame.limit(_REMOTE_SAMPLE_ROWS).collect()]
        if charset is None and any("\ufffd" in line for line in lines):
            raise not_utf8(files.name, None)
        sample = sample_lines(lines, delimiter=delimiter, complete=len(lines) < _REMOTE_SAMPLE_ROWS)
        if sample is None:
            continue
        if joined is None:
            joined, delimiter = sample, sample.delimiter
        elif sample.header == joined.header:
            breaks = joined.quoted_breaks or sample.quoted_breaks
            joined = replace(joined, rows=joined.rows + sample.rows, quoted_breaks=breaks)
    if joined is not None and len(joined.header) == 1:
        return replace(joined, quoted_breaks=True)
    return joined


def _is_set(spark: SparkSession, setting: str) -> bool:
    return setting_of(spark, setting, "false").lower() == "true"
