"""Files of entries in order of a hash, of which a batch reads only what it can meet.

An entry is a row with a hash `h`, the version `v` that wrote it, and whether it says that the row is `gone`. Files are
written once. A row that changes is told gone, in its old values, and entered anew: what is there now is what was
entered and not told gone later. Entries are uncompressed Arrow, so that a reader maps the file and touches only the
pages it needs. Beside a long file lies one with the least and the greatest value of some columns in each block of
entries.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.codes import dense_ids, shared_codes
from holdfast.states.checksum import FileSum
from holdfast.states.file_sums import damaged
from holdfast.states.store import Store
from holdfast.tables.pieces import pieces_of

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LONGEST_BLOCK = 1024
# What every entry has besides its row.
MARKS = {"v": pa.int32(), "gone": pa.uint8()}
ENDING, ZONES_ENDING = ".arrow", ".zones"


@dataclass(frozen=True)
class Segment:
    """A file of entries, by its name in the store, with how many it has and the range of their hashes.

    A `base` was written with all others of its kind at once, and tells of nothing gone. `sums` are those of its files;
    states of earlier formats have none.
    """

    file: str
    rows: int
    low: int
    high: int
    zoned: bool = False
    base: bool = False
    sums: tuple[FileSum, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return (self.file, self.file + ZONES_ENDING) if self.zoned else (self.file,)

    def to_json(self) -> list[Any]:
        return [self.file, self.rows, self.low, self.high, self.zoned, self.base, [own.to_json() for own in self.sums]]

    @classmethod
    def from_json(cls, given: Sequence[Any]) -> Segment:
        file, rows, low, high, zoned, base, *sums = given
        own = tuple(FileSum(*numbers) for listed in sums for numbers in listed)
        return cls(file, rows, low, high, zoned, base, own)


def write_segment(
    store: Store,
    folder: str,
    entries: pa.Table,
    *,
    sorted_by: str | None = None,
    zoned: Sequence[str] = (),
    base: bool = False,
) -> Segment:
    """The entries as a new file, in order of `h` and then of the column `sorted_by`, nulls anywhere among equals.

    Its name is used by no other file, so that tasks that run twice do not meet. It is on the disk when this returns.
    """
    hashes = entries.column("h").to_numpy()
    if sorted_by is None:
        in_order = bool((hashes[1:] >= hashes[:-1]).all())
        ordered = entries if in_order else entries.take(pa.array(np.argsort(hashes, kind="stable")))
    else:
        ordered = entries.take(pa.array(np.lexsort([shared_codes([entries.column(sorted_by)])[0].codes, hashes])))
    ordered = ordered.combine_chunks()
    name = f"{folder}/{secrets.token_hex(12)}{ENDING}"
    block_rows = store.limits.block_rows
    zones = _zones(ordered, zoned, block_rows) if zoned and len(hashes) > block_rows else None
    with_zones = zones is not None and zones.num_rows > 0
    sums = [store.write(name, partial(_write, ordered))]
    if with_zones:
        sums.append(store.write(name + ZONES_ENDING, partial(_write, zones)))
    return Segment(name, len(hashes), int(hashes.min()), int(hashes.max()), with_zones, base, tuple(sums))


def with_sums(store: Store, segment: Segment) -> Segment:
    """Returns the segment with the sums of its files as they are now."""
    return replace(segment, sums=tuple(map(store.sum_of, segment.files)))


def _write(table: pa.Table, file: IO[bytes]) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _zones(ordered: pa.Table, columns: Sequence[str], block_rows: int) -> pa.Table:
    """The blocks of long runs of one hash: where each starts and ends, the bounds of its columns, whether it has nulls.

    Bounds are values of the columns; a block of nulls has none.
    """
    starts, ends = _blocks(ordered.column("h").to_numpy(), block_rows)
    zones: dict[str, Any] = {"start": pa.array(starts), "end": pa.array(ends)}
    at, block = spread(starts, ends), np.repeat(np.arange(len(starts)), ends - starts)
    for name in columns:
        column = ordered.column(name)
        coded = shared_codes([column])[0]
        valid = coded.valid[at]
        rows, codes, own = at[valid], coded.codes[at][valid], block[valid]
        for what, better in (("low", np.minimum), ("high", np.maximum)):
            best = np.full(len(starts), np.iinfo(np.int64).max if what == "low" else np.iinfo(np.int64).min)
            better.at(best, own, codes)
            holders = np.flatnonzero(codes == best[own])
            place = np.zeros(len(starts), np.int64)
            place[own[holders]] = rows[holders]
            empty = np.ones(len(starts), np.bool_)
            empty[own] = False
            zones[f"{name}_{what}"] = column.take(pa.array(place, mask=empty))
        nulls = np.zeros(len(starts), np.bool_)
        nulls[block[~valid]] = True
        zones[f"{name}_nulls"] = pa.array(nulls)
    return pa.table(zones)


def _blocks(hashes: Ints, block_rows: int) -> tuple[Ints, Ints]:
    """Where the blocks of runs of one hash start and end, in order; runs of one block or less have none.

    Longer runs have longer blocks, so that a run has some dozens of them.
    """
    cuts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1], True])
    first, size = cuts[:-1], np.diff(cuts)
    first, size = first[size > block_rows], size[size > block_rows]
    width = np.clip(size // 64, block_rows, LONGEST_BLOCK)
    count = -(-size // width)
    within = spread(np.zeros_like(count), count)
    starts = np.repeat(first, count) + within * np.repeat(width, count)
    return starts, np.minimum(starts + np.repeat(width, count), np.repeat(first + size, count))


class OpenSegment:
    """A segment that can be asked for the entries with some hashes. Opening costs a map, not a read."""

    def __init__(self, store: Store, segment: Segment) -> None:
        self.segment = segment
        self._store = store

    @cached_property
    def table(self) -> pa.Table:
        return self._mapped(0)

    @cached_property
    def zones(self) -> pa.Table | None:
        """The bounds of the blocks of its long runs of one hash; None where it has no such run."""
        if not self.segment.zoned:
            return None
        return self._mapped(1)

    def ranges(self, hashes: Ints) -> tuple[Ints, Ints]:
        """Where the entries with each of the hashes, which are in order, start and end."""
        own = self.table.column("h").to_numpy()
        return np.searchsorted(own, hashes, "left"), np.searchsorted(own, hashes, "right")

    def blocks(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """The first block of each run that starts and ends there, and the one after its last; short runs have none."""
        if self.zones is None:
            none = np.zeros(len(starts), np.int64)
            return none, none
        own = self.zones.column("start").to_numpy()
        first, last = np.searchsorted(own, starts, "left"), np.searchsorted(own, ends, "left")
        return first, np.where(ends > starts, last, first)

    def entries(self, at: Ints) -> pa.Table:
        return self.table.take(pa.array(at))

    def _mapped(self, number: int) -> pa.Table:
        """The file of the segment at this place among its files, as a map."""
        file = self.segment.files[number]
        written = self.segment.sums[number] if self.segment.sums else None
        try:
            return pa.ipc.open_file(pa.memory_map(str(self._store.file(file, written)))).read_all()
        except (OSError, pa.ArrowException) as problem:  # of a file without a sum, or one that goes while it is used
            raise damaged(self._store.root, file, f"cannot be read ({problem})") from None


def meeting_hashes(segments: Sequence[Segment], hashes: Ints) -> list[tuple[Segment, Ints]]:
    """The segments that may have some of the hashes, which are in order, each with those."""
    meeting = []
    for segment in segments:
        start, end = np.searchsorted(hashes, segment.low, "left"), np.searchsorted(hashes, segment.high, "right")
        if end > start:
            meeting.append((segment, hashes[start:end]))
    return meeting


def rows_with(
    store: Store,
    segments: Sequence[Segment],
    hashes: Ints,
    types: Mapping[str, pa.DataType],
    *,
    key: Sequence[str] = ("k",),
    key_names: Sequence[str] = (),
    positions: Callable[[OpenSegment, Ints], Ints] | None = None,
) -> pa.Table:
    """The entries of all rows that are there now with the hashes: the columns of `types`, in these types, and MARKS.

    `key` are the columns that tell apart rows with one hash, under `key_names` where they are several. `positions`
    says which entries of a segment with these hashes are read, where that is not all.
    """
    kinds = {**types, **MARKS}
    tables = [pa.schema(list(kinds.items())).empty_table()]
    for segment, own in meeting_hashes(segments, _distinct(hashes) if segments else hashes):
        opened = OpenSegment(store, segment)
        at = spread(*opened.ranges(own)) if positions is None else positions(opened, own)
        if len(at):
            tables.append(as_typed(opened.entries(at), kinds))
    entries = pa.concat_tables(tables)
    return present(entries, key_of(entries, key, key_names))


def _distinct(hashes: Ints) -> Ints:
    """The hashes, each once, in order. numpy's `unique` takes several times as long for hashes."""
    ordered = np.sort(hashes)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def entries_between(store: Store, segments: Sequence[Segment], place: int, places: int) -> pa.Table | None:
    """All entries of one of `places` ranges of hashes, as a table; None where there are none."""
    low, high = _bounds(place, places)
    tables: list[pa.Table] = []
    for segment in segments:
        if segment.low > high or segment.high < low:
            continue
        table = OpenSegment(store, segment).table
        own = table.column("h").to_numpy()
        start, end = np.searchsorted(own, low, "left"), np.searchsorted(own, high, "right")
        if end > start:
            entries = table.slice(int(start), int(end - start))
            tables.append(
                as_typed(entries, {n: (tables[0] if tables else entries).column(n).type for n in entries.column_names})
            )
    return pa.concat_tables(tables) if tables else None


