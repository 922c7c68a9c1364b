"""Inside a PySpark job: check a DataFrame between two steps, set bad rows aside, stop where that is not enough.

    holdfast demo --dir demo          # leaves orders.csv and rules.yaml there
    python examples/pyspark_job.py demo/orders.csv demo/rules.yaml out

Leaves `out/revenue` (made of the rows that hold the rules) and `out/quarantine` (the others, each with the rules it
breaks). Ends with an exception, and writes no revenue, where more than MOST_BAD of the rows are bad, or where the
result breaks a rule of its own.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf

SCHEMA = """
    order_id string, invoice string, replaces string, customer string, name string, email string, zip string,
    city string, state string, country string, tier string, sku string, quantity int, unit_price decimal(10,2),
    currency string, discount double, shipping decimal(10,2), status string, ordered date, shipped date, delivered date
"""
MOST_BAD = 0.1


class BadData(Exception):
    """The data is not fit to go on with."""


def revenue(orders: DataFrame) -> DataFrame:
    """The step after the check: it trusts that a country has one currency, and counts no invoice twice."""
    paid = F.col("quantity") * F.col("unit_price") * (1 - F.col("discount"))
    return orders.groupBy("country", "currency").agg(F.round(F.sum(paid), 2).alias("revenue"), F.count("*").alias("n"))


def require(frame: DataFrame, rules: object, *, key: str | None = None) -> DataFrame:
    """The frame, as it came; BadData, with a violating pair of rows, where it breaks one of the rules."""
    with hf.check(frame, rules, key=key) as result:
        if not result.holds:
            raise BadData(f"the rules do not hold:\n{result.summary()}")
    return frame


def main(data: str, rules: str, out: str) -> None:
    spark = SparkSession.builder.appName("revenue").getOrCreate()
    orders = spark.read.csv(data, schema=SCHEMA, header=True)

    # Rows are kept from the check to the end of the block, so that both parts come from the one scan.
    with hf.check(orders, rules, key="order_id", all_columns=True) as result:
        clean, quarantined = result.split()
        quarantined.to_spark().write.mode("overwrite").parquet(f"{out}/quarantine")
        bad, rows = spark.read.parquet(f"{out}/quarantine").count(), result.to_dict()["rows"]
        if bad > MOST_BAD * rows:
            raise BadData(f"{bad} of {rows} rows are bad:\n{result.summary()}")
        made = revenue(clean.to_spark()).persist()
        require(made, "country -> currency").write.mode("overwrite").parquet(f"{out}/revenue")
        made.unpersist()
    print(f"{bad} rows set aside, revenue in {out}/revenue")


if __name__ == "__main__":
    main(*sys.argv[1:])
