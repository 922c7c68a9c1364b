"""Rows that refer to what another table does not have, as an anti-join on values that compare exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from holdfast.checking.group_sql import KEYS_PER_GROUP, value_text_sql
from holdfast.engines.check_result import plain_key
from holdfast.engines.spark.checking.check import register_called
from holdfast.engines.spark.checking.scan import Scan
from holdfast.engines.spark.kept import KeptFrame
from holdfast.engines.tables.parts import MissingSide
from holdfast.engines.tables.plan import IncludedPlan
from holdfast.programs.form import Form
from holdfast.programs.sql_expression import Encoder
from holdfast.rules.predicate import Column, joint_name


@dataclass(frozen=True)
class SparkDangling:
    """The rows of a scan that refer to what another does not have, kept until `close()`.

    `frame` has their key `k`, their values `v0`, ... in the columns of the inclusion, and these as texts `x0`, ...
    """

    kept: KeptFrame
    columns: tuple[str, ...]

    @classmethod
    def between(cls, first: Scan, second: Scan, included: IncludedPlan, scope: str | None) -> SparkDangling:
        """The rows of the first scan, in scope, whose values no row of the second has.

        The values of both are brought to forms that compare exactly, so that Spark has nothing to cast.
        """
        body, program = included.body, included.program
        ours = [_sql(included, first, body.tables[0], form) for form in program.left]
        theirs = [_sql(included, second, body.tables[1], form) for form in program.right]
        register_called(first.spark, [*ours, *theirs])
        schema = first.plan.schema
        values = [f"c{schema.position(name)}" for name in body.left]
        texts = [
            value_text_sql(value, schema.types[name], null="CAST(NULL AS STRING)")
            for name, value in zip(body.left, values, strict=True)
        ]
        places = range(len(body.left))
        left = (first.rows if scope is None else first.rows.where(scope)).selectExpr(
            "k",
            *(f"{values[i]} AS v{i}" for i in places),
            *(f"{texts[i]} AS x{i}" for i in places),
            *(f"{ours[i]} AS l{i}" for i in places),
        )
        right = second.rows.selectExpr(*(f"{theirs[i]} AS r{i}" for i in places)).distinct()
        if program.nulls == "sql":
            left = left.where(" AND ".join(f"l{i} IS NOT NULL" for i in places))
            right = right.where(" AND ".join(f"r{i} IS NOT NULL" for i in places))
        agree = " AND ".join(f"l{i} {'=' if program.nulls == 'sql' else '<=>'} r{i}" for i in places)
        dangling = left.join(right, F.expr(agree), "left_anti")
        return cls(KeptFrame(dangling), body.left)

    def close(self) -> None:
        self.kept.close()

    @property
    def frame(self) -> DataFrame:
        return self.kept.frame

    @cached_property
    def _counts(self) -> Row:
        value = F.struct(*(F.col(f"l{i}") for i in range(len(self.columns))))
        row = self.frame.agg(F.count("*").alias("n"), F.count_distinct(value).alias("d")).first()
        assert row is not None, "an aggregate has one row"
        return row

    @property
    def rows(self) -> int:
        return int(self._counts["n"])

    @property
    def distinct(self) -> int:
        return int(self._counts["d"])

    def _by_value(self, keys: int) -> DataFrame:
        """(n rows, keys of the first, x0, ...) of each missing value."""
        forms = [f"l{i}" for i in range(len(self.columns))]
        ranked = self.frame.withColumn("place", F.row_number().over(Window.partitionBy(*forms).orderBy("k")))
        return ranked.groupBy(*forms).agg(
            F.count("*").alias("n"),
            F.array_sort(F.collect_list(F.expr(f"IF(place <= {keys}, k, NULL)"))).alias("keys"),
            *(F.min_by(f"x{i}", "place").alias(f"x{i}") for i in range(len(self.columns))),
        )

    def _text(self) -> Any:
        """The value as text, of several columns with commas between."""
        if len(self.columns) == 1:
            return F.col("x0")
        return F.concat_ws(", ", *(F.coalesce(F.col(f"x{i}"), F.lit("null")) for i in range(len(self.columns))))

    def largest(self, values: int, keys: int) -> list[MissingSide]:
        first = self._by_value(keys).orderBy(F.desc("n"), F.col("keys")[0]).limit(values)
        lines = first.select(self._text().alias("value"), "n", "keys").collect()
        return [MissingSide(line["value"], line["n"], tuple(map(plain_key, line["keys"]))) for line in lines]

    def first(self, most: int) -> list[tuple[Any, Mapping[str, Any]]]:
        names = [f"v{i}" for i in range(len(self.columns))]
        lines = self.frame.select("k", *names).orderBy("k").limit(most).collect()
        return [
            (plain_key(line["k"]), {c: line[v] for c, v in zip(self.columns, names, strict=True)}) for line in lines
        ]

    def groups(self) -> DataFrame:
        """(group, column, value, rows, keys) of every missing value."""
        text = self._text()
        return self._by_value(KEYS_PER_GROUP).select(
            F.coalesce(text, F.lit("null")).alias("group"),
            F.lit(", ".join(self.columns)).alias("column"),
            text.alias("value"),
            F.col("n").alias("rows"),
            "keys",
        )


def _sql(included: IncludedPlan, scan: Scan, table: str, form: Form) -> str:
    """A form of the inclusion over the rows of a scan."""
    places = {joint_name(table, column): f"c{place}" for place, column in enumerate(scan.plan.schema.types)}

    def naming(column: Column) -> str:
        return places[column.name]

    return Encoder(included.types, included.program.nulls, naming).form(form)
