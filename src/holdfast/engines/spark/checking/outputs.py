"""Results to folders and files, whole or not at all."""

from __future__ import annotations

import datetime as dt
import os
import secrets
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from holdfast.checking.outcome import CheckOutcome
from holdfast.checking.output_folders import is_remote, require_writable_folder
from holdfast.errors import OutputError

METRICS = (
    "run_id string, run_time timestamp, rule string, rows bigint, violating_rows bigint, violating_pairs bigint, "
    "seconds double"
)


def write_folders(frames: Mapping[str, DataFrame], folder: str) -> None:
    """Each frame as Parquet in its own folder below `folder`, replacing earlier results once all are written."""
    require_writable_folder(folder, tuple(frames))
    try:
        if is_remote(folder):
            for name, frame in frames.items():
                frame.write.mode("overwrite").parquet(f"{folder.rstrip('/')}/{name}")
            return
        place = Path(folder).absolute()
        place.mkdir(parents=True, exist_ok=True)
        waiting = place.parent / f".{place.name}.{secrets.token_hex(4)}.tmp"
        try:
            for name, frame in frames.items():
                frame.write.parquet((waiting / name).as_uri())
            for name in frames:
                shutil.rmtree(place / name, ignore_errors=True)
                os.replace(waiting / name, place / name)
        finally:
            shutil.rmtree(waiting, ignore_errors=True)
    except OSError as problem:
        raise OutputError(f"cannot write results to {folder!r}: {problem.strerror or problem}.") from problem
    except PySparkException as problem:
        reason = str(problem).strip().splitlines()[0]
        raise OutputError(f"cannot write results to {folder!r}: {reason}") from problem


def append_metrics(spark: SparkSession, outcome: CheckOutcome, folder: str) -> None:
    """A line for each rule of the check, added to the Parquet table in the folder."""
    run, now = str(uuid.uuid4()), dt.datetime.now(dt.UTC)
    lines = [
        (run, now, f.rule.name, outcome.rows, f.violating_rows, f.violating_pairs, outcome.seconds)
        for f in outcome.rules
    ]
    place = folder if is_remote(folder) else Path(folder).absolute().as_uri()
    try:
        spark.createDataFrame(lines, METRICS).coalesce(1).write.mode("append").parquet(place)
    except PySparkException as problem:
        reason = str(problem).strip().splitlines()[0]
        raise OutputError(f"cannot add metrics to {folder!r}: {reason}") from problem
