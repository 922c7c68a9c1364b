"""In foreachBatch, each micro-batch is checked and handed on with what its rows break."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.checking.outcome import CheckOutcome


def test_a_stream_is_annotated_batch_by_batch(spark: SparkSession, tmp_path: Path) -> None:
    for number, rows in enumerate((["1,02139,Cambridge", "2,02139,Cambrige"], ["3,02139,Cambridge"])):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    stream = (
        spark.readStream.schema("id int, zip string, city string")
        .option("maxFilesPerTrigger", 1)
        .csv(str(tmp_path / "in"))
    )
    outcomes: list[CheckOutcome] = []
    checked = str(tmp_path / "checked")

    def each(batch: DataFrame, number: int) -> None:
        outcomes.append(
            hf.check_batch(
                batch, "zip -> city", key="id", write=lambda rows: rows.write.mode("append").parquet(checked)
            )
        )

    query = stream.writeStream.foreachBatch(each).option("checkpointLocation", str(tmp_path / "at"))
    query.trigger(availableNow=True).start().awaitTermination()
    assert [outcome.holds for outcome in outcomes] == [False, True]
    by_id = {row["id"]: row for row in spark.read.parquet(checked).collect()}
    assert {number: row["_errors"] and row["_errors"][0]["partners"] for number, row in by_id.items()} == {
        1: [2],
        2: [1],
        3: None,
    }
    assert {row["_warnings"] for row in by_id.values()} == {None}


def test_a_check_of_no_rules_annotates_nothing(spark: SparkSession) -> None:
    with hf.check(spark.createDataFrame([(1,)], "id int"), [], key="id") as result:
        assert list(result.annotated()) == [{"id": 1, "_errors": None, "_warnings": None}]
