"""Rows of states on Spark: which go to which task, and what tasks report."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.engines.spark.kept import setting_of
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.states.state_engine import Task
from holdfast.programs.plan import Plan
from holdfast.states.messages import MESSAGE, Message, message_from
from holdfast.watching.pair_groups import NOTES, GroupedPrograms

# A batch of fewer bytes than this is not worth another task.
_BYTES_PER_TASK = 4_000_000
# Nobody knows how many rows a frame has; each range of hashes leaves a file in every table it touches.
_TASKS_OF_A_FRAME = 8


def task_messages(rows: DataFrame, task: Task) -> list[Message]:
    """Returns the messages of the task, run on every partition of the rows. Runs one Spark job."""
    return [message_from(row[MESSAGE]) for row in rows.mapInArrow(task, f"{MESSAGE} string").collect()]


def routed_rows(
    rows: DataFrame, plan: Plan, groups: GroupedPrograms, splits: int, which: Sequence[int] | None = None
) -> DataFrame:
    """The rows once for each group they belong to, with the piece of work that each goes to; whole in one partition.

    `which` are the groups of a first load: no row alone, and rows that meet by nothing are divided by their keys.
    """
    if which is not None:
        rows = rows.withColumn("sign", F.lit(1)).withColumn(MESSAGE, F.lit(None).cast("string"))
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
    return int(setting_of(spark, "spark.sql.shuffle.partitions", "1"))


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
