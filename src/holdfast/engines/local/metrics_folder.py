"""The metrics of checks, as a Parquet table that grows by a file per check."""

from __future__ import annotations

import os
import uuid

import pyarrow as pa

from holdfast.checking.metrics import METRICS, metric_lines
from holdfast.checking.outcome import CheckOutcome
from holdfast.checking.output_folders import is_remote
from holdfast.encode.arrow_column_type import arrow_type_of
from holdfast.errors import OutputError


def append_metric_lines(outcome: CheckOutcome, folder: str) -> None:
    """Adds a line for each rule of the check to the Parquet table in the folder."""
    import pyarrow.parquet as pq

    if is_remote(folder):
        raise OutputError(f"{folder!r} is not on this machine.", hint="use --engine spark to write there.")
    lines = [dict(zip(METRICS, line, strict=True)) for line in metric_lines(outcome)]
    table = pa.Table.from_pylist(lines, pa.schema({name: arrow_type_of(kind) for name, kind in METRICS.items()}))
    try:
        os.makedirs(folder, exist_ok=True)
        name = os.path.join(folder, f"part-{uuid.uuid4()}.parquet")
        pq.write_table(table, f"{name}.tmp")
        os.replace(f"{name}.tmp", name)
    except OSError as problem:
        raise OutputError(f"cannot add metrics to {folder!r}: {problem.strerror or problem}.") from problem
