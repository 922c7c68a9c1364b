"""Discovered arithmetic on Spark is that of this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.engines.spark.arrow_table import frame_of


def test_spark_finds_the_same_arithmetic(spark: SparkSession) -> None:
    rng = np.random.default_rng(11)
    quantity, price = rng.integers(1, 60, 6_000), np.round(rng.uniform(1, 200, 6_000), 2)
    goods = np.round(quantity * price, 2)
    rows = pd.DataFrame({"quantity": quantity, "unit price": price, "goods": goods})
    rows["fee and price"] = np.round(price + quantity, 2)
    options: dict[str, Any] = {"max_predicates": 1, "top": "all"}
    frame = frame_of(spark, pa.Table.from_pandas(rows)).repartition(3)
    here, there = (hf.discover(table, **options) for table in (rows, frame))
    told = [(str(e.rule), e.support, e.score) for e in there.outcome.found if e.rule.kind == "row"]
    assert there.outcome.engine == "spark"
    assert {text for text, _, _ in told} == {
        'not(abs(t.goods - t.quantity * t."unit price") > 0.005)',
        'not(abs(t."fee and price" - t.quantity - t."unit price") > 0.005)',
    }
    assert told == [(str(e.rule), e.support, e.score) for e in here.outcome.found if e.rule.kind == "row"]
    assert {support for _, support, _ in told} == {6_000 * 5_999}
