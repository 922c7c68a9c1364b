"""Results to folders and files, whole or not at all."""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from holdfast.checking.outcome import CheckOutcome
from holdfast.errors import OutputError

METRICS = (
    "run_id string, run_time timestamp, rule string, rows bigint, violating_rows bigint, violating_pairs bigint, "
    "seconds double"
)


def require_writable_folder(folder: str, parts: tuple[str, ...] | None) -> None:
    """OutputError when the folder cannot be made, or holds something that a result would not replace.

    A result replaces its `parts`; with None it is added to what is there.
    """
    if _remote(folder):
        return
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise OutputError(f"cannot write results to {folder!r}: it is a file, not a folder.")
    if place.is_dir() and parts is not None:
        others = sorted(entry.name for entry in place.iterdir() if entry.name not in parts)
        if others:
            raise OutputError(
                f"the folder {folder!r} holds other things ({', '.join(others[:3])}), so no results are written there.",
                hint="name a new folder, or one that holds nothing but earlier results.",
            )
    nearest = next(parent for parent in (place, *place.absolute().parents) if parent.exists())
    if not os.access(nearest, os.W_OK):
        raise OutputError(f"cannot write to {str(nearest)!r}: no permission.")


def write_folders(frames: Mapping[str, DataFrame], folder: str) -> None:
    """Each frame as Parquet in its own folder below `folder`, replacing earlier results once all are written."""
    try:
        if _remote(folder):
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
    place = folder if _remote(folder) else Path(folder).absolute().as_uri()
    try:
        spark.createDataFrame(lines, METRICS).coalesce(1).write.mode("append").parquet(place)
    except PySparkException as problem:
        reason = str(problem).strip().splitlines()[0]
        raise OutputError(f"cannot add metrics to {folder!r}: {reason}") from problem


def _remote(folder: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", folder) is not None