def _bounds(place: int, places: int) -> tuple[int, int]:
    """The least and the greatest hash of a range; ranges have one width, and are numbered from 0."""
    width = 2**64 // places
    low = -(2**63) + place * width
    return low, 2**63 - 1 if place == places - 1 else low + width - 1


def spread(starts: Ints, ends: Ints) -> Ints:
    """All positions from each start up to its end, one range after the other."""
    sizes = ends - starts
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes), np.int64)


def marked(rows: pa.Table, version: int, *, gone: bool | Bools) -> pa.Table:
    """The rows as entries of a version that says of all of them, or of each, whether it is gone."""
    entries = rows.append_column("v", pa.array(np.full(rows.num_rows, version, np.int32)))
    return entries.append_column("gone", pa.array(np.full(rows.num_rows, gone, np.uint8)))


def present(entries: pa.Table, key: pa.ChunkedArray) -> pa.Table:
    """Those of the entries that tell of rows that are there: entered, and not told gone by a later version.

    The entries are such that what tells a row gone is among them when what entered it is.
    """
    gone = entries.column("gone").to_numpy().astype(np.bool_)
    if not gone.any():
        return entries
    ids = _row_ids(entries, key)
    versions = entries.column("v").to_numpy().astype(np.int64)
    last_gone = np.full(len(ids), -1, np.int64)
    np.maximum.at(last_gone, ids[gone], versions[gone])
    return entries.filter(pa.array(~gone & (versions >= last_gone[ids])))


