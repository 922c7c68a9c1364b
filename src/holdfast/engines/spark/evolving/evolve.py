"""Evolved rules on Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.follow_frames import empty_table, follow_frame, state_of
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states import evolved_table as evolved_tables
from holdfast.engines.states.evolved_table import EvolvedTable
from holdfast.evolving.options import EvolveStrategy
from holdfast.evolving.outcome import EvolveOutcome
from holdfast.search.options import DiscoverOptions
from holdfast.states.store import open_store
from holdfast.states.versions import has_state


def evolved_table(spark: SparkSession, place: str | os.PathLike[str]) -> EvolvedTable:
    """The state at the place; StateError where there is none."""
    return evolved_tables.evolved_table(SparkEngine(spark), place)


def init_evolve(
    table: Table,
    key: Sequence[str],
    place: str | os.PathLike[str],
    options: DiscoverOptions,
    strategy: EvolveStrategy,
    reading: Mapping[str, Any],
) -> EvolvedTable:
    """A new state at the place, of the table as it is now and the rules it holds."""
    engine = SparkEngine(table.frame.sparkSession)
    return evolved_tables.init_evolve(engine, table, key, place, options, strategy, reading)


def evolve_frame(
    frame: DataFrame,
    data: Table | None,
    key: Sequence[str],
    checkpoint: str,
    options: DiscoverOptions,
    strategy: EvolveStrategy,
    *,
    batch: int | None,
    trigger: Mapping[str, Any] | None,
    on_batch: Callable[[EvolveOutcome], None] | None,
) -> Any:
    """A query that takes in the changes of a streaming frame; of any other frame, the outcome of it as one batch.

    The state lies in the checkpoint; at first it holds the table, empty where none is given.
    """
    spark, place = frame.sparkSession, state_of(checkpoint)
    if has_state(open_store(place)):
        state = evolved_table(spark, place)
    else:
        state = init_evolve(data or empty_table(frame), key, place, options, strategy, {})
    return follow_frame(frame, state, batch=batch, limit=None, trigger=trigger, on_batch=on_batch, opened=evolved_table)
