"""Reads DATA as a table: files and folders, Delta tables, tables that Spark knows, databases.

Types come from a sample of a CSV file or from the source itself; `types` overrides both. No value becomes null because
it does not fit: it raises when the rows are read, and explain_failure() says where.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import replace
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from holdfast.engines.spark.sources.checked_cast import checked_cast, checked_conversion
from holdfast.engines.spark.sources.csv_source import read_csv
from holdfast.engines.spark.sources.data_files import find_files, root_cause
from holdfast.engines.spark.sources.delta_table import open_delta
from holdfast.engines.spark.sources.explain_failure import explain, explain_failure
from holdfast.engines.spark.sources.table import Table, complaint_token
from holdfast.errors import HoldfastError, OptionError, SourceError, SourceNotFoundError, closest_hint
from holdfast.tables.csv_plan import column_types, csv_charset
from holdfast.tables.csv_types import CsvType
from holdfast.tables.data_files import SPARK_TABLE, DataFiles, is_delta, is_iceberg, is_spark_table
from holdfast.tables.partition_values import text_partitions
from holdfast.tables.read_options import Origin, ReadOptions
from holdfast.tables.source_failures import (
    ambiguous_columns,
    different_types,
    impossible_types,
    no_columns,
    refuse_csv_options,
    refuse_empty_file,
    unreadable_file,
)

__all__ = ["ReadOptions", "Table", "explain_failure", "read_table"]

_NO_OPTIONS = ReadOptions()


def read_table(spark: SparkSession, data: str | os.PathLike[str], options: ReadOptions = _NO_OPTIONS) -> Table:
    """Returns the table of a file, a folder, a Delta table, `spark:db.table` or a JDBC URL, without a scan.

    Columns keep their names, with all characters. Raises SourceNotFoundError and SourceError for problems that show
    without a scan; others raise during the scan, see explain_failure().
    """
    name = os.fspath(data)
    if is_spark_table(name):
        return _read_spark_table(spark, name, options)
    if name.startswith("jdbc:"):
        return _read_jdbc(spark, name, options)
    if options.input_format is None and is_iceberg(name):
        raise SourceError(
            f"{name} is an Iceberg table of a catalog of pyiceberg, which is read in this process and not by Spark.",
            hint="--engine local reads it; of a catalog that Spark has, name it spark:catalog.db.table.",
        )
    if options.input_format is None and is_delta(name):
        return _read_delta(spark, name, options)
    files = find_files(spark, name, options.input_format)
    if files.format != "csv":
        return _read_other_files(spark, files, options)
    try:
        table = read_csv(spark, files, options)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable_file(files.name, error) from None
    return Table(table.frame, table.name, files.notes + table.notes, table.origin)


def _read_other_files(spark: SparkSession, files: DataFiles, options: ReadOptions) -> Table:
    refuse_csv_options(options, files.name, files.format)
    refuse_empty_file(files)
    origin = Origin(files.format, local=files.local, remote=files.remote)
    reader = spark.read.format(files.format)
    if files.format == "parquet" and spark.version.startswith("3."):
        # Days before 1582 are those of the file, as they are to Spark 4 and to all others; Spark 3.5 refuses them.
        for option in ("datetimeRebaseMode", "int96RebaseMode"):
            if spark.conf.get(f"spark.sql.parquet.{option}InRead", "EXCEPTION") == "EXCEPTION":
                reader = reader.option(option, "CORRECTED")
    if files.name_filter is not None:
        reader = reader.option("pathGlobFilter", files.name_filter)
    if files.format == "json":
        reader = reader.options(mode="FAILFAST", multiLine=bool(options.multiline))
        if options.encoding is not None:
            charset = csv_charset(options.encoding)
            reader = reader.option("encoding", charset)
            if charset != "UTF-8" and not options.multiline:
                reader = reader.option("lineSep", "\n")  # Spark wants it named; a return before it is a blank to JSON
    elif len(files.local) + len(files.remote) > 1:
        # Otherwise Spark takes the columns of one file for all, and drops other columns without a message.
        reader = reader.option("mergeSchema", True)
    try:
        frame = reader.load(list(files.load))
        schema = _partitions_as_text(frame, files)
        if schema is not None:
            frame = reader.schema(schema).load(list(files.load))
    except Exception as error:
        raise _opening_failed(error, files.name, origin) from None
    return _with_types(frame, files.name, options, origin, files.notes)


def _partitions_as_text(frame: DataFrame, files: DataFiles) -> StructType | None:
    """Returns the schema with partition columns as text where values have leading zeros; None when none have.

    Spark reads the folder `zip=0131` as the number 131.
    """
    zero_led = text_partitions(files.local)
    fields = frame.schema.fields
    if not any(field.name in zero_led and not isinstance(field.dataType, StringType) for field in fields):
        return None
    return StructType([StructField(f.name, StringType() if f.name in zero_led else f.dataType) for f in fields])


def _read_spark_table(spark: SparkSession, name: str, options: ReadOptions) -> Table:
    identifier = name.removeprefix(SPARK_TABLE)
    if not identifier.strip():
        raise OptionError("'spark:' names no table.", hint="write spark:table or spark:database.table.")
    try:
        frame = spark.table(identifier)
        frame.schema  # noqa: B018  with Connect this looks up the name
    except Exception as error:
        text = str(error)
        if "TABLE_OR_VIEW_NOT_FOUND" in text or "SCHEMA_NOT_FOUND" in text:
            raise SourceNotFoundError(
                f"Spark knows no table {identifier}.", hint=_known_tables(spark, identifier)
            ) from None
        if "PARSE_SYNTAX_ERROR" in text or "INVALID_IDENTIFIER" in text or "ParseException" in type(error).__name__:
            raise OptionError(
                f"'{identifier}' is not a table's name as Spark SQL writes it.",
                hint="put names with other characters in backticks: spark:`my db`.`my table`.",
            ) from None
        raise SourceError(f"Spark cannot open the table {identifier}: {root_cause(text)}.") from None
    return _with_types(frame, name, options, Origin("table"), ())


def _known_tables(spark: SparkSession, identifier: str) -> str | None:
    database, _, table = identifier.rpartition(".")
    try:
        known = [t.name for t in spark.catalog.listTables(database.replace("`", "") or None)]
    except Exception:
        known = [d.name for d in spark.catalog.listDatabases()]
        return closest_hint(database, known, what="Databases")
    where = f"Tables of {database}" if database else "Tables"
    return closest_hint(table, known, what=where)


def _read_delta(spark: SparkSession, name: str, options: ReadOptions) -> Table:
    table = open_delta(name)
    refuse_csv_options(options, table.name, "a Delta table")
    origin = Origin("delta", feed={table.feed: table.version})
    notes = (f"{table.name} is read as of version {table.version} of the Delta table",)
    return _with_types(table.rows(spark), table.name, options, origin, notes)


def _read_jdbc(spark: SparkSession, data: str, options: ReadOptions) -> Table:
    url, table = _split_jdbc(data)
    name = f"{_without_parameters(url)}#{table}"
    origin = Origin("jdbc")
    try:
        frame = spark.read.format("jdbc").options(url=url, dbtable=table).load()
        frame.schema  # noqa: B018  with Connect this connects
    except Exception as error:
        raise _opening_failed(error, name, origin) from None
    return _with_types(frame, name, options, origin, ())


def _split_jdbc(data: str) -> tuple[str, str]:
    """Returns the URL to connect to, and the table, which is given after '#' or as the parameter dbtable.

    >>> _split_jdbc("jdbc:postgresql://h/db?user=u&dbtable=s.t&ssl=true")
    ('jdbc:postgresql://h/db?user=u&ssl=true', 's.t')
    """
    url, hash_mark, table = data.partition("#")
    if not hash_mark and (match := re.search(r"(?<=[?&;])dbtable=([^&;]*)[&;]?", url)):
        table = match[1]
        url = (url[: match.start()] + url[match.end() :]).rstrip("?&;")
    table = unquote(table)
    if not table.strip():
        raise OptionError(
            f"The JDBC URL {_without_parameters(url)} names no table.",
            hint="add it as a parameter, …?dbtable=schema.table, or at the end: …#schema.table.",
        )
    return url, table


def _without_parameters(url: str) -> str:
    """Returns the URL without parts that may be secret: parameters, and user and password before the host."""
    return re.sub(r"//[^/@]*@", "//", re.split(r"[?;]", url, maxsplit=1)[0])


def _opening_failed(error: Exception, name: str, origin: Origin) -> HoldfastError:
    if isinstance(error, HoldfastError):
        return error
    explained = explain(error, name, origin)
    if explained is not None:
        return explained
    text = str(error)
    if "PATH_NOT_FOUND" in text:
        return SourceNotFoundError(
            f"Spark does not see {name}, though this process does.",
            hint="on a cluster or behind Spark Connect, data must be where Spark's own machines see it.",
        )
    if "COLUMN_ALREADY_EXISTS" in text:
        column = re.search(r"column `(.*?)` already exists", text)
        return ambiguous_columns(name, column[1] if column else None)
    if "CANNOT_MERGE_SCHEMA" in text or "Failed to merge" in text:
        return different_types(name, root_cause(text))
    if "UNABLE_TO_INFER_SCHEMA" in text:
        return no_columns(name)
    return SourceError(f"{name} cannot be read as {origin.kind}: {root_cause(text)}.")


def _with_types(frame: DataFrame, name: str, options: ReadOptions, origin: Origin, notes: tuple[str, ...]) -> Table:
    """Returns the table with checked casts for the columns in `types`; other columns stay as they are."""
    given = column_types(options.types, frame.columns, name)
    if not given:
        return Table(frame, name, notes, origin)
    names = tuple(frame.columns)
    sources = [field.dataType.simpleString() for field in frame.schema.fields]
    plain = frame.toDF(*(f"c{i}" for i in range(len(names))))
    token = complaint_token(name)
    columns = []
    types: list[CsvType | None] = []
    for i, (column, source) in enumerate(zip(names, sources, strict=True)):
        type = given.get(column)
        types.append(type)
        if type is None:
            columns.append(F.col(f"c{i}"))
        elif source == "string" and type.kind != "text":
            columns.append(checked_cast(f"c{i}", type, token=token, position=i).alias(f"c{i}"))
        else:
            columns.append(checked_conversion(f"c{i}", source, type, token=token, position=i).alias(f"c{i}"))
    try:
        typed = plain.select(*columns).toDF(*names)
        typed.schema  # noqa: B018  with Connect this analyses the query
    except Exception as error:
        cast = re.search(r'cannot cast "[^"]*" to "[^"]*"', str(error))
        raise impossible_types(name, given, cast[0] if cast else root_cause(str(error)), names, sources) from None
    return Table(typed, name, notes, replace(origin, columns=names, types=tuple(types)))
