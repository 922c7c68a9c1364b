"""What one task does with all rows of a table: Arrow batches in, suggestions or an explanation out.

Rows come with their key `k` and all columns of the table as `c0`, `c1`, ...; the plan has no conditions.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.explaining.explained_row import explained_row
from holdfast.explaining.row_positions import row_positions
from holdfast.explaining.trial import RowTrial
from holdfast.programs.arrow_rows import form_columns
from holdfast.programs.plan import Plan
from holdfast.violations.evaluate import evaluate
from holdfast.violations.part import Ints, part_of


@dataclass(frozen=True)
class SuggestTask:
    """Suggestions for the first `most` suspect rows, by key; as a check with this `limit` of pairs suspects them."""

    plan: Plan
    limit: int
    most: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        trial = arrived_trial(pa.Table.from_batches(received), self.plan, self.limit)
        every = [trial.suspects(i) for i in range(len(self.plan.rules))]
        suspects = np.unique(np.concatenate([np.empty(0, np.int64), *every]))
        first = suspects[np.argsort(trial.part.order[suspects])][: self.most]
        yield from trial.of_rows(first).suggestions().to_batches()


@dataclass(frozen=True)
class RowExplanationTask:
    """The explanation of the row that `row` names, pickled, in the one column `told`; no line where there is none."""

    plan: Plan
    limit: int
    row: Any
    table: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        trial = arrived_trial(pa.Table.from_batches(received), self.plan, self.limit)
        if len(row_positions(trial.keys, self.plan.key, self.row)):
            answer = pickle.dumps(explained_row(trial, self.row, table=self.table))
            yield pa.RecordBatch.from_arrays([pa.array([answer], pa.binary())], names=["answer"])


def arrived_trial(table: pa.Table, plan: Plan, limit: int) -> RowTrial:
    """The trial of no row yet among the rows that have arrived."""
    names = list(plan.schema.types)
    rows = table.select([f"c{i}" for i in range(len(names))]).rename_columns(names)
    keys = table.column("k")
    part = part_of(pa.table({"k": keys, **form_columns(rows, plan)}), plan.programs)

    @cache
    def suspects(i: int) -> Ints:
        finding = evaluate(plan.programs.programs[i], part, limit=limit)
        return np.flatnonzero(finding.violating) if finding.suspects is None else finding.suspects

    return RowTrial(rows, keys, plan, part, suspects, np.empty(0, np.int64))
