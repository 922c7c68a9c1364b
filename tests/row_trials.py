"""Trials of the rows of a table in this process: what a check without Spark would hand over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.encode.column_type import column_type
from holdfast.explaining.trial import RowTrial
from holdfast.programs.arrow_rows import form_columns
from holdfast.programs.bind import Schema
from holdfast.programs.plan import make_plan
from holdfast.rules.rule import RuleSet
from holdfast.violations.evaluate import UNLIMITED, evaluate
from holdfast.violations.part import Ints, part_of
from strategies import ARROW, RandomTable


def arrow_table(table: RandomTable) -> pa.Table:
    """The random table as Arrow."""
    columns = {
        name: pa.array([row[name] for row in table.rows], ARROW[kind], from_pandas=False)
        for name, kind in table.types.items()
    }
    return pa.table(columns)


def random_trial(table: RandomTable, rules: RuleSet, given: Sequence[int] | None = None) -> RowTrial:
    """The trial of the rows at these positions, or of all suspect rows."""
    schema = Schema("random", {name: column_type(kind) for name, kind in table.types.items()})
    return trial_of(arrow_table(table), rules, schema, ("id",), given)


def trial_of(
    rows: pa.Table,
    rules: RuleSet,
    schema: Schema | None = None,
    key: Sequence[str] = (),
    given: Sequence[int] | None = None,
) -> RowTrial:
    """The trial of the rows at these positions, or of all suspect rows; numbered where there is no key."""
    schema = schema or Schema("table", {f.name: arrow_column_type(f.type) for f in rows.schema})
    plan = make_plan(rules, schema, key)
    keys = pa.chunked_array([pa.array(np.arange(rows.num_rows))])
    if len(key) == 1:
        keys = rows.column(key[0])
    elif key:
        parts = [rows.column(name).combine_chunks() for name in key]
        keys = pa.chunked_array([pa.StructArray.from_arrays(parts, names=list(key))])
    part = part_of(pa.table({"k": keys, **form_columns(rows, plan)}), plan.programs)

    def suspects(i: int) -> Ints:
        found = evaluate(plan.programs.programs[i], part, limit=UNLIMITED)
        assert found.suspects is not None, "without a limit they are known"
        return found.suspects

    if given is None:
        every = [suspects(i) for i in range(len(rules))]
        given = np.unique(np.concatenate([np.empty(0, np.int64), *every])).tolist()
    return RowTrial(rows, keys, plan, part, suspects, np.array(given, np.int64))


def suggested_lines(changes: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """The suggestions in an order of their own, as values that compare alike whichever engine made them."""
    return sorted(
        (
            change["key"],
            change["column"],
            change["suggested"],
            str(change["value"]),
            change["resolves"],
            change["adds"],
            tuple(change["rules"]),
            round(change["confidence"], 12),
            str(change["low"]),
            str(change["high"]),
        )
        for change in changes
    )
