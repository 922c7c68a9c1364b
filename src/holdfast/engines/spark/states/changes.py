"""Rows of changes on Spark, in a state's own columns and types."""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType

from holdfast.encode.column_type import column_type
from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.states.changes import COMMIT_VERSION, FEED_COLUMNS, FILE_PATH, FILE_START, require_castable
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
    commit, within = F.lpad(first.cast("string"), 20, "0"), F.lit(0)
    if all(name in place for name in FEED_COLUMNS):
        # Rows of a feed that are not from files have no order within a commit: what goes comes before what comes.
        within = F.when(F.col(place[CHANGE_TYPE]).isin("delete", "update_preimage"), 0).otherwise(1)
        if fields[COMMIT_VERSION] == StringType():
            commit = F.col(place[COMMIT_VERSION])  # such versions are in the order of their text
    alone = (commit.alias("o0"), within.cast("bigint").alias("o1"))
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


def ordered_commits(changes: DataFrame) -> DataFrame:
    """The changes of commits as a batch takes them: within a commit, what goes comes before what comes.

    The rows of a commit have no order of their own, and an update may change a key: its images are a delete and an
    insert, which together are an update where the key stays.
    """
    comes = F.col(CHANGE_TYPE).isin("insert", "update_postimage")
    kind = F.when(comes, F.lit("insert")).when(F.col(CHANGE_TYPE).isin("delete", "update_preimage"), F.lit("delete"))
    place = F.col(COMMIT_VERSION) * 2 + F.when(comes, 1).otherwise(0)
    return changes.withColumn(COMMIT_VERSION, place).withColumn(CHANGE_TYPE, kind.otherwise(F.col(CHANGE_TYPE)))


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
