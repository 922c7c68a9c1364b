"""A value that holds most of the rows does not put most of the work on one task."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from holdfast.engines.spark.checking.check import plan_check, run_check
from holdfast.engines.spark.checking.spread_engine import SpreadEngine
from holdfast.engines.spark.sources.table import Table
from holdfast.rules.rule import rule_set

ROWS = 200_000
RULES = ["not(t.g = s.g and t.a > s.a and t.b < s.b)", "not(t.a > s.a and t.b < s.b)"]


@pytest.fixture(scope="module")
def skewed(spark: SparkSession) -> Table:
    """60 % of the rows have one value of g; b rises with a but for a few."""
    frame = spark.range(ROWS).selectExpr(
        "id",
        "IF(id % 10 < 6, 0, 1 + id % 1000) AS g",
        "(id * 7919) % 200003 AS a",
        "IF(id % 20011 = 5, -1, (id * 7919) % 200003 * 2) AS b",
    )
    return Table(frame, "skewed")


@pytest.mark.parametrize("rule", [RULES[0], *(pytest.param(rule, marks=pytest.mark.soak) for rule in RULES[1:])])
def test_no_task_has_more_than_twice_the_average_work(spark: SparkSession, skewed: Table, rule: str) -> None:
    plan = plan_check(skewed, rule_set([rule]), ("id",))
    with run_check(spark, skewed, plan, limit=0, engine="spread") as result:
        spread = next(engine for engine in result.engines if isinstance(engine, SpreadEngine))
        (routed,) = spread._routings([0])
        for frame in (routed.frame, *(gridded.frame for gridded in spread._grids.values())):
            sizes = [row["count"] for row in frame.groupBy(F.spark_partition_id()).count().collect()]
            assert len(sizes) >= 4
            assert max(sizes) <= 2 * sum(sizes) / len(sizes)
        assert bool(spread._grids) == ("t.g" not in rule)
        spread_found = result.to_dict()["rules"]
    with run_check(spark, skewed, plan, limit=0, engine="kernel") as result:
        assert result.to_dict()["rules"] == spread_found
        assert spread_found[0]["violating_pairs"] > 0
