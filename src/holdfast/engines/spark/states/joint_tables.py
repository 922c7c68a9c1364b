"""Several tables as one table of a state, on Spark. `engines/local/tables/joint_state` is its twin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from holdfast.encode.column_type import column_type
from holdfast.engines.spark.checking.rows import with_truths
from holdfast.engines.states.state_engine import Changes
from holdfast.programs.sql_text import value_as_text
from holdfast.states.joint_layout import JointLayout
from holdfast.states.row_changes import AFTER, INSERT, LACKING
from holdfast.states.table_schema import sql_type

_MARKS = ("ct", "o0", "o1", "o2")


def joined_frame(frames: Mapping[str, DataFrame], layout: JointLayout) -> DataFrame:
    """The rows of all tables under the columns of all."""
    parts = [
        joint_rows(name, frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))), layout)
        for name, frame in frames.items()
    ]
    return reduce(DataFrame.union, parts).toDF(*(column["name"] for column in layout.schema["fields"]))


def joint_rows(name: str, rows: DataFrame, layout: JointLayout, marks: tuple[str, ...] = ()) -> DataFrame:
    """Rows of one of the tables, by the places of its columns, as rows of all, and these other columns."""
    places = {place: i for i, place in enumerate(layout.places(name))}
    conditions = layout.condition_places(name)
    rows, truths = with_truths(rows, layout.own_names(name), list(conditions.values()))
    columns = []
    for i, field in enumerate(StructType.fromJson(layout.schema).fields):
        if i == 0:
            value = F.lit(name)
        elif i == 1:
            value = _key(layout, name).cast(field.dataType)
        elif i in conditions:
            value = F.col(truths[conditions[i]])
        else:
            value = F.col(f"c{places[i]}") if i in places else F.lit(None).cast(field.dataType)
        columns.append(value.alias(f"c{i}"))
    return rows.select(*columns, *marks)


def _key(layout: JointLayout, name: str) -> Column:
    """The keys; as text, the values of several columns with commas between, which then have a backslash before."""
    places = layout.key_places(name)
    if not layout.key_is_text:
        return F.col(f"c{places[0]}")
    fields = layout.schemas[name]["fields"]
    texts = [value_as_text(f"c{i}", column_type(sql_type(fields[i]))) for i in places]
    if len(places) == 1:
        return F.expr(texts[0])
    # A null among them makes the whole a null, which no key may be.
    escaped = [f"replace(replace({text}, r'\\', r'\\\\'), ',', r'\\,')" for text in texts]
    return F.expr(" || ',' || ".join(escaped))


def joined_changes(changes: Mapping[str, Changes], layout: JointLayout) -> DataFrame:
    """The changes of all tables as changes of one; those of rows that come without all of their columns are marked."""
    parts = []
    for name, own in changes.items():
        rows = joint_rows(name, own.rows, layout, _MARKS)
        if len(own.known) < len(layout.schemas[name]["fields"]):
            comes = F.col("ct").isin(INSERT, AFTER)
            rows = rows.withColumn("ct", F.when(comes, LACKING).otherwise(F.col("ct")).cast("int"))
        parts.append(rows)
    return reduce(DataFrame.union, parts)


def frame_in(frame: DataFrame, name: str, layout: JointLayout) -> DataFrame:
    """One of the tables in the table of all."""
    plain = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    own = plain.where(F.col("c0") == name).select(*(f"c{i}" for i in layout.places(name)))
    return own.toDF(*layout.own_names(name))
