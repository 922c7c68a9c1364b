"""A state on an object store whose tasks run on Spark: each fetches and sends files by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast
from faults.test_watch_crashes import RULES, written
from holdfast.api import WatchState
from holdfast.errors import OptionError
from object_stores import fresh_place

# A session of its own: its workers have the environment that it was started with, where the keys are.
PROGRAM = """
import json, sys
from holdfast.api import WatchState
place, data, rules, first, second = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4], sys.argv[5]
WatchState.create(place, data, rules, key="id", engine="spark", master="local[2]",
                  conf={"spark.sql.shuffle.partitions": "2"})
WatchState.open(place, engine="spark").apply(first)
WatchState.open(place, engine="local").apply(second)
shown = WatchState.open(place, engine="spark").show()
print(json.dumps({"rows": shown.rows, "totals": dict(shown.totals)}))
"""


def test_a_stream_needs_a_folder_for_its_notes(spark: SparkSession, s3_bucket: str, cache: Path) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(OptionError, match="the checkpoint of a stream cannot be at s3://states/x"):
        holdfast.watch(stream, ["timestamp -> value"], key="value", checkpoint=fresh_place("s3://states/x"))


@pytest.mark.soak
def test_tasks_on_spark_reach_the_store(tmp_path: Path, s3_bucket: str, cache: Path) -> None:
    data, files, rows = written(tmp_path, 1)
    place = fresh_place(s3_bucket)
    command = [sys.executable, "-c", PROGRAM, place, str(data), json.dumps(RULES), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    state = WatchState.create(tmp_path / "folder", data, RULES, key="id", engine="local")
    for file in files:
        state.apply(file)
    assert told == {"rows": rows, "totals": dict(state.show().totals)}
    assert not WatchState.verify(place).problems
