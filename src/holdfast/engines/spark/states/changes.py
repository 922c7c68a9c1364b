"""Rows of changes on Spark, in a state's own columns and types."""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from holdfast.encode.column_type import column_type
from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.states.changes import COMMIT_VERSION, FILE_PATH, FILE_START, require_castable
from holdfast.engines.states.state_engine import Changes
from holdfast.states.row_changes import CHANGE_TYPE, CHANGE_TYPES

MISFIT = "holdfast-misfit"


def typed_changes(table: Table, schema: StructType) -> Changes:
    """The changes that the table's rows are, in the state's columns and types. Nothing is scanned."""
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
    if FILE_PATH in place:
        path = F.concat(F.lpad(first.cast("string"), 20, "0"), F.col(place[FILE_PATH]))
        return Changes(
            plain.select(*columns, *extra, path.alias("o0"), F.col(place[FILE_START]).alias("o1")), table, known
        )
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


def typed_column(column: str, name: str, own: DataType, wanted: DataType, table: str) -> Any:
    """The column in the state's type; a value that does not fit raises, and types without a way are a ChangeError."""
    source, target = own.simpleString(), wanted.simpleString()
    if source == target or own == wanted:
        return F.col(column)
    if column_type(source).family == "void":
        return F.col(column).cast(wanted)
    require_castable(table, name, source, target)
    cast = f"try_cast({column} AS {target})"
    said = name.replace("\\", "").replace("'", "")
    misfit = f"raise_error(concat('{MISFIT}:{said}:', CAST({column} AS STRING), ':end'))"
    return F.expr(
        f"CASE WHEN {column} IS NULL OR try_cast({cast} AS {source}) <=> {column} THEN {cast} ELSE {misfit} END"
    )