def merged(entries: pa.Table, key: pa.ChunkedArray, *, everything: bool) -> pa.Table:
    """What the entries say of each row, in one or two of them: that an earlier one is gone, and what is there now.

    With `everything` there is no earlier one, and only rows that are there remain.
    """
    ids = _row_ids(entries, key)
    gone = entries.column("gone").to_numpy().astype(np.bool_)
    order = np.lexsort((~gone, entries.column("v").to_numpy(), ids))
    ids = ids[order]
    new = np.ones(len(ids), np.bool_)
    new[1:] = ids[1:] != ids[:-1]
    last = np.append(new[1:], True)[: len(ids)]
    kept = last & ~gone[order]
    if not everything:
        kept |= new & gone[order]
    return entries.take(pa.array(order[kept]))


def _row_ids(entries: pa.Table, key: pa.ChunkedArray) -> Ints:
    """Small numbers that are equal exactly where hash and key are."""
    parts = [entries.column("h").to_numpy(), shared_codes([key])[0].codes]
    return np.unique(dense_ids(parts, len(key)), return_inverse=True)[1].astype(np.int64)


def key_of(rows: pa.Table, columns: Sequence[str], names: Sequence[str]) -> pa.ChunkedArray:
    """The rows' keys: the one column, or a struct of several under their names."""
    if len(columns) == 1:
        return rows.column(columns[0])
    parts = [rows.column(name).combine_chunks() for name in columns]
    return pa.chunked_array([pa.StructArray.from_arrays(parts, names=list(names))])


def as_typed(rows: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """The rows with their columns in these types, which differ from theirs in a time zone's name at most."""
    columns = {name: rows.column(name) for name in types}
    return pa.table({n: c if c.type == types[n] else c.cast(types[n]) for n, c in columns.items()})


def nullable(rows: pa.Table) -> pa.Table:
    """The rows with no column or field declared free of nulls: tables of the same rows then have the same types."""
    return as_typed(rows, {field.name: _nullable_type(field.type) for field in rows.schema})


class PieceTask(ABC):
    """A task: of the rows that arrive it gives, for each piece of work, what `_piece` makes of it."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in pieces_of(batches):
            yield from self._piece(nullable(piece))

    @abstractmethod
    def _piece(self, piece: pa.Table) -> Iterator[pa.RecordBatch]:
        """What comes out for all rows of a piece of work, whose columns are `nullable`."""


def _nullable_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _nullable_type(f.type)) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(_nullable_type(kind.value_type))
    return kind
