"""The rows a check reads: the columns it needs under safe names, its conditions, and a name for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NullType, StructType

from holdfast.checking.plan_text import filter_note
from holdfast.encode.column_type import column_type
from holdfast.engines.spark.arrow_table import frame_of
from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.sources.table import Table
from holdfast.errors import ConditionError, SourceError
from holdfast.programs.bind import Schema, require_key_types
from holdfast.programs.plan import Plan
from holdfast.programs.sql_text import doubled_quotes, text_literal, with_joined_quotes
from holdfast.rules.predicate import quoted_name

# Rows of one split of a file, or of one partition, are numbered from the split's first number.
_PLACE, _SPLIT = "_hf_place", "_hf_split"


def schema_of(frame: DataFrame, table: str) -> Schema:
    """The frame's columns with the types that rules see."""
    names = frame.columns
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(
            f"the table {table} has two columns called {', '.join(map(quoted_name, twice))}.",
            hint="rename one of them before the check.",
        )
    return schema_as_seen(frame.schema, table)


def schema_as_seen(schema: StructType, table: str) -> Schema:
    """The columns with the types that rules see."""
    return Schema(table, {field.name: column_type(field.dataType.simpleString()) for field in schema.fields})


def entirely_null(frame: DataFrame, columns: Sequence[str]) -> frozenset[str]:
    """Which of the columns have no value at all. One scan of those columns; asked only when types do not fit."""
    if not columns:
        return frozenset()
    places = {name: i for i, name in enumerate(frame.columns)}
    named = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    counts = named.agg(*(F.count(f"c{places[name]}").alias(f"n{i}") for i, name in enumerate(columns))).first()
    assert counts is not None, "an aggregate has one row"
    return frozenset(name for i, name in enumerate(columns) if counts[i] == 0)


def select_rows(frame: DataFrame, plan: Plan, *, all_columns: bool) -> DataFrame:
    """The rows under safe names, with conditions as truth values, not yet named: one scan when it runs."""
    conditioned = _with_conditions(frame, frame, plan.conditions)
    located = conditioned if plan.key else _located(conditioned)
    width = len(frame.columns)
    extra = [f"w{i}" for i in range(len(plan.conditions))]
    extra += [_SPLIT, _PLACE] if not plan.key else []
    safe = located.toDF(*(f"c{i}" for i in range(width)), *extra)
    needed = {plan.schema.position(name) for name in (*plan.columns, *plan.key)}
    kept = [f"c{i}" for i in range(width) if all_columns or i in needed]
    return with_lookups(safe.select(*kept, *extra), plan)


def reread_rows(frame: DataFrame, plan: Plan, extra: Sequence[str]) -> DataFrame:
    """Whole rows of the table under its own column names, then `extra` columns, as the scan would yield them."""
    width = len(frame.columns) - len(extra)
    named = (*(f"c{i}" for i in range(width)), *extra, *(f"w{i}" for i in range(len(plan.conditions))))
    return with_lookups(_with_conditions(frame, frame, plan.conditions).toDF(*named), plan)


def with_lookups(rows: DataFrame, plan: Plan) -> DataFrame:
    """The rows with a truth value `m0`, `m1`, ... for each look-up of the plan: whether its table has their values."""
    for i, lookup in enumerate(plan.lookups):
        places = range(len(lookup.types))
        texts = pa.table({f"v{j}": pa.array([line[j] for line in lookup.lines], pa.string()) for j in places})
        typed = [f"CAST(v{j} AS {kind}) AS v{j}" for j, kind in enumerate(lookup.types)]
        table = frame_of(rows.sparkSession, texts).selectExpr(*typed, f"true AS m{i}").distinct()
        on = [F.expr(value) == table[f"v{j}"] for j, value in enumerate(lookup.values)]
        joined = rows.join(F.broadcast(table), on, "left")
        rows = joined.select(*rows.columns, F.coalesce(table[f"m{i}"], F.lit(False)).alias(f"m{i}"))
    return rows


def with_truths(frame: DataFrame, names: Sequence[str], conditions: Sequence[str]) -> tuple[DataFrame, dict[str, str]]:
    """The frame with a truth value `w0`, ... for each condition on its columns `c0`, ..., and the names of these.

    `names` are the table's names of columns, by their safe name's number; those that the frame has are known to it.
    """
    if not conditions:
        return frame, {}
    own = [column for column in frame.columns if column[1:].isdecimal() and column.startswith("c")]
    others = [column for column in frame.columns if column not in own]
    real = frame.select(
        *(F.col(column).alias(names[int(column[1:])]) for column in own),
        *(F.col(column).alias(f"_hf_{column}") for column in others),
    )
    quoted = [names[int(column[1:])].replace("`", "``") for column in own]
    known = real.select(*(F.col(f"`{name}`") for name in quoted))
    truths = {condition: f"w{number}" for number, condition in enumerate(conditions)}
    return _with_conditions(real, known, conditions).toDF(*own, *others, *truths.values()), truths


