"""The metrics of checks, as a Parquet table that grows by a file per check."""

from __future__ import annotations

import os
import uuid
from typing import Any

import pyarrow as pa

from holdfast.checking.metrics import metric_table
from holdfast.checking.outcome import CheckOutcome
from holdfast.checking.output_folders import is_remote
from holdfast.errors import OutputError, SourceError, SourceNotFoundError

# The columns that metrics of every version have, of those that a history needs.
_ALWAYS = frozenset({"run_id", "run_time", "rule", "rows", "violating_rows"})


def read_metric_lines(folder: str) -> list[dict[str, Any]]:
    """The lines of the Parquet table in the folder, whichever version and engine wrote them.

    Raises SourceNotFoundError where there is no folder, SourceError where it holds no metrics.
    """
    import pyarrow.parquet as pq

    if not os.path.isdir(folder):
        raise SourceNotFoundError(f"there is no folder {folder!r}.", hint="holdfast check --metrics DIR writes one.")
    files = sorted(name for name in os.listdir(folder) if name.endswith(".parquet") and name[0] not in "._")
    lines: list[dict[str, Any]] = []
    for name in files:
        try:
            table = pq.read_table(os.path.join(folder, name))
        except (OSError, pa.ArrowException) as problem:
            reason = str(problem).strip().splitlines()[0]
            raise SourceError(f"{os.path.join(folder, name)} cannot be read as Parquet: {reason}") from None
        lines += metric_lines_of(table, os.path.join(folder, name))
    if not lines:
        raise SourceError(f"the folder {folder!r} holds no metrics.", hint="holdfast check --metrics DIR writes them.")
    return lines


def metric_lines_of(table: pa.Table, name: str) -> list[dict[str, Any]]:
    """The lines of a table of metrics of this name. SourceError where it is none."""
    missing = sorted(_ALWAYS - set(table.column_names))
    if missing:
        raise SourceError(
            f"{name} is not of a table of metrics: it has no column {missing[0]!r}.",
            hint="name the folder that holdfast check --metrics wrote, or a table of what result.metrics has.",
        )
    # Spark writes instants with a zone; what has none is in UTC.
    times = table["run_time"].cast(pa.timestamp("us", "UTC"))
    return table.set_column(table.column_names.index("run_time"), "run_time", times).to_pylist()  # type: ignore[no-any-return]


def append_metric_lines(outcome: CheckOutcome, folder: str) -> None:
    """Adds a line for each rule of the check to the Parquet table in the folder."""
    import pyarrow.parquet as pq

    if is_remote(folder):
        raise OutputError(f"{folder!r} is not on this machine.", hint="use --engine spark to write there.")
    table = metric_table(outcome)
    try:
        os.makedirs(folder, exist_ok=True)
        name = os.path.join(folder, f"part-{uuid.uuid4()}.parquet")
        pq.write_table(table, f"{name}.tmp")
        os.replace(f"{name}.tmp", name)
    except OSError as problem:
        raise OutputError(f"cannot add metrics to {folder!r}: {problem.strerror or problem}.") from problem
