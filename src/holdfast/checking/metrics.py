"""What a table of metrics keeps of each check."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from holdfast.checking.outcome import CheckOutcome

# The columns, with their types in SQL.
METRICS = {
    "run_id": "string",
    "run_time": "timestamp",
    "rule": "string",
    "rows": "bigint",
    "violating_rows": "bigint",
    "violating_pairs": "bigint",
    "seconds": "double",
}


def metric_lines(outcome: CheckOutcome) -> list[tuple[Any, ...]]:
    """A line for each rule of the check, under an id of this run."""
    run, now = str(uuid.uuid4()), dt.datetime.now(dt.UTC)
    return [
        (run, now, f.rule.name, outcome.rows, f.violating_rows, f.violating_pairs, outcome.seconds)
        for f in outcome.rules
    ]
