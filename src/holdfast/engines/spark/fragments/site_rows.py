"""Rows of sites' tables on Spark, in the types of the whole table; and what conditions say of constants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from holdfast.engines.spark.checking.rows import with_truths
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.changes import typed_column
from holdfast.fragments.id_packing import IdPacking
from holdfast.programs.sql_expression import bind_constant
from holdfast.rules.predicate import Column, Constant
from holdfast.states.table_schema import SchemaJson, schema_as_seen, sql_types


def site_rows(table: Table, packing: IdPacking, columns: Collection[str], site: int) -> DataFrame:
    """These columns of a site's table under the safe names and in the types of the packing, and the `site`."""
    own = table.frame
    plain = own.toDF(*(f"x{i}" for i in range(len(own.columns))))
    place = {name: i for i, name in enumerate(own.columns)}
    types = {field.name: field.dataType for field in own.schema.fields}
    typed = [
        typed_column(f"x{place[field.name]}", field.name, types[field.name], field.dataType, table.name).alias(
            packing.column(field.name)
        )
        for field in StructType.fromJson(dict(packing.schema)).fields
        if field.name in columns
    ]
    return plain.select(F.lit(site).alias("site"), *typed)


def truths_of_constants(
    spark: SparkSession, rows: Sequence[Mapping[str, Constant]], schema: SchemaJson, conditions: Sequence[str]
) -> list[set[str]]:
    """Which of the conditions are true of each of the rows, of these constants in these columns, and else of nulls."""
    types, seen = sql_types(schema), schema_as_seen(schema, "").types
    used = [name for name in types if any(name in row for row in rows)]
    lines = []
    for number, row in enumerate(rows):
        values = []
        for name in used:
            bound = bind_constant(row[name], seen[name], Column("t", name)) if name in row else None
            literal = "NULL" if bound is None or bound.literal is None or not bound.exact else bound.literal
            values.append(f"CAST({literal} AS {types[name]}) AS c{list(types).index(name)}")
        lines.append(f"SELECT {number} AS i, {', '.join(values)}")
    frame, truths = with_truths(spark.sql(" UNION ALL ".join(lines)), list(types), list(conditions))
    by_number = {row["i"]: row for row in frame.collect()}
    return [{text for text, column in truths.items() if by_number[number][column]} for number in range(len(rows))]
