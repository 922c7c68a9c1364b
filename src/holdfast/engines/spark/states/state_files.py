"""Rows to the tables of a state: which go to which task, what tasks report, and the first load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.engines.spark.sources.table import Table
from holdfast.errors import SourceError
from holdfast.programs.plan import Plan
from holdfast.states.compaction import places_for
from holdfast.states.manifest import ROWS, AnyBody, Manifest, StoredTable
from holdfast.states.messages import MESSAGE, Message, message_from, segments_of
from holdfast.states.row_changes import CHANGE_TYPE, FirstRowsTask
from holdfast.states.store import Store
from holdfast.watching.pair_changes import PairChangesTask
from holdfast.watching.pair_groups import NOTES, GroupedPrograms

# A batch of fewer bytes than this is not worth another task.
_BYTES_PER_TASK = 4_000_000
# Nobody knows how many rows a frame has; each range of hashes leaves a file in every table it touches.
_TASKS_OF_A_FRAME = 8
# How the first table was read, as far as it goes for files of changes too.
_READING = ("null_values", "delimiter", "encoding", "multiline")

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def task_messages(rows: DataFrame, task: Task) -> list[Message]:
    """Returns the messages of the task, run on every partition of the rows. Runs one Spark job."""
    return [message_from(row[MESSAGE]) for row in rows.mapInArrow(task, f"{MESSAGE} string").collect()]


def require_table(table: Table) -> None:
    """SourceError where the rows are changes."""
    if CHANGE_TYPE in table.frame.columns:
        raise SourceError(
            f"{table.name} has a column {CHANGE_TYPE}: these are changes, not a table.",
            hint="load the table itself, then apply its changes.",
        )


def first_manifest(
    table: Table, key: Sequence[str], reading: Mapping[str, Any], *, rows: int, totals: Mapping[str, int], body: AnyBody
) -> Manifest[AnyBody]:
    """The first version of a state of the table. Files of changes are read as it was, as far as that goes for them."""
    return Manifest(
        version=0,
        key=tuple(key),
        schema=table.frame.schema.jsonValue(),
        reading={name: value for name, value in reading.items() if value and name in _READING},
        rows=rows,
        totals=totals,
        body=body,
        streams={} if table.origin is None else dict(table.origin.feed),
        table=table.name,
    )


def first_rows(store: Store, rows: DataFrame, width: int, count: int) -> StoredTable:
    """The table of all rows, in files by the hash of their keys."""
    places = places_for(count)
    placed = by_hash(rows.selectExpr("xxhash64(k) AS h", *(f"c{i}" for i in range(width))), places)
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
    tasks = works if which is not None else min(works, max(splits, slots(rows.sparkSession)))
    return placed.repartition(max(1, tasks), "work")


def slots(spark: SparkSession) -> int:
    """How many tasks are worth having at once."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def by_hash(rows: DataFrame, places: int) -> DataFrame:
    """The rows, in a piece of work for each of `places` ranges of their hashes `h`; whole in one partition."""
    return rows.withColumn("work", F.expr(place_sql("h", places))).repartition(places, "work")


def place_sql(hash_sql: str, places: int) -> str:
    """SQL for which of `places` ranges of one width a hash lies in; places are a power of two."""
    bits = places.bit_length() - 1
    return "0" if bits == 0 else f"CAST(shiftright({hash_sql}, {64 - bits}) + {places // 2} AS INT)"


def splits_for(spark: SparkSession, table: Table) -> int:
    """Into how many ranges of hashes a batch is divided: a power of two, by its bytes, at most the tasks at once."""
    files = () if table.origin is None else table.origin.local
    size = -(-sum(file.stat().st_size for file in files) // _BYTES_PER_TASK)
    wanted = min(slots(spark), max(size, 1) if files else _TASKS_OF_A_FRAME)
    return 1 << (wanted.bit_length() - 1)
