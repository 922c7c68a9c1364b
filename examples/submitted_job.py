"""Under spark-submit: a job of its own, whose exit code is that of `holdfast check`.

    spark-submit --master 'local[2]' examples/submitted_job.py demo/orders.csv demo/rules.yaml out

On a cluster the executors' Python needs Holdfast's dependencies, and Holdfast itself or, with --py-files, a zip of it;
where it has neither, the check says so and goes on in Spark SQL. `out` must then lie where all machines see it.

Leaves `out/pairs`, `out/rows` and `out/groups`, as `holdfast check --violations` does, and prints the verdict as JSON.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import holdfast as hf

VIOLATED, BAD_INPUT = 1, 2


def main(data: str, rules: str, out: str) -> int:
    SparkSession.builder.appName("holdfast check").getOrCreate()  # what spark-submit was told; Holdfast uses it
    try:
        with hf.check(data, rules, key="order_id") as result:
            for name, table in (("pairs", result.pairs), ("rows", result.rows), ("groups", result.groups)):
                table.to_spark().write.mode("overwrite").parquet(f"{out}/{name}")
            print(json.dumps(result.to_dict()))
            return 0 if result.holds else VIOLATED
    except hf.HoldfastError as problem:  # a rule that does not fit the table, a file that is not there
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
        return BAD_INPUT


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
