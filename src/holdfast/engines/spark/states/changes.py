"""Batches of changes as tables of a state's own columns and types: from files, and from frames."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType

from holdfast.encode.column_type import column_type
from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.sources.sources import read_table
from holdfast.engines.spark.sources.table import Table
from holdfast.errors import ChangeError, OptionError, closest_hint
from holdfast.states.row_changes import CHANGE_TYPE, CHANGE_TYPES
from holdfast.tables.read_options import ReadOptions

COMMIT_VERSION = "_commit_version"
# What change feeds of lakehouses say besides; only the order of commits matters here.
FEED_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp")
MISFIT = "holdfast-misfit"


@dataclass(frozen=True)
class Changes:
    """Changes under safe names: `ct`, their place `o0`, `o1`, `o2`, and the columns `c0`, ... of the state's types.

    `known` are the positions of the columns that the source has.
    """

    frame: DataFrame
    table: Table
    known: tuple[int, ...]


def read_changes(
    spark: SparkSession,
    data: str | os.PathLike[str],
    schema: StructType,
    key: Sequence[str],
    reading: Mapping[str, Any],
) -> Changes:
    """The changes in a file or folder, read with the state's types. Nothing is scanned."""
    opened = read_table(spark, data, ReadOptions(**reading))
    _require_columns(opened, schema, key)
    kind = opened.origin.kind if opened.origin is not None else "table"
    wanted = {field.name: field.dataType for field in schema.fields}
    if kind == "csv":
        types = {name: option_type(wanted[name]) for name in opened.frame.columns if name in wanted}
        types |= {name: "text" for name in opened.frame.columns if name == CHANGE_TYPE}
        types |= {name: "bigint" for name in opened.frame.columns if name == COMMIT_VERSION}
    else:
        # JSON writes what has no type of its own there as text.
        own = {field.name: field.dataType for field in opened.frame.schema.fields}
        texts = [n for n in own if n in wanted and isinstance(own[n], StringType) and own[n] != wanted[n]]
        types = {name: option_type(wanted[name]) for name in texts if kind == "json"}
    given = {name: option for name, option in types.items() if option is not None}
    table = read_table(spark, data, ReadOptions(**{**reading, "types": given})) if given else opened
    return changes_of(table, schema, key)


def changes_of(table: Table, schema: StructType, key: Sequence[str]) -> Changes:
    """The changes that the table's rows are, in the state's columns and types."""
    _require_columns(table, schema, key)
    names = table.frame.columns
    fields = {field.name: field.dataType for field in table.frame.schema.fields}
    plain = table.frame.toDF(*(f"x{i}" for i in range(len(names))))
    place = {name: f"x{i}" for i, name in enumerate(names)}
    columns = []
    for i, field in enumerate(schema.fields):
        if field.name not in place:
            columns.append(F.lit(None).cast(field.dataType).alias(f"c{i}"))
            continue
        columns.append(
            typed_column(place[field.name], field.name, fields[field.name], field.dataType, table.name).alias(f"c{i}")
        )
    kind = F.expr(_kind_sql(place[CHANGE_TYPE])) if CHANGE_TYPE in place else F.lit(0)
    first = F.col(place[COMMIT_VERSION]).cast("bigint") if COMMIT_VERSION in place else F.lit(0).cast("bigint")
    extra = [kind.cast("int").alias("ct"), F.monotonically_increasing_id().alias("o2")]
    alone = (F.lpad(first.cast("string"), 20, "0").alias("o0"), F.lit(0).cast("bigint").alias("o1"))
    known = tuple(i for i, field in enumerate(schema.fields) if field.name in place)
    if table.origin is not None and table.origin.kind in ("delta", "jdbc", "table"):
        return Changes(plain.select(*columns, *extra, *alone), table, known)
    try:
        path = F.concat(F.lpad(first.cast("string"), 20, "0"), F.col("_metadata.file_path"))
        start = F.col("_metadata.file_block_start").cast("bigint")
        with query_log_off():
            frame = plain.select(*columns, *extra, path.alias("o0"), start.alias("o1"))
            frame.schema  # noqa: B018 (Connect finds out only now whether the rows come from files)
    except AnalysisException:
        frame = plain.select(*columns, *extra, *alone)
    return Changes(frame, table, known)


def _kind_sql(column: str) -> str:
    """SQL for the place of a change's type in CHANGE_TYPES; one more than the last for any other text."""
    kinds = " ".join(f"WHEN '{name}' THEN {i}" for i, name in enumerate(CHANGE_TYPES))
    return f"IF({column} IS NULL, 0, CASE CAST({column} AS STRING) {kinds} ELSE {len(CHANGE_TYPES)} END)"


def _require_columns(table: Table, schema: StructType, key: Sequence[str]) -> None:
    names = [field.name for field in schema.fields]
    for column in table.frame.columns:
        if column not in names and column not in FEED_COLUMNS:
            raise ChangeError(
                f"{table.name} has a column {column!r}, which the state's table does not have.",
                hint=closest_hint(column, [*names, CHANGE_TYPE]),
            )
    for column in key:
        if column not in table.frame.columns:
            raise ChangeError(
                f"{table.name} has no column {column!r}, by which the state names its rows.",
                hint=f"its columns are {', '.join(table.frame.columns)}.",
            )


def typed_column(column: str, name: str, own: DataType, wanted: DataType, table: str) -> Any:
    """The column in the state's type; a value that does not fit raises, and types without a way are a ChangeError."""
    source, target = own.simpleString(), wanted.simpleString()
    if source == target or own == wanted:
        return F.col(column)
    a, b = column_type(source), column_type(target)
    if a.family == "void":
        return F.col(column).cast(wanted)
    if not (a.family == b.family != "other" or (a.numeric and b.numeric)):
        raise ChangeError(
            f"{table}: the column {name!r} is {a}, but in the state's table it is {b}.",
            hint="write the changes with the types of the table that the state was made of.",
        )
    cast = f"try_cast({column} AS {target})"
    said = name.replace("\\", "").replace("'", "")
    misfit = f"raise_error(concat('{MISFIT}:{said}:', CAST({column} AS STRING), ':end'))"
    return F.expr(
        f"CASE WHEN {column} IS NULL OR try_cast({cast} AS {source}) <=> {column} THEN {cast} ELSE {misfit} END"
    )


def option_type(wanted: DataType) -> str | None:
    """The type as `--types` takes it, wide enough; None where text cannot become it."""
    kind = column_type(wanted.simpleString())
    if kind.family == "decimal":
        return kind.sql
    return {
        "integer": "bigint",
        "float": "double",
        "text": "text",
        "boolean": "boolean",
        "date": "date",
        "timestamp": kind.sql,
    }.get(kind.family)


def content_id(data: str | os.PathLike[str]) -> str:
    """What the file or folder holds, as a number that no other content has; wherever it lies and whatever its name."""
    path = Path(os.fspath(data)).expanduser()
    if not path.exists():
        raise OptionError(
            f"{data} is no file of this machine, so that nothing tells this batch from others.",
            hint="name the batch with --batch, by a name that no other batch has.",
        )
    digest = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            if file.name.startswith((".", "_")):
                continue
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
        with open(file, "rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()
