"""A table into a new state."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructField, StructType

from holdfast.engines.spark.checking.check import run_check, translate_spark_errors
from holdfast.engines.spark.checking.rows import schema_of
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.refused_changes import raise_unfit
from holdfast.engines.spark.states.state_files import first_rows, first_tables
from holdfast.engines.spark.watching.watch import WatchedTable, totals_of
from holdfast.errors import OptionError, RunError, SourceError, StateError
from holdfast.rules.rule import RuleSet
from holdfast.rules.rule_file import dump_rules
from holdfast.states.change_log import empty_log
from holdfast.states.manifest import FOLDERS, KEPT, Manifest, StoredTable, WatchBody, by_name
from holdfast.states.row_changes import CHANGE_TYPE
from holdfast.states.store import LOCK, Store, open_store
from holdfast.states.versions import commit, has_state
from holdfast.watching.pair_groups import pair_groups
from holdfast.watching.watch_plan import watch_plan

# How the first table was read, as far as it goes for files of changes too.
_READING = ("null_values", "delimiter", "encoding", "multiline")


def init_watch(
    table: Table, rules: RuleSet, key: Sequence[str], place: str | os.PathLike[str], reading: Mapping[str, Any]
) -> WatchedTable:
    """A new state at the place, of the table as it is now and the violations it has."""
    if not key:
        raise OptionError("a watched table needs a key.", hint="name the column that tells rows apart with --key.")
    store = open_store(place)
    require_free(store)
    require_table(table)
    spark = table.frame.sparkSession
    plan = watch_plan(rules, schema_of(table.frame, table.name), key)
    store.make(FOLDERS)
    with store.only_writer():
        require_free(store)
        with run_check(spark, table, plan, limit=0, all_columns=True, key_required=True) as result:
            groups, rows = pair_groups(plan.programs), result.outcome.rows
            tables = [StoredTable(f"pairs-0-{i}", about=groups.about(i, plan)) for i in range(len(groups.groups))]
            try:
                with translate_spark_errors(table, "loading"):
                    row_table = first_rows(store, result.scanned, len(table.frame.columns), rows)
                    tables = first_tables(store, result.scanned, plan, groups, tables, range(len(tables)), 0, rows)
                    kind = StructType([StructField("k", result.scanned.schema["k"].dataType)])
                    log = empty_log(store, spark.createDataFrame([], kind).toArrow().schema.field("k").type)
            except RunError as problem:
                raise_unfit(problem)
                raise
            manifest = Manifest(
                version=0,
                key=tuple(key),
                schema=table.frame.schema.jsonValue(),
                reading=kept_reading(reading),
                rows=rows,
                totals=totals_of(result),
                body=WatchBody(by_name([row_table, *tables]), dump_rules(replace(rules, key=tuple(key)))),
                streams={} if table.origin is None else dict(table.origin.feed),
                log=(log,),
                table=table.name,
            )
        commit(store, manifest)
    return WatchedTable(spark, store)


def require_table(table: Table) -> None:
    """SourceError where the rows are changes."""
    if CHANGE_TYPE in table.frame.columns:
        raise SourceError(
            f"{table.name} has a column {CHANGE_TYPE}: these are changes, not a table.",
            hint="load the table itself, then apply its changes.",
        )


def kept_reading(reading: Mapping[str, Any]) -> dict[str, Any]:
    """How files of changes are read: as the table was, as far as that goes for them too."""
    return {name: value for name, value in reading.items() if value and name in _READING}


def require_free(store: Store) -> None:
    """StateError where there is a state, or anything but what a killed load left behind."""
    if has_state(store):
        raise StateError(
            f"there is a state at {store.root} already.", hint="name a new folder, or apply changes to this one."
        )
    place = store.path("")
    if place.exists() and not place.is_dir():
        raise StateError(f"{store.root} is a file, not a folder.")
    names = sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []
    others = [name for name in names if name not in (*FOLDERS, KEPT, LOCK) and not name.startswith("pairs-")]
    if others:
        raise StateError(
            f"the folder {store.root} holds other things ({', '.join(others[:3])}), so no state is made there.",
            hint="name a new folder.",
        )
