"""In foreachBatch of a Structured Streaming query: the rules themselves, kept up to date as rows come and go.

    holdfast demo --dir demo
    python examples/streaming_evolve.py demo/clean.csv incoming kept

At first the rules are those that `holdfast discover demo/clean.csv` finds among zip, city and state. `incoming` is a
folder of CSV files of changes of that table: order_id, zip, city, state and `_change_type`. A rule that falls is told
with the two rows that broke it: either the rule was an accident, or these rows are wrong.

`holdfast evolve show kept/state` tells the rules as they are now.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession

import holdfast as hf

COLUMNS = ["order_id", "zip", "city", "state"]
SCHEMA = ", ".join(f"{name} string" for name in [*COLUMNS, "_change_type"])


def main(table: str, source: str, place: str) -> None:
    spark = SparkSession.builder.appName("evolve").getOrCreate()
    first = spark.read.csv(table, header=True).select(*COLUMNS)
    changes = spark.readStream.schema(SCHEMA).option("header", True).csv(source)

    def each(batch: DataFrame, batch_id: int) -> None:
        # `data` and the options of `discover` count when the state is made; later they are part of it.
        outcome = hf.evolve(
            batch, key="order_id", checkpoint=place, batch=batch_id, data=first, exclude="order_id", cross_columns="off"
        )
        for fallen in outcome.change.removed:
            print(f"batch {batch_id}: no longer holds: {fallen.rule}")
            if fallen.witness is not None:
                print(f"    broken by {fallen.witness.left} and {fallen.witness.right}: {fallen.witness.values}")
        for new in outcome.change.added:
            print(f"batch {batch_id}: holds now: {new.rule}")
        print(f"batch {batch_id}: {outcome.change.total} rules")

    query = changes.writeStream.foreachBatch(each).option("checkpointLocation", f"{place}/query")
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
