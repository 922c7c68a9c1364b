"""Rows to the tables of a state: which go to which task, and the first load."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.task_messages import task_messages
from holdfast.programs.plan import Plan
from holdfast.states.compaction import places_for
from holdfast.states.manifest import ROWS, StoredTable
from holdfast.states.messages import MESSAGE, segments_of
from holdfast.states.row_changes import FirstRowsTask
from holdfast.states.store import Store
from holdfast.watching.pair_changes import PairChangesTask
from holdfast.watching.pair_groups import NOTES, GroupedPrograms

# A batch of fewer bytes than this is not worth another task.
_BYTES_PER_TASK = 4_000_000
# Nobody knows how many rows a frame has; each range of hashes leaves a file in every table it touches.
_TASKS_OF_A_FRAME = 8


def first_rows(store: Store, rows: DataFrame, width: int, count: int) -> StoredTable:
    """The table of all rows, in files by the hash of their keys."""
    places = places_for(count)
    placed = rows.selectExpr("xxhash64(k) AS h", *(f"c{i}" for i in range(width)))
    placed = placed.withColumn("work", F.expr(place_sql("h", places))).repartition(places, "work")
    return StoredTable(ROWS, segments_of(task_messages(placed, FirstRowsTask(store)), ROWS))


def first_tables(
    store: Store,
    rows: DataFrame,
    plan: Plan,
    groups: GroupedPrograms,
    tables: Sequence[StoredTable],
    which: Sequence[int],
    version: int,
    count: int,
) -> list[StoredTable]:
    """The tables, those at the positions `which` with the files of all rows."""
    if not which:
        return list(tables)
    store.make(tables[i].name for i in which)
    places = places_for(count)
    named = rows.withColumn("sign", F.lit(1)).withColumn(MESSAGE, F.lit(None).cast("string"))
    routed = routed_rows(named, plan, groups, places, which=which)
    task = PairChangesTask(
        store=store,
        version=version,
        groups=groups,
        tables={i: tables[i] for i in which},
        names=tuple(rule.name for rule in plan.rules),
        counted=False,
    )
    messages = task_messages(routed, task)
    return [table.replacing((), segments_of(messages, table.name)) for table in tables]


def routed_rows(
    rows: DataFrame, plan: Plan, groups: GroupedPrograms, splits: int, which: Sequence[int] | None = None
) -> DataFrame:
    """The rows once for each group they belong to, with the piece of work that each goes to; whole in one partition.

    `which` are the groups of a first load: no row alone, and rows that meet by nothing are divided by their keys.
    """
    formed = rows.selectExpr("sign", MESSAGE, "k", *plan.form_columns())
    routes = groups.routes_sql(which, alone=which is None)
    noted = f"array(named_struct('g', {NOTES}, 'h', 0L, 'role', 3))"
    routed = formed.select("*", F.explode(F.expr(f"IF(sign = 0, {noted}, {routes})")).alias("r"))
    spread = routed.selectExpr(*formed.columns, "r.g AS g", "r.h AS h", "r.role AS role")
    loose = [i for i in which or () if not groups.groups[i].meets.left]
    by = f"IF(g IN ({', '.join(map(str, loose))}), xxhash64(k), h)" if loose else "h"
    placed = spread.withColumn("work", F.expr(f"(g + 2) * {splits} + {place_sql(by, splits)}"))
    works = (len(groups.groups) + 2 if which is None else len(which)) * splits
    # Of a first load each piece is large and has a task of its own; pieces of a batch share what tasks there are.
    tasks = works if which is not None else min(works, max(splits, _slots(rows.sparkSession)))
    return placed.repartition(max(1, tasks), "work")


def _slots(spark: SparkSession) -> int:
    """How many tasks are worth having at once."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def place_sql(hash_sql: str, places: int) -> str:
    """SQL for which of `places` ranges of one width a hash lies in; places are a power of two."""
    bits = places.bit_length() - 1
    return "0" if bits == 0 else f"CAST(shiftright({hash_sql}, {64 - bits}) + {places // 2} AS INT)"


def splits_for(spark: SparkSession, table: Table) -> int:
    """Into how many ranges of hashes a batch is divided: a power of two, by its bytes, at most the tasks at once."""
    files = () if table.origin is None else table.origin.local
    size = -(-sum(file.stat().st_size for file in files) // _BYTES_PER_TASK)
    wanted = min(_slots(spark), max(size, 1) if files else _TASKS_OF_A_FRAME)
    return 1 << (wanted.bit_length() - 1)
