"""What a table of metrics keeps of each check."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pyarrow as pa

from holdfast.checking.outcome import CheckOutcome
from holdfast.encode.arrow_column_type import arrow_type_of
from holdfast.rules.fingerprint import rule_fingerprint

# The columns, with their types in SQL; folders of earlier versions have those up to `seconds`.
METRICS = {
    "run_id": "string",
    "run_time": "timestamp",
    "rule": "string",
    "rows": "bigint",
    "violating_rows": "bigint",
    "violating_pairs": "bigint",
    "seconds": "double",
    "table": "string",
    "verdict": "string",
    "severity": "string",
    "suspect_rows": "bigint",
    "rule_fingerprint": "string",
}


def metric_table(outcome: CheckOutcome) -> pa.Table:
    """The lines of the check as an Arrow table."""
    lines = [dict(zip(METRICS, line, strict=True)) for line in metric_lines(outcome)]
    return pa.Table.from_pylist(lines, metric_schema())


def metric_schema() -> pa.Schema:
    return pa.schema({name: arrow_type_of(kind) for name, kind in METRICS.items()})


def metric_lines(outcome: CheckOutcome) -> list[tuple[Any, ...]]:
    """A line for each rule of the check, under an id of this run."""
    run, now = str(uuid.uuid4()), dt.datetime.now(dt.UTC)
    rows = {table.name: table.rows for table in outcome.tables}
    return [
        (
            *(run, now, f.rule.name, sum(rows.get(name, 0) for name in f.rule.tables) or outcome.rows),
            *(f.violating_rows, f.violating_pairs, outcome.seconds),
            *(", ".join(f.rule.tables) or outcome.table, f.verdict, f.severity, f.suspect_rows),
            rule_fingerprint(f.rule, outcome.nulls),
        )
        for f in outcome.rules
    ]
