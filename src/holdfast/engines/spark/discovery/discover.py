"""A discovery on Spark: one scan, then the search in tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from holdfast.checking.outcome import RuleOutcome
from holdfast.discovery.explain import ExplainTask
from holdfast.discovery.task import (
    ConditionalTask,
    ConstantsTask,
    EncodeTask,
    EvidenceTask,
    FindTask,
    SolveTask,
    read_columns,
    read_conditional,
    read_constants,
    read_search,
    worth_sharing,
)
from holdfast.encode.column_type import ColumnType
from holdfast.engines.discovery import DiscoverySource, Searched
from holdfast.engines.rule_examples import EXAMPLE_ROWS, SampledRows
from holdfast.engines.spark.arrow_table import arrow_table
from holdfast.engines.spark.checking.check import plan_check, run_check, translate_spark_errors
from holdfast.engines.spark.checking.rows import schema_of
from holdfast.engines.spark.kept import KeptFrame, setting_of
from holdfast.engines.spark.sources.table import Table
from holdfast.rules.rule import RuleSet
from holdfast.search.clock import Clock
from holdfast.search.device import CARD
from holdfast.search.lines import Batches
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import SearchResult
from holdfast.search.space import PredicateSpace

# The schema of the lines that tasks pass on.
LINES = "part string, piece int, bytes binary"
# A range of so many numbers has a partition for every slot of a cluster.
_MANY = 1_000_000


class SparkDiscovery(DiscoverySource):
    """A table on Spark whose rules are discovered."""

    engine = "spark"

    def __init__(self, table: Table) -> None:
        self._table, self.name, self.notes = table, table.name, table.notes

    @property
    def types(self) -> Mapping[str, ColumnType]:
        return schema_of(self._table.frame, self.name).types

    def row_count(self) -> int:
        return self._table.frame.count()

    def search(self, types: Mapping[str, ColumnType], options: DiscoverOptions, *, column_rules: bool) -> Searched:
        if not (options.conditional or options.constants):
            lines = _search_lines(self._table, types, options, column_rules=column_rules)
            return Searched(read_search(lines), None, read_columns(lines))
        task = ConditionalTask if options.conditional else ConstantsTask
        rows = compared_rows(self._table, types).coalesce(1)
        lines = _collected(rows.mapInArrow(task(types, options, column_rules=column_rules), LINES))
        if options.conditional:
            return Searched(read_conditional(lines), None, read_columns(lines))
        return Searched(read_search(lines), read_constants(lines), read_columns(lines))

    def space_json(self, types: Mapping[str, ColumnType], options: DiscoverOptions) -> str | None:
        rows = compared_rows(self._table, types).coalesce(1)
        lines = rows.mapInArrow(ExplainTask(types, options), "space string").collect()
        return lines[0]["space"] if lines else None

    def counted(self, rules: RuleSet, *, limit: int) -> Sequence[RuleOutcome]:
        table, spark = self._table, self._table.frame.sparkSession
        with run_check(spark, table, plan_check(table, rules, ()), limit=limit) as result:
            return result.outcome.rules

    def sample(self, columns: Sequence[str], *, most: int, seed: int) -> pa.Table:
        places = {name: i for i, name in enumerate(self._table.frame.columns)}
        safe = self._table.frame.toDF(*(f"x{i}" for i in range(len(places))))
        chosen = safe.select(*(F.col(f"x{places[name]}").alias(f"c{i}") for i, name in enumerate(columns)))
        # Only the first rows of each partition leave it, in an order that is drawn.
        drawn = chosen.withColumn("drawn", F.rand(seed)).orderBy("drawn").limit(most).drop("drawn")
        return arrow_table(drawn).rename_columns(list(columns))

    def example_rows(self) -> SampledRows:
        return SampledRows(arrow_table(self._table.frame.limit(EXAMPLE_ROWS)))

    def translate_errors(self, doing: str) -> AbstractContextManager[None]:
        return translate_spark_errors(self._table, doing=doing)


def search(
    table: Table, types: Mapping[str, ColumnType], options: DiscoverOptions, space: PredicateSpace | None = None
) -> SearchResult | None:
    """Returns the result of the search, over the given predicate space if there is one; None without rows."""
    return read_search(_search_lines(table, types, options, space))


def _search_lines(
    table: Table,
    types: Mapping[str, ColumnType],
    options: DiscoverOptions,
    space: PredicateSpace | None = None,
    *,
    column_rules: bool = False,
) -> list[tuple[str, int, bytes]]:
    """Returns what the tasks of a search pass on to the driver.

    On one machine, and with a given space, one task does it all, on all cores.
    """
    rows, spark = compared_rows(table, types).coalesce(1), table.frame.sparkSession
    if space is not None or setting_of(spark, "spark.master", "local").partition("[")[0] == "local":
        find = FindTask(types, options, space, column_rules=column_rules)
        return _collected(rows.mapInArrow(OnCard(find), LINES))
    # On a cluster many tasks share all pairs, unless there are few.
    slots = spark.range(0, _MANY, 1).select(F.spark_partition_id()).distinct().count()
    encode = EncodeTask(types, options, slots, column_rules=column_rules)
    clock = Clock(options.time_limit)
    kept = KeptFrame(rows.mapInArrow(OnCard(encode), LINES))
    try:
        encoded = kept.frame.where("part != 'columns'")
        columns = _collected(kept.frame.where("part = 'columns'")) if column_rules else []
        about = encoded.where("part = 'about'").first()
        if about is not None and slots > 1 and worth_sharing(bytes(about["bytes"]), options.limits.shared_rows):
            shares = spark.range(0, slots, 1, slots).withColumnRenamed("id", "share")
            shared = encoded.crossJoin(shares).repartitionByRange(slots, "share")
            encoded = shared.mapInArrow(OnCard(EvidenceTask(slots, options.device)), LINES)
        # What was encoded, and looked at in single columns, has taken its time.
        solve = SolveTask(options.within(clock.left))
        return [*_collected(encoded.repartition(1).mapInArrow(OnCard(solve), LINES)), *columns]
    finally:
        kept.close()


@dataclass(frozen=True)
class OnCard:
    """A task on the GPU that the cluster assigns to it, where `gpu` is a resource of the cluster."""

    task: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        context = TaskContext.get()
        given = context.resources().get("gpu") if context is not None else None
        if given is not None and given.addresses:
            os.environ[CARD] = given.addresses[0]
        return self.task(batches)


def _collected(lines: DataFrame) -> list[tuple[str, int, bytes]]:
    return [(row["part"], row["piece"], row["bytes"]) for row in lines.collect()]


def compared_rows(table: Table, types: Mapping[str, ColumnType]) -> DataFrame:
    """Returns the compared columns, named c0, c1, ..."""
    places = {name: i for i, name in enumerate(table.frame.columns)}
    safe = table.frame.toDF(*(f"x{i}" for i in range(len(places))))
    columns = []
    for i, (name, kind) in enumerate(types.items()):
        column = F.col(f"x{places[name]}")
        columns.append((F.collate(column, "UTF8_BINARY") if kind.collated else column).alias(f"c{i}"))
    return safe.select(*columns)
