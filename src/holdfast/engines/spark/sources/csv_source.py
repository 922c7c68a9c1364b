"""CSV files: Spark's parser reads text, and our checked casts give it types."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from holdfast.engines.spark.sources.checked_cast import checked_cast, checked_text
from holdfast.engines.spark.sources.data_files import DataFiles, escape_glob
from holdfast.engines.spark.sources.table import Table, complaint_token
from holdfast.errors import OptionError, SourceError, closest_hint, unknown_column
from holdfast.tables.csv_sample import CsvSample, not_utf8, sample_files, sample_lines
from holdfast.tables.csv_types import CsvType, infer, parse_type
from holdfast.tables.read_options import CsvLayout, Origin, ReadOptions

# With nullValue "", the default, Spark reads both a missing field and a quoted empty one as null. With a text that
# never occurs, only a missing field is null.
_NEVER_A_VALUE = "\x00null\x00"
_REMOTE_SAMPLE_ROWS = 2000
_REMOTE_SAMPLE_FILES = 3

_CHARSETS = {  # by Python's name; what Spark 4 takes
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "iso8859-1": "ISO-8859-1",
    "ascii": "US-ASCII",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
}


def read_csv(spark: SparkSession, files: DataFiles, options: ReadOptions) -> Table:
    """Returns the table of CSV files with one header; it has types, and is checked when it is read.

    Does not scan. A value that does not fit the type of its column, a row with too few or too many fields, and bytes
    that are not UTF-8 raise when the rows are read; explain_failure() says where.
    """
    charset = None if options.encoding is None else _charset(spark, options.encoding)
    encoding = None if options.encoding is None else codecs.lookup(options.encoding).name
    delimiter = _delimiter(options.delimiter) or ("\t" if files.tabs else None)
    if files.local:
        sample = sample_files(files.local, delimiter=delimiter, encoding=encoding, limits=options.sample)
    else:
        sample = _remote_sample(spark, files, delimiter, charset)
    if sample is None:
        raise SourceError(f"{files.name} is empty: it has no header.", hint="the first line names the columns.")

    names, notes = _names(sample.header, files.name)
    _refuse_duplicates(spark, names, files.name)
    if delimiter is None and sample.delimiter != ",":
        shown = {"\t": "tabs"}.get(sample.delimiter, f"'{sample.delimiter}'")
        notes.append(f"{files.name}: fields are separated by {shown}")
    types, type_notes = _types(names, sample, options, files.name)
    notes += type_notes

    wide = charset is not None and charset.startswith(("UTF-16", "UTF-32"))
    multiline = (sample.quoted_breaks or wide) if options.multiline is None else options.multiline
    if multiline and options.multiline is None and (len(names) > 1 or wide):
        why = f"it is {charset}" if wide else "quoted values hold line breaks"
        notes.append(f"{files.name}: {why}; each file is read by one task")
    layout = CsvLayout(sample.delimiter, encoding or "utf-8", multiline)

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
    origin = Origin("csv", columns=names, types=tuple(types), local=files.local, remote=files.remote, layout=layout)
    return Table(frame, files.name, tuple(notes), origin)


def column_types(types: Mapping[str, str], columns: Sequence[str], table: str) -> dict[str, CsvType]:
    """Returns the types of the option `--types`, by column. Raises UnknownColumnError for an unknown column."""
    for column in types:
        if column not in columns:
            raise unknown_column(f"--types names the column '{column}'", column, table, columns)
    return {column: parse_type(name, column=column) for column, name in types.items()}


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


def _names(header: tuple[str, ...], table: str) -> tuple[tuple[str, ...], list[str]]:
    names = tuple(name if name.strip() else f"_c{i}" for i, name in enumerate(header))
    notes = [
        f"{table}: column {i + 1} has no name in the header; it is called '{names[i]}'"
        for i, name in enumerate(header)
        if not name.strip()
    ]
    return names, notes


def _refuse_duplicates(spark: SparkSession, names: tuple[str, ...], table: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = {name: [str(i) for i, other in enumerate(names, start=1) if other == name] for name in twice}
        listed = ", ".join(f"'{name}' (columns {', '.join(at)})" for name, at in places.items())
        raise SourceError(
            f"{table} has columns of the same name: {listed}.", hint="give every column its own name in the header."
        )
    if str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true":
        return
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.lower(), name)
        if other != name:
            raise SourceError(
                f"{table} has columns whose names differ only in upper and lower case: '{other}' and '{name}'.",
                hint="rename one, or run with --conf spark.sql.caseSensitive=true.",
            )


def _types(
    names: tuple[str, ...], sample: CsvSample, options: ReadOptions, table: str
) -> tuple[list[CsvType], list[str]]:
    given = column_types(options.types, names, table)
    types: list[CsvType] = []
    notes: list[str] = []
    for position, name in enumerate(names):
        if name in given:
            types.append(given[name])
            continue
        inferred = infer((row[position] for row in sample.rows), options.null_values)
        types.append(inferred.type)
        if inferred.reason is not None:
            notes.append(f"column '{name}' {inferred.reason}; kept as text")
    return types, notes


def _delimiter(option: str | None) -> str | None:
    if option is None:
        return None
    delimiter = {"\\t": "\t", "tab": "\t"}.get(option, option)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise OptionError(
            f"--delimiter '{option}' is not one character that can stand between fields.",
            hint="give one character, such as ';', or 'tab'.",
        )
    return delimiter


def _charset(spark: SparkSession, encoding: str) -> str:
    try:
        python_name = codecs.lookup(encoding).name
    except LookupError:
        python_name = ""
    if python_name in _CHARSETS:
        return _CHARSETS[python_name]
    if python_name and str(spark.conf.get("spark.sql.legacy.javaCharsets", "false")).lower() == "true":
        return encoding
    known = ["utf-8", "latin1", "ascii", "utf-16", "utf-16le", "utf-16be", "utf-32"]
    more = f" Spark reads '{encoding}' only with --conf spark.sql.legacy.javaCharsets=true." if python_name else ""
    raise OptionError(
        f"--encoding '{encoding}' is not one that Spark reads.",
        hint=closest_hint(encoding, known, what="Encodings") + more,
    )
