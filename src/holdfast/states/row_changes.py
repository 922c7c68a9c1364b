"""The rows of a state: written first, read back, and what a batch of changes does to them.

A task gets the changes of some keys, all of each, in any order, with their place in the batch. It looks up the rows
that have these keys now, takes the changes of a key one after the other, and keeps the net effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.codes import shared_codes
from holdfast.states.manifest import ROWS
from holdfast.states.messages import (
    MESSAGE,
    Message,
    Refusal,
    RefusedChange,
    RowCount,
    WrittenSegment,
    message_batch,
    message_text,
)
from holdfast.states.segment import (
    Ints,
    PieceTask,
    Segment,
    entries_between,
    key_of,
    marked,
    present,
    rows_with,
    write_segment,
)
from holdfast.states.store import Store

INSERT, DELETE, BEFORE, AFTER = range(4)
CHANGE_TYPE = "_change_type"
CHANGE_TYPES = ("insert", "delete", "update_preimage", "update_postimage")
# After those, any other text; and a row that comes without all columns of its table, of several in one batch.
LACKING = len(CHANGE_TYPES) + 1


@dataclass(frozen=True)
class FirstRowsTask(PieceTask):
    """A task: all rows of some ranges of hashes, which it writes as one file each; out come messages of them."""

    store: Store

    def _piece(self, piece: pa.Table) -> Iterator[pa.RecordBatch]:
        entries = marked(piece.drop_columns(["work"]), 0, gone=False)
        segment = write_segment(self.store, ROWS, entries, base=True)
        yield message_batch(WrittenSegment(ROWS, segment))


@dataclass(frozen=True)
class PresentRowsTask:
    """A task: numbers of ranges of hashes, `id`; out come the rows of the state that have those."""

    store: Store
    segments: tuple[Segment, ...]
    places: int
    width: int
    key: tuple[str, ...]
    key_names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = [f"c{i}" for i in range(self.width)]
        for place in (number for batch in batches for number in batch.column("id").to_pylist()):
            entries = entries_between(self.store, self.segments, place, self.places)
            if entries is None:
                continue
            rows = present(entries, key_of(entries, self.key, self.key_names)).select(columns)
            yield from rows.combine_chunks().to_batches(max_chunksize=10_000)


@dataclass(frozen=True)
class RowChangesTask(PieceTask):
    """A task: changes with key `k`, its hash `h`, their type `ct`, their place `o0`, `o1`, `o2`, and columns `c0`, ...

    Out come the rows that go (`sign` -1) and come (1), by the columns in `kept`, and messages (`sign` 0): the file that
    was written and how many rows came and went, or why the batch is refused. `known` are the columns that the changes
    have; only deletes do without others.
    """

    store: Store
    segments: tuple[Segment, ...]
    version: int
    key: tuple[int, ...]
    key_names: tuple[str, ...]
    width: int
    kept: tuple[int, ...]
    known: tuple[int, ...]

    def _piece(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        keys = changes.column("k")
        if is_null_key(keys, len(self.key)).any():
            yield self._message(changes, RefusedChange(Refusal.NULL_KEY, None))
            return
        now = self._now(changes)
        key_codes, now_codes = (coded.codes for coded in shared_codes([keys, self._key(now)]))
        effect = net_effect(changes, key_codes, now_codes, whole=len(self.known) == self.width)
        if isinstance(effect, Misfit):
            yield self._message(changes, RefusedChange.of(effect.reason, keys[effect.change].as_py()))
            return
        old, new = now.take(pa.array(effect.go)), changes.take(pa.array(effect.come))
        if old.num_rows or new.num_rows:
            columns = [f"c{i}" for i in range(self.width)]
            gone = marked(old.select(["h", *columns]), self.version, gone=True)
            entered = marked(new.select(["h", *columns]), self.version, gone=False)
            segment = write_segment(self.store, ROWS, pa.concat_tables([gone, entered]))
            yield self._message(changes, WrittenSegment(ROWS, segment))
            yield self._message(changes, RowCount(new.num_rows, old.num_rows))
        for sign, rows, key in ((-1, old, self._key(old)), (1, new, new.column("k"))):
            if rows.num_rows:
                yield from self._batches(changes, rows, key, sign)

    def _now(self, changes: pa.Table) -> pa.Table:
        """The rows that are there now under the hashes of the changes' keys."""
        types = {name: changes.column(name).type for name in ("h", *(f"c{i}" for i in range(self.width)))}
        hashes = changes.column("h").to_numpy()
        return rows_with(self.store, self.segments, hashes, types, key=self._key_columns, key_names=self.key_names)

    @property
    def _key_columns(self) -> list[str]:
        return [f"c{i}" for i in self.key]

    def _key(self, rows: pa.Table) -> pa.ChunkedArray:
        return key_of(rows, self._key_columns, self.key_names)

    def _batches(self, changes: pa.Table, rows: pa.Table, key: pa.ChunkedArray, sign: int) -> Iterator[pa.RecordBatch]:
        size = rows.num_rows
        kind = changes.column("k").type
        signed = pa.table(
            {
                "sign": pa.array(np.full(size, sign, np.int32)),
                MESSAGE: pa.nulls(size, pa.string()),
                "k": key if key.type == kind else key.cast(kind),
                **{f"c{i}": rows.column(f"c{i}") for i in self.kept},
            }
        )
        yield from signed.combine_chunks().to_batches(max_chunksize=100_000)

    def _message(self, changes: pa.Table, message: Message) -> pa.RecordBatch:
        columns: dict[str, Any] = {
            "sign": pa.array([0], pa.int32()),
            MESSAGE: pa.array([message_text(message)]),
            "k": pa.nulls(1, changes.column("k").type),
        }
        columns |= {f"c{i}": pa.nulls(1, changes.column(f"c{i}").type) for i in self.kept}
        return pa.RecordBatch.from_pydict(columns)


