"""What states ask of an engine, on Spark: rows are DataFrames, and tasks run in its Python workers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from holdfast.encode.column_type import ColumnType
from holdfast.engines.check_result import CheckResult
from holdfast.engines.spark.arrow_table import frame_of
from holdfast.engines.spark.checking.check import SparkCheckResult, register_functions, run_check
from holdfast.engines.spark.checking.rows import entirely_null, keyed, select_rows, with_lookups, with_truths
from holdfast.engines.spark.discovery.discover import OnCard, compared_rows, search
from holdfast.engines.spark.fragments.packed_sql import packed_rows
from holdfast.engines.spark.fragments.site_rows import site_rows, truths_of_constants
from holdfast.engines.spark.frame_result import FrameResult
from holdfast.engines.spark.sources.sources import read_table
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.changes import typed_changes
from holdfast.engines.spark.states.failed_changes import (
    translate_change_errors,
    translate_load_errors,
    translate_site_errors,
)
from holdfast.engines.spark.states.joint_tables import frame_in, joined_changes, joined_frame
from holdfast.engines.spark.states.state_files import by_hash, routed_rows, slots, splits_for, task_messages
from holdfast.engines.states.state_engine import (
    Changes,
    OpenedSource,
    SiteColumns,
    SourceTable,
    StateEngine,
    Task,
)
from holdfast.fragments.id_packing import IdPacking
from holdfast.programs.plan import Plan
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import RuleSet
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import SearchResult
from holdfast.states.joint_layout import JointLayout
from holdfast.states.messages import Message
from holdfast.states.table_schema import FieldJson, SchemaJson, safe_fields, sql_types
from holdfast.tables.read_options import ReadOptions
from holdfast.watching.pair_groups import GroupedPrograms

if TYPE_CHECKING:
    from holdfast.engines.tables.result import TablesCheckResult


@dataclass(frozen=True)
class SparkEngine(StateEngine):
    """Runs tasks of states on a session. `LocalEngine` runs them in this process."""

    name: ClassVar[str] = "spark"

    spark: SparkSession

    # Tables ---------------------------------------------------------------------------------------------------

    def open_source(self, data: str, options: ReadOptions) -> OpenedSource:
        table = read_table(self.spark, data, options)
        kind = table.origin.kind if table.origin is not None else "table"
        return OpenedSource(table.name, kind, sql_types(self.schema_of(table)), table)

    def read_table(self, data: str, options: ReadOptions) -> Table:
        return read_table(self.spark, data, options)

    def table_of(self, frame: DataFrame, name: str) -> Table:
        return Table(frame, name)

    def rows_of(self, rows: pa.Table) -> DataFrame:
        return frame_of(self.spark, rows)

    def frame_of(self, table: SourceTable) -> DataFrame:
        return _spark_table(table).frame

    def schema_of(self, table: SourceTable) -> SchemaJson:
        schema: SchemaJson = _spark_table(table).frame.schema.jsonValue()
        return schema

    def typed_changes(self, table: SourceTable, schema: SchemaJson) -> Changes:
        return typed_changes(_spark_table(table), StructType.fromJson(dict(schema)))

    def check(self, table: SourceTable, plan: Plan, *, limit: int | None, whole: bool = False) -> SparkCheckResult:
        return run_check(self.spark, _spark_table(table), plan, limit=limit, all_columns=whole, key_required=True)

    def checked_rows(self, result: CheckResult, table: SourceTable, plan: Plan) -> DataFrame:
        assert isinstance(result, SparkCheckResult), "results are those of the engine"
        return result.scanned

    def search(
        self, table: SourceTable, types: Mapping[str, ColumnType], options: DiscoverOptions
    ) -> SearchResult | None:
        return search(_spark_table(table), types, options)

    def compared_rows(self, table: SourceTable, types: Mapping[str, ColumnType]) -> DataFrame:
        return compared_rows(_spark_table(table), types).coalesce(1)

    def keyed_rows(self, table: SourceTable, plan: Plan) -> DataFrame:
        return keyed(select_rows(_spark_table(table).frame, plan, all_columns=False), plan)

    def stored_table(self, task: Task, places: int, schema: SchemaJson, name: str) -> Table:
        numbers = self.spark.range(0, places, 1, places)
        safe = StructType.fromJson({"type": "struct", "fields": safe_fields(schema)})
        rows = numbers.mapInArrow(task, safe)
        return Table(rows.toDF(*(own["name"] for own in schema["fields"])), name)

    def result_of(self, rows: DataFrame) -> FrameResult:
        return FrameResult(rows)

    # Several tables in one state ------------------------------------------------------------------------------

    def check_tables(
        self,
        tables: Mapping[str, SourceTable],
        rules: RuleSet,
        keys: Mapping[str, tuple[str, ...]],
        *,
        limit: int | None,
    ) -> TablesCheckResult:
        from holdfast.engines.spark.tables.check import SparkTables
        from holdfast.engines.tables.plan import plan_tables

        opened = SparkTables({name: _spark_table(table) for name, table in tables.items()}, keys)
        plan, started = plan_tables(opened, rules), time.monotonic()
        return opened.run_check(plan, limit=limit, fail_on="error", all_columns=False, redact=(), started=started)

    def joined_table(self, tables: Mapping[str, SourceTable], layout: JointLayout) -> Table:
        frames = {name: _spark_table(table).frame for name, table in tables.items()}
        return Table(joined_frame(frames, layout), ", ".join(tables))

    def tables_in(self, table: SourceTable, layout: JointLayout) -> dict[str, SourceTable]:
        frame = _spark_table(table).frame
        return {name: Table(frame_in(frame, name, layout), name) for name in layout.names}

    def joined_changes(self, changes: Mapping[str, Changes], layout: JointLayout) -> Changes:
        rows = joined_changes(changes, layout)
        table = Table(rows, ", ".join(own.table.name for own in changes.values()))
        return Changes(rows, table, tuple(range(len(layout.schema["fields"]))))

    def whole_rows(self, table: SourceTable, plan: Plan) -> DataFrame:
        return keyed(select_rows(_spark_table(table).frame, plan, all_columns=True), plan)

    # Tables that are split over sites -------------------------------------------------------------------------

    def entirely_null(self, table: SourceTable, column: str) -> bool:
        return bool(entirely_null(_spark_table(table).frame, [column]))

    def row_count(self, tables: Sequence[SourceTable]) -> int:
        counts = [_spark_table(table).frame.agg(F.count("*").alias("n")) for table in tables]
        return sum(row["n"] for row in reduce(DataFrame.unionAll, counts).collect())

    def packed_sites(self, sites: Sequence[SiteColumns], packing: IdPacking) -> DataFrame:
        frames = []
        for alike in sites:
            # Ten sites of whole rows are planned and compiled as one.
            rows = [site_rows(_spark_table(alike.tables[n]), packing, alike.columns, n) for n in alike.tables]
            together = reduce(DataFrame.unionByName, rows)
            frames.append(packed_rows(together, packing, alike.atoms, alike.conditions, ["site"]))
        return reduce(DataFrame.unionByName, frames)

    def packed_changes(self, changes: Changes, packing: IdPacking, conditions: Sequence[str]) -> DataFrame:
        atoms = range(len(packing.held_atoms.atoms))
        return packed_rows(changes.rows, packing, atoms, conditions, ["ct", "o0", "o1", "o2"])

    def truths(
        self, rows: Sequence[Mapping[str, Constant]], schema: SchemaJson, conditions: Sequence[str]
    ) -> list[set[str]]:
        return truths_of_constants(self.spark, rows, schema, conditions)

    # Tasks ----------------------------------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        return slots(self.spark)

    def splits(self, table: SourceTable) -> int:
        return splits_for(self.spark, _spark_table(table))

    def keyed(self, rows: DataFrame, plan: Plan) -> DataFrame:
        return keyed(rows, plan)

    def placed(
        self, rows: DataFrame, places: int, *, by: Sequence[str] = (), columns: Sequence[str] | None = None
    ) -> DataFrame:
        hashed = rows.withColumn("h", F.expr(f"xxhash64({', '.join(by)})")) if by else rows
        return by_hash(hashed if columns is None else hashed.select("h", *columns), places)

    def routed(
        self,
        rows: DataFrame,
        plan: Plan,
        groups: GroupedPrograms,
        splits: int,
        *,
        which: Sequence[int] | None = None,
    ) -> DataFrame:
        register_functions(self.spark, plan)
        if which is None:  # rows of a table have these from its scan
            truths, _ = with_truths(rows, list(plan.schema.types), plan.conditions)
            rows = with_lookups(truths, plan)
        return routed_rows(rows, plan, groups, splits, which)

    def gathered(self, rows: DataFrame) -> DataFrame:
        return rows.repartition(1)

    def shared(self, rows: DataFrame, shares: int) -> DataFrame:
        numbers = self.spark.range(0, shares, 1, 1).withColumnRenamed("id", "share")
        return rows.crossJoin(numbers).repartitionByRange(shares, "share")

    def run(self, rows: DataFrame, task: Task, fields: Sequence[FieldJson]) -> DataFrame:
        return rows.mapInArrow(OnCard(task), StructType.fromJson({"type": "struct", "fields": list(fields)}))

    def messages(self, rows: DataFrame, task: Task) -> list[Message]:
        return task_messages(rows, OnCard(task))

    def numbers(self, columns: Mapping[str, Sequence[int]], partitions: int) -> DataFrame:
        schema = StructType([StructField(name, IntegerType()) for name in columns])
        lines = list(zip(*columns.values(), strict=True))
        return self.spark.createDataFrame(lines, schema).repartition(partitions)

    # Errors ---------------------------------------------------------------------------------------------------

    def translate_change_errors(self, table: SourceTable, schema: SchemaJson) -> AbstractContextManager[None]:
        return translate_change_errors(_spark_table(table), schema)

    def translate_load_errors(self, table: SourceTable, doing: str = "loading") -> AbstractContextManager[None]:
        return translate_load_errors(_spark_table(table), doing)

    def translate_site_errors(self, tables: Mapping[str, SourceTable], origin: str) -> AbstractContextManager[None]:
        return translate_site_errors({name: _spark_table(table) for name, table in tables.items()}, origin)


def _spark_table(table: SourceTable) -> Table:
    assert isinstance(table, Table), "tables are those that the engine has opened"
    return table
