"""A discovery over several tables on Spark: one task that gets all of their rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from holdfast.discovery.tables_outcome import FoundTable, TablesOutcome
from holdfast.engines.local.discover_tables import TablesDiscoverResult, TablesOptions
from holdfast.engines.local.tables.discover_task import TablesDiscoverTask
from holdfast.engines.spark.checking.check import translate_spark_errors
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.tables.struct_rows import answer_of, struct_rows
from holdfast.errors import OptionError

# So many rows are given to one task.
MOST_ROWS = 4_000_000


def run_tables_discover(
    tables: Mapping[str, Table], places: Mapping[str, str | None], options: TablesOptions, *, started: float
) -> TablesDiscoverResult:
    """Returns what `engines/local/discover_tables` finds; `places` is where the data of each table is.

    OptionError where the tables are more than one task is given: values of every column are held against those of
    every other, and a column has to be in one place for that.
    """
    first, *others = tables.values()
    with translate_spark_errors(first, *others, doing="searching"):
        counts = [table.frame.agg(F.count("*").alias("n")) for table in tables.values()]
        rows = sum(line["n"] for line in reduce(DataFrame.unionAll, counts).collect())
        if rows > MOST_ROWS:
            raise OptionError(
                f"references are searched by one task, which is given up to {MOST_ROWS:,} rows, and the tables have "
                f"{rows:,}.",
                hint="leave out tables, or rows of those that refer to others; check counts a reference on all rows.",
            )
        named = {name: tuple(table.frame.columns) for name, table in tables.items()}
        task = TablesDiscoverTask(tuple(named.items()), options)
        safe = [table.frame.toDF(*(f"c{i}" for i in range(len(named[name])))) for name, table in tables.items()]
        outcome: TablesOutcome = answer_of(struct_rows(safe), task)
    placed = tuple(_placed(entry, places[entry.table.name]) for entry in outcome.tables)
    notes = tuple(f"{name}: {note}" for name, table in tables.items() for note in table.notes)
    seconds = time.monotonic() - started
    return TablesDiscoverResult(
        replace(outcome, tables=placed, notes=(*notes, *outcome.notes), seconds=seconds, engine="spark")
    )


def _placed(entry: FoundTable, place: str | None) -> FoundTable:
    return replace(entry, table=replace(entry.table, data=place))
