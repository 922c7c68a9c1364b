"""What a batch changed, as tasks report it: counts that add up, and files of the log."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.states.batch_outcome import BatchOutcome, Violation
from holdfast.states.manifest import PENDING, Manifest
from holdfast.states.messages import LogFile, Message, Unit, ViolationCount, WrittenSegment, of_type
from holdfast.states.store import Store, told_as_output


@dataclass(frozen=True)
class ViolationTotals:
    """Violations that came and went, and by how much the totals move."""

    added: int
    removed: int
    totals: Mapping[str, int]

    @classmethod
    def of(cls, messages: Iterable[Message], units: Mapping[str, Unit]) -> ViolationTotals:
        """Returns the sum of all counts. `units` says, by rule name, what its total counts."""
        counts = of_type(messages, ViolationCount)
        totals = dict.fromkeys(units, 0)
        for count in counts:
            if count.unit is Unit.PAIRS or units[count.rule] is Unit.ROWS:
                totals[count.rule] += count.added - count.removed
        return cls(sum(count.added for count in counts), sum(count.removed for count in counts), totals)


def discard(store: Store, messages: Sequence[Message]) -> None:
    """What the tasks have written for a batch that is refused is gone."""
    for written in of_type(messages, WrittenSegment):
        store.remove(written.segment.files)
    store.remove(f"{PENDING}/{log.name}" for log in of_type(messages, LogFile))


@dataclass(frozen=True)
class CutLog:
    """The files of a version's log, and what they list, in order of rules and keys."""

    files: tuple[str, ...]
    added: tuple[Violation, ...]
    removed: tuple[Violation, ...]

    def outcome(self, batch: str, version: Manifest[Any], counts: ViolationTotals, *, seconds: float) -> BatchOutcome:
        """Returns what the batch of this version came to."""
        return BatchOutcome(
            batch=batch,
            applied=True,
            version=version.version,
            rows=version.rows,
            added=self.added,
            removed=self.removed,
            added_count=counts.added,
            removed_count=counts.removed,
            totals=version.totals,
            seconds=seconds,
        )


def unchanged(batch: str, now: Manifest[Any]) -> BatchOutcome:
    """What a batch comes to that had been taken in before."""
    return BatchOutcome(batch, False, now.version, now.rows, (), (), 0, 0, now.totals)


def cut_log(store: Store, messages: Iterable[Message], names: Sequence[str], version: int, limit: int | None) -> CutLog:
    """The log that tasks have written, each up to the limit, cut to it: so many of a rule that came, and that went."""
    files = [log.name for log in of_type(messages, LogFile)]
    if not files:
        return CutLog((), (), ())
    table = pa.concat_tables([pq.read_table(store.path(f"{PENDING}/{name}")) for name in files])
    rules = np.searchsorted(np.sort(names), table.column("rule").to_numpy(zero_copy_only=False).astype(str))
    change = table.column("change").to_numpy().astype(np.int64)
    if limit is not None:
        order = np.lexsort((change, rules))
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (rules[order][1:] != rules[order][:-1]) | (change[order][1:] != change[order][:-1])
        starts = np.flatnonzero(fresh)
        place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        kept = order[place < limit]
        if len(kept) < table.num_rows:
            table = table.take(pa.array(np.sort(kept)))
            files = [f"{version:012}-{secrets.token_hex(12)}.parquet"]
            with told_as_output(store.root):
                pq.write_table(table, store.path(f"{PENDING}/{files[0]}"))
    return CutLog(tuple(files), _violations(table, 1, names), _violations(table, -1, names))


def write_log(store: Store, version: int, changes: pa.Table) -> str:
    """The name of a file of (rule, left, right, change), each with the version; it is on the disk when this returns."""
    table = changes.add_column(0, "version", pa.array(np.full(changes.num_rows, version, np.int64)))
    name = f"{version:012}-{secrets.token_hex(12)}.parquet"
    with told_as_output(store.root), open(store.path(f"{PENDING}/{name}"), "xb") as file:
        pq.write_table(table, file)
        file.flush()
        os.fsync(file.fileno())
    return name


def empty_log(store: Store, key: pa.DataType) -> str:
    """The name of a file of no changes, so that the log has its columns from the start."""
    columns = {"version": pa.int64(), "rule": pa.string(), "left": key, "right": key, "change": pa.int8()}
    name = f"{0:012}-{secrets.token_hex(12)}.parquet"
    with told_as_output(store.root):
        pq.write_table(pa.schema(list(columns.items())).empty_table(), store.path(f"{PENDING}/{name}"))
    return name


def _violations(table: pa.Table, change: int, names: Sequence[str]) -> tuple[Violation, ...]:
    listed = table.filter(pa.array(table.column("change").to_numpy() == change))
    place = {name: i for i, name in enumerate(names)}
    columns = (listed.column(name).to_pylist() for name in ("rule", "left", "right"))
    found = [Violation(rule, _key(left), _key(right)) for rule, left, right in zip(*columns, strict=True)]
    return tuple(sorted(found, key=lambda v: (place[v.rule], _sortable(v.left), _sortable(v.right))))


def _key(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


def _sortable(value: Any) -> Any:
    return (0, ()) if value is None else (1, value if isinstance(value, tuple) else (value,))
