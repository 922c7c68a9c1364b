"""What is to be said of one row, from the coded rows of a table in this process."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.errors import OptionError
from holdfast.explaining.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.explaining.limits import OTHERS
from holdfast.explaining.row_positions import row_positions
from holdfast.explaining.trial import RowTrial
from holdfast.violations.witness import Witness, WorstRow, marked_columns


def explained_row(trial: RowTrial, row: Any, *, table: str, seconds: float = 0.0) -> RowExplanation:
    """What is to be said of the row that `row` names, whichever rows the trial is for; OptionError where there is none.

    `seconds` is what the check took before; the time that this takes is added.
    """
    started = time.monotonic()
    key = trial.plan.key
    given = row_positions(trial.keys, key, row)[:1]
    if len(given) == 0:
        raise OptionError(
            f"{table} has no row with {', '.join(key) or '_row'} = {row!r}.",
            hint="name the row by its key, or without --key by its number, from 0.",
        )
    trial = trial.of_rows(given)
    values = row_values(trial, int(given[0]))
    broken = broken_rules(trial)
    return RowExplanation(
        table=table,
        key="_row" if not key else key[0] if len(key) == 1 else list(key),
        row=row_key(trial, int(given[0])),
        values=values,
        rules=len(trial.plan.rules),
        broken=tuple(broken),
        suggestions=suggestions_of(trial.suggestions(), values) if broken else (),
        seconds=seconds + time.monotonic() - started,
    )


def suggestions_of(changes: pa.Table, values: Mapping[str, Any]) -> tuple[Suggestion, ...]:
    """The changes of one row, which has these values, the best first."""
    lines = changes.to_pylist()
    lines.sort(key=lambda line: (-line["confidence"], line["column"], line["suggested"]))
    return tuple(_suggestion(line, values) for line in lines)


def _suggestion(line: dict[str, Any], values: Mapping[str, Any]) -> Suggestion:
    fields = {name: value for name, value in line.items() if name != "key"}
    return Suggestion(**fields | {"value": values[fields["column"]], "rules": tuple(fields["rules"])})


def broken_rules(trial: RowTrial) -> list[BrokenRule]:
    """The rules that the one given row breaks, each with a pair that shows it and some of the rows it meets."""
    (itself,) = trial.given.tolist()
    broken = []
    for i, pairs in trial.met(OTHERS).items():
        partners = list(dict.fromkeys(end for pair in pairs for end in pair if end is not None and end != itself))
        conflicts = trial.conflicts(i, np.array(partners, np.int64)).tolist() if partners else []
        others = [WorstRow(row_key(trial, at), n) for at, n in zip(partners, conflicts, strict=True)]
        others.sort(key=lambda other: -other.conflicts)  # a stable sort: otherwise in order of their keys
        rule, violations = trial.plan.rules.rules[i], int(trial.before[i, 0])
        broken.append(BrokenRule(rule, violations, _witness(trial, i, pairs[0]), tuple(others)))
    return broken


def _witness(trial: RowTrial, i: int, pair: tuple[int, int | None]) -> Witness:
    rule = trial.plan.rules.rules[i]
    shown = rule.body.columns
    left = {name: value for name, value in row_values(trial, pair[0]).items() if name in shown}
    right = None
    if pair[1] is not None:
        right = {name: value for name, value in row_values(trial, pair[1]).items() if name in shown}
    right_key = None if pair[1] is None else row_key(trial, pair[1])
    return Witness(row_key(trial, pair[0]), left, right_key, right, shown, marked_columns(rule, left, right))


def row_values(trial: RowTrial, position: int) -> dict[str, Any]:
    """The values of the row at this position, by column."""
    (values,) = trial.rows.slice(position, 1).to_pylist()
    return {name: _plain(value) for name, value in values.items()}


def row_key(trial: RowTrial, position: int) -> Any:
    """The row's key as Python values: of several columns, a tuple."""
    key = trial.keys[position].as_py()
    return tuple(map(_plain, key.values())) if pa.types.is_struct(trial.keys.type) else _plain(key)


def _plain(value: Any) -> Any:
    """A time with a zone as the local time without one, as Spark's rows have it in Python."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone().replace(tzinfo=None)
    return value