def is_null_key(keys: pa.ChunkedArray, parts: int) -> NDArray[np.bool_]:
    """Which keys of so many columns have a null in one."""
    if parts == 1:
        return np.asarray(keys.is_null().to_numpy(), np.bool_)
    whole = keys.combine_chunks()
    return np.asarray(np.logical_or.reduce([np.asarray(whole.field(i).is_null()) for i in range(parts)]), np.bool_)


@dataclass(frozen=True)
class NetEffect:
    """The positions of the rows that go, among those that are there, and of the changes whose row comes."""

    go: Ints
    come: Ints


@dataclass(frozen=True)
class Misfit:
    """The position of the first change of a batch that does not fit, and why."""

    reason: Refusal
    change: int


def net_effect(changes: pa.Table, key_codes: Ints, now_codes: Ints, *, whole: bool) -> NetEffect | Misfit:
    """What the changes come to, taken in order. `whole` says whether they have all columns of the table."""
    place = [changes.column(name) for name in ("o2", "o1")]
    order = np.lexsort((*(p.to_numpy() for p in place), shared_codes([changes.column("o0")])[0].codes))
    kinds = np.asarray(pc.fill_null(changes.column("ct"), INSERT).to_numpy(), np.int64)[order]
    codes = key_codes[order]
    unknown = np.flatnonzero(kinds >= len(CHANGE_TYPES))
    if len(unknown):
        reason = Refusal.MISSING_COLUMNS if kinds[unknown[0]] == LACKING else Refusal.UNKNOWN_TYPE
        return Misfit(reason, int(order[unknown[0]]))
    if not whole and (short := np.flatnonzero((kinds == INSERT) | (kinds == AFTER))).size:
        return Misfit(Refusal.MISSING_COLUMNS, int(order[short[0]]))
    ids, keys = np.unique(codes, return_inverse=True)
    sorted_now = np.argsort(now_codes, kind="stable")
    at = np.searchsorted(now_codes[sorted_now], ids)
    there = np.zeros(len(ids), np.bool_)
    inside = at < len(now_codes)
    there[inside] = now_codes[sorted_now][at[inside]] == ids[inside]
    was = np.full(len(ids), -1, np.int64)
    was[there] = sorted_now[at[there]]
    often = np.bincount(keys, minlength=len(ids))[keys] > 1
    comes = np.full(len(ids), -1, np.int64)
    once = np.flatnonzero(~often)
    is_there = there[keys[once]]
    kind = kinds[once]
    wrong = np.where(kind == INSERT, is_there, ~is_there) | (kind == BEFORE)
    bad = {int(i): _wrong(int(kinds[i]), bool(there[keys[i]])) for i in once[wrong]}
    entering = once[(kind == INSERT) | (kind == AFTER)]
    comes[keys[entering]] = order[entering]
    bad |= _replay_repeated(np.flatnonzero(often), keys, kinds, order, there, comes)
    if bad:
        first = min(bad)
        return Misfit(bad[first], int(order[first]))
    return NetEffect(was[was >= 0], comes[comes >= 0])


def _replay_repeated(
    repeated: Ints, keys: Ints, kinds: Ints, order: Ints, there: NDArray[np.bool_], comes: Ints
) -> dict[int, Refusal]:
    """What is wrong with keys that occur several times, by place; `comes` gets what is left of each in the end."""
    bad: dict[int, Refusal] = {}
    is_there: dict[int, bool] = {}
    waiting: dict[int, int] = {}  # images before an update, less those after one, which may also come alone
    last: dict[int, int] = {}
    for i in repeated:
        key, kind = int(keys[i]), int(kinds[i])
        here = is_there.setdefault(key, bool(there[key]))
        waiting[key] = waiting.get(key, 0) + (kind == BEFORE) - (kind == AFTER)
        if here == (kind == INSERT):
            bad.setdefault(int(i), _wrong(kind, here))
        if kind in (INSERT, AFTER):
            comes[key], is_there[key] = order[i], True
        elif kind == DELETE:
            comes[key], is_there[key] = -1, False
        last[key] = int(i)
    alone = {last[key] for key, n in waiting.items() if n > 0}
    return dict.fromkeys(alone, Refusal.PREIMAGE_ALONE) | bad


def _wrong(kind: int, here: bool) -> Refusal:
    if kind == BEFORE and here:
        return Refusal.PREIMAGE_ALONE
    if kind == INSERT:
        return Refusal.EXISTS
    return Refusal.NOT_THERE_TO_DELETE if kind == DELETE else Refusal.NOT_THERE_TO_UPDATE
