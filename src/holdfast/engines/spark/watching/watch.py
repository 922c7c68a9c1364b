"""Watched tables on Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states import watched_table
from holdfast.engines.states.watched_table import WatchedTable
from holdfast.rules.rule import RuleSet


def init_watch(
    table: Table, rules: RuleSet, key: Sequence[str], place: str | os.PathLike[str], reading: Mapping[str, Any]
) -> WatchedTable:
    """A new state at the place, of the table as it is now and the violations it has."""
    return watched_table.init_watch(SparkEngine(table.frame.sparkSession), table, rules, key, place, reading)


def watched(spark: SparkSession, place: str | os.PathLike[str]) -> WatchedTable:
    """The state at the place; StateError where there is none."""
    return watched_table.watched(SparkEngine(spark), place)
