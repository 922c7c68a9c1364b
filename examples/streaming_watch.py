"""In foreachBatch of a Structured Streaming query: the violations that each micro-batch adds and removes.

    python examples/streaming_watch.py incoming rules.yaml watched          # what is there now, then it ends
    python examples/streaming_watch.py incoming rules.yaml watched follow   # and whatever comes

`incoming` is a folder of CSV files of changes: order_id, zip, city, total and `_change_type`, which is insert, delete,
update_preimage or update_postimage (empty: insert). Any other source of a stream will do: Kafka, Delta, a table.

Each batch is applied once: after a crash Spark gives the same batch again under the same number, and `hf.watch` then
says `applied=False`. `holdfast watch show watched/state` tells what is violated, at any time, also while this runs.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession

import holdfast as hf

SCHEMA = "order_id string, zip string, city string, total double, _change_type string"


def alert(text: str) -> None:
    """Stands for whatever calls somebody."""
    print(text, flush=True)


def main(source: str, rules: str, place: str, how: str = "once") -> None:
    spark = SparkSession.builder.appName("watch").getOrCreate()
    changes = spark.readStream.schema(SCHEMA).option("header", True).csv(source)

    def each(batch: DataFrame, batch_id: int) -> None:
        outcome = hf.watch(batch, rules, key="order_id", checkpoint=place, batch=batch_id)
        for violation in outcome.added[:10]:
            partner = "" if violation.right is None else f" with {violation.right}"
            alert(f"batch {batch_id}: {violation.rule} is broken by {violation.left}{partner}")
        print(f"batch {batch_id}: +{outcome.added_count} -{outcome.removed_count}, now {dict(outcome.totals)}")

    query = changes.writeStream.foreachBatch(each).option("checkpointLocation", f"{place}/query")
    query = query.trigger(availableNow=True) if how == "once" else query.trigger(processingTime="10 seconds")
    query.start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
