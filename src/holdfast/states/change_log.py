"""What a batch changed, as tasks report it: counts that add up, and files of the log."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.manifest import PENDING, AnyBody, Manifest
from holdfast.states.messages import LogFile, Message, Unit, ViolationCount, WrittenSegment, net_rows, of_type
from holdfast.states.store import Store
from holdfast.states.violations_change import RuleViolationsChange, Violation, ViolationsChange


def moved_totals(messages: Iterable[Message], units: Mapping[str, Unit]) -> dict[str, int]:
    """Returns, by rule name, by how much its total moves. `units` says what the total of each rule counts."""
    totals = dict.fromkeys(units, 0)
    for count in of_type(messages, ViolationCount):
        if count.unit is Unit.PAIRS or units[count.rule] is Unit.ROWS:
            totals[count.rule] += count.added - count.removed
    return totals


def discard(store: Store, messages: Sequence[Message]) -> None:
    """What the tasks have written for a batch that is refused is gone."""
    for written in of_type(messages, WrittenSegment):
        store.remove(written.segment.files)
    store.remove(f"{PENDING}/{log.name}" for log in of_type(messages, LogFile))


@dataclass(frozen=True)
class BatchLog:
    """The files of a version's log, and what came and went of each rule that they list."""

    files: tuple[str, ...]
    rules: Mapping[str, RuleViolationsChange]

    def outcome(self, batch: str, version: Manifest[Any], *, seconds: float) -> BatchOutcome:
        """Returns what the batch of this version came to."""
        change = ViolationsChange(self.rules, version.totals)
        return BatchOutcome(batch, True, version.version, version.rows, change, seconds)


def logged_version(
    now: Manifest[AnyBody], log: BatchLog, messages: Sequence[Message], units: Mapping[str, Unit]
) -> Manifest[AnyBody]:
    """Returns what the messages of a batch make of this version: its tables, its rows, its totals and its log."""
    moved = moved_totals(messages, units)
    return replace(
        now,
        rows=now.rows + net_rows(messages),
        totals={name: n + moved.get(name, 0) for name, n in now.totals.items()},
        body=now.body.with_written(messages),
        log=log.files,
    )


def unchanged(batch: str, now: Manifest[Any]) -> BatchOutcome:
    """Returns the outcome of a batch that had been applied before."""
    return BatchOutcome(batch, False, now.version, now.rows, ViolationsChange(totals=now.totals))


def batch_log(
    store: Store, messages: Sequence[Message], names: Sequence[str], version: int, limit: int | None
) -> BatchLog:
    """Returns the log that tasks have written, each up to the limit, cut to it: per rule, in either direction.

    `names` are those of all rules, in order; violations of a rule are in order of their keys.
    """
    files, table = _cut(store, [log.name for log in of_type(messages, LogFile)], names, version, limit)
    listed = {change: _by_rule(table, change) for change in (1, -1)}
    counts: dict[str, list[int]] = {name: [0, 0] for name in names}
    for count in of_type(messages, ViolationCount):
        counts[count.rule][0] += count.added
        counts[count.rule][1] += count.removed
    rules = {
        name: _net(RuleViolationsChange(listed[1].get(name, ()), listed[-1].get(name, ()), added, removed))
        for name, (added, removed) in counts.items()
        if added or removed
    }
    return BatchLog(files, {name: change for name, change in rules.items() if change})


def _net(change: RuleViolationsChange) -> RuleViolationsChange:
    """The change without what went in one piece of work and came in another; as it is where its lists were cut."""
    both = set(change.added) & set(change.removed)
    if change.cut or not both:
        return change
    added, removed = ([v for v in side if v not in both] for side in (change.added, change.removed))
    return RuleViolationsChange(added, removed, len(added), len(removed))


def _cut(
    store: Store, files: Sequence[str], names: Sequence[str], version: int, limit: int | None
) -> tuple[tuple[str, ...], pa.Table | None]:
    """The files and what they list; one new file where they list more of a rule than the limit."""
    if not files:
        return (), None
    table = pa.concat_tables([pq.read_table(store.file(f"{PENDING}/{name}")) for name in files])
    if limit is None:
        return tuple(files), table
    rules = np.searchsorted(np.sort(names), table.column("rule").to_numpy(zero_copy_only=False).astype(str))
    change = table.column("change").to_numpy().astype(np.int64)
    order = np.lexsort((change, rules))
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (rules[order][1:] != rules[order][:-1]) | (change[order][1:] != change[order][:-1])
    starts = np.flatnonzero(fresh)
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = order[place < limit]
    if len(kept) == table.num_rows:
        return tuple(files), table
    table = table.take(pa.array(np.sort(kept)))
    return (_written(store, version, table),), table


def write_log(store: Store, version: int, changes: pa.Table) -> str:
    """The name of a file of (rule, left, right, change), each with the version; it is on the disk when this returns."""
    table = changes.add_column(0, "version", pa.array(np.full(changes.num_rows, version, np.int64)))
    return _written(store, version, table)


def empty_log(store: Store, key: pa.DataType) -> str:
    """The name of a file of no changes, so that the log has its columns from the start."""
    columns = {"version": pa.int64(), "rule": pa.string(), "left": key, "right": key, "change": pa.int8()}
    return _written(store, 0, pa.schema(list(columns.items())).empty_table())


def _written(store: Store, version: int, changes: pa.Table) -> str:
    """The name of a new file of the log of this version."""
    name = f"{version:012}-{secrets.token_hex(12)}.parquet"
    store.write(f"{PENDING}/{name}", partial(pq.write_table, changes))
    return name


def _by_rule(table: pa.Table | None, change: int) -> dict[str, list[Violation]]:
    """By rule, the violations that the log lists with this change, in order of their keys."""
    by_rule: dict[str, list[Violation]] = {}
    if table is None:
        return by_rule
    listed = table.filter(pa.array(table.column("change").to_numpy() == change))
    columns = (listed.column(name).to_pylist() for name in ("rule", "left", "right"))
    for rule, left, right in zip(*columns, strict=True):
        by_rule.setdefault(rule, []).append((_key(left), _key(right)))
    for violations in by_rule.values():
        violations.sort(key=lambda pair: (_sortable(pair[0]), _sortable(pair[1])))
    return by_rule


def _key(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


def _sortable(value: Any) -> Any:
    return (0, ()) if value is None else (1, value if isinstance(value, tuple) else (value,))
