"""On Spark Connect: the same calls, on a session whose driver runs elsewhere.

    pip install 'holdfast[connect]'
    SPARK_REMOTE=sc://spark.example.com:15002 python examples/connect_client.py s3a://shop/orders rules.yaml
    python examples/connect_client.py demo/orders.csv demo/rules.yaml        # with a server of its own, on this machine

DATA is read by the server, so it must lie where the server sees it; the rules are read here. The server's Python needs
what a cluster's does (see submitted_job.py).
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import holdfast as hf


def main(data: str, rules: str) -> int:
    SparkSession.builder.remote(os.environ.get("SPARK_REMOTE", "local[2]")).getOrCreate()
    with hf.check(data, rules, key="order_id") as result:
        print(result.summary())
        worst = result.rows.to_spark().orderBy("conflicts", ascending=False).limit(3)  # a DataFrame of Spark Connect
        print("worst rows:", [row["key"] for row in worst.collect()])
        return 0 if result.holds else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