def filtered_table(table: Table, condition: str | None) -> Table:
    """The rows of the table that satisfy the condition, which a note says; all of them where there is none."""
    if condition is None:
        return table
    require_condition(table.frame, condition)
    frame = table.frame.where(_as_read(table.frame, condition))
    return replace(table, frame=frame, notes=(*table.notes, filter_note(condition)))


def require_condition(frame: DataFrame, condition: str) -> None:
    """Raises ConditionError where the frame's rows cannot be asked whether they satisfy the condition."""
    _with_condition(frame, frame, condition, "_hf_w")


def _with_conditions(frame: DataFrame, original: DataFrame, conditions: Sequence[str]) -> DataFrame:
    """The frame with whether each row satisfies each of the conditions, as its last columns."""
    for i, condition in enumerate(conditions):
        frame = _with_condition(frame, original, condition, f"_hf_w{i}")
    return frame


def _with_condition(frame: DataFrame, original: DataFrame, condition: str, name: str) -> DataFrame:
    """The frame with whether each row satisfies the condition on the original's columns; null is no."""
    text = _as_read(original, condition)
    try:
        with query_log_off():
            checked = original.select(F.expr(text).alias("c")).schema[0].dataType
        if not isinstance(checked, BooleanType | NullType):
            raise ConditionError(
                f"the condition {condition!r} is {checked.simpleString()}, not true or false.",
                hint="compare something, as in country = 'US'.",
            )
        return frame.withColumn(name, F.coalesce(F.expr(text), F.lit(False)))
    except AnalysisException as problem:
        reason = str(problem).strip().splitlines()[0]
        raise ConditionError(
            f"the condition {condition!r} cannot be read: {reason}",
            hint="`where` is a SQL condition on the table's columns; quote odd names with backticks.",
        ) from None


def _as_read(frame: DataFrame, condition: str) -> str:
    """The condition in words that the session reads as they are meant: a mark that stands twice in a text is one.

    Spark before 4.1 leaves such marks out, and others keep both where `escapedStringLiterals` is set; so it is asked.
    """
    marks = {mark for mark in doubled_quotes(condition) if not _reads_doubled(frame, mark)}
    return with_joined_quotes(condition, marks)


def _reads_doubled(frame: DataFrame, mark: str) -> bool:
    """Whether a mark that stands twice in a text is one to the session; a literal's column is called as its value."""
    try:
        with query_log_off():
            named = frame.sparkSession.range(1).select(F.expr(f"{mark}a{mark}{mark}b{mark}")).columns
    except AnalysisException:  # what is between such marks is a name here, and no text
        return True
    return named == [f"a{mark}b"]


def _located(frame: DataFrame) -> DataFrame:
    """The frame with, per row, its split and its place within it; splits sort in file order."""
    place = F.monotonically_increasing_id()
    try:
        split = F.struct("_metadata.file_path", "_metadata.file_block_start")
        with query_log_off():
            located = frame.select("*", split.alias(_SPLIT), place.alias(_PLACE))
            located.schema  # noqa: B018 (Connect finds out only now whether the rows come from files)
        return located
    except AnalysisException:
        split = F.struct(F.lit("").alias("file_path"), F.spark_partition_id().cast("bigint").alias("file_block_start"))
        return frame.select("*", split.alias(_SPLIT), place.alias(_PLACE))


def numbered(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """The located rows with `k`, their number in file order from 0."""
    splits = rows.groupBy(_SPLIT).agg(F.min(_PLACE).alias("first"), F.count("*").alias("n")).collect()
    ordered = sorted(splits, key=lambda row: (row[_SPLIT][0], row[_SPLIT][1]))
    offsets, total = [], 0
    for row in ordered:
        offsets.append((row[_SPLIT][0], row[_SPLIT][1], total - row["first"]))
        total += row["n"]
    if all(offset == offsets[0][2] for *_, offset in offsets):
        shift = offsets[0][2] if offsets else 0
        return rows.withColumn("k", F.col(_PLACE) + F.lit(shift)).drop(_SPLIT, _PLACE)
    table = spark.createDataFrame(offsets, "_hf_path string, _hf_start bigint, _hf_shift bigint")
    on = (rows[_SPLIT]["file_path"] == table["_hf_path"]) & (rows[_SPLIT]["file_block_start"] == table["_hf_start"])
    joined = rows.join(F.broadcast(table), on)
    return joined.withColumn("k", F.col(_PLACE) + F.col("_hf_shift")).drop(*table.columns, _SPLIT, _PLACE)


def keyed(rows: DataFrame, plan: Plan) -> DataFrame:
    """The rows with `k`, the value of their key column, or a struct of several under their own names."""
    require_key_types(plan.key, plan.schema)
    parts = [f"c{plan.schema.position(name)}" for name in plan.key]
    if len(parts) == 1:
        return rows.withColumn("k", F.col(parts[0]))
    fields = ", ".join(f"{text_literal(name)}, {part}" for name, part in zip(plan.key, parts, strict=True))
    return rows.withColumn("k", F.expr(f"named_struct({fields})"))
