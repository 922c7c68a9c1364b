"""check of two tables on Spark says of random tables and rules what reference.py says, on each way of checking rows."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from holdfast.engines.spark.checking.check import EngineName
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.tables.check import SparkTables
from holdfast.engines.tables.plan import plan_tables
from random_frames import frame_of
from several_tables import NAMES, Case, assert_matches, cases


@pytest.mark.parametrize("engine", ["sql", "kernel", "spread"])
@settings(
    deadline=None,
    max_examples=4,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(case=cases())
def test_check_of_two_tables_matches_reference(spark: SparkSession, engine: EngineName, case: Case) -> None:
    tables = {name: Table(frame_of(spark, table), name) for name, table in case.tables.items()}
    opened = SparkTables(tables, dict.fromkeys(NAMES, ("id",) if case.keyed else ()))
    plan = plan_tables(opened, case.rules)
    options = {"limit": None, "fail_on": "error", "all_columns": True, "redact": ()}
    with opened.run_check(plan, **options, started=time.monotonic(), engine=engine) as result:  # type: ignore[arg-type]
        assert_matches(case, result)
        assert result.summary()
