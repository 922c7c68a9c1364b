"""The rows of a state as tasks read them: all of a range of hashes, or those that could break rules with rows to come.

The latter are found by equality indexes that the state keeps beside its rows: files that have, under the hash of a
value of one column, the keys of the rows with it. A batch adds to them what it changes, so that it costs what changes,
and hardly what the table has. `EqualityIndex` is the twin in memory, made of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from holdfast.encode.column_type import ColumnType
from holdfast.encode.spark_hash import spark_xxhash64
from holdfast.evolving.select_index import ColumnStatistics
from holdfast.rules.relation import EQ
from holdfast.rules.rule import Nulls
from holdfast.search.invert import allowed_relations
from holdfast.search.space import PredicateSpace, Words
from holdfast.states.messages import WrittenSegment
from holdfast.states.segment import (
    Bools,
    Ints,
    OpenSegment,
    Segment,
    as_typed,
    entries_between,
    key_of,
    marked,
    meeting_hashes,
    present,
    rows_with,
    write_segment,
)
from holdfast.states.store import Store

# Tables of indexes are called so, and then like their column.
EQUAL = "equal-"
# Values of these have hashes that are equal where they are.
_HASHED = ("integer", "decimal", "float", "text", "boolean", "date", "timestamp")
# An index is kept of columns in which at least this share of values differ, and used as long as it names at most such
# a share of all rows, or so few.
_DISTINCT, _MOST_NEAR, _FEW_ROWS = 0.1, 0.25, 1_000
_FILE_ROWS = 1_000_000


@dataclass(frozen=True)
class KeptTable:
    """The rows of a state at one version, by ranges of the hashes of their keys, and the columns that are compared.

    `compared` has the columns' names in files by their own. `equalities` are the files of the indexes that have all
    rows, by column.
    """

    store: Store
    segments: tuple[Segment, ...]
    places: int
    key: tuple[str, ...]
    key_names: tuple[str, ...]
    compared: Mapping[str, str]
    nulls: Nulls
    equalities: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the key, and those that are compared."""
        return (*self.key, *(column for column in self.compared.values() if column not in self.key))

    def rows(self, places: Sequence[int], types: Mapping[str, pa.DataType] | None = None) -> pa.Table | None:
        """The rows of some ranges: key and compared columns, in these types, or in those of the first of them."""
        tables: list[pa.Table] = []
        for place in places:
            entries = entries_between(self.store, self.segments, place, self.places)
            if entries is not None:
                types = types or {name: entries.column(name).type for name in self.columns}
                tables.append(as_typed(present(entries, self.keys(entries)), types))
        return pa.concat_tables(tables) if tables else None

    def keys(self, rows: pa.Table) -> pa.ChunkedArray:
        return key_of(rows, self.key, self.key_names)

    def key_hashes(self, rows: pa.Table) -> Ints:
        return spark_xxhash64([self.keys(rows)])

    @property
    def folders(self) -> list[str]:
        """Where files of indexes may be written."""
        return [EQUAL + column for column in self.compared.values()]

    # Indexes --------------------------------------------------------------------------------------------------

    def near(
        self, space: PredicateSpace, masks: Words, come: pa.Table, types: Mapping[str, pa.DataType], *, rows: int
    ) -> pa.Table | None:
        """Rows of the table, of which there are so many, that could break one of the rules with one of those that come:
        all that do, and others. None where the indexes do not serve every rule, or name too many rows."""
        names = {c: name for name, c in self.compared.items()}
        hashes = {column: self._hashes(come, column) for column in self.equalities}
        named = {column: self._named(column, own) for column, own in hashes.items()}
        columns = sorted(self.equalities, key=lambda column: (named[column], column))
        chosen = _covering(serving(space, masks, [names[column] for column in columns]))
        if chosen is None or sum(named[columns[i]] for i in chosen) > max(_MOST_NEAR * rows, _FEW_ROWS):
            return None
        keys = [self._keys_with(columns[i], hashes[columns[i]], types) for i in chosen]
        everyone = pa.concat_tables([pa.table({name: pa.array([], types[name]) for name in self.key}), *keys])
        under = np.unique(self.key_hashes(everyone)) if everyone.num_rows else np.zeros(0, np.int64)
        return self._under(self.segments, under, types)

    def _hashes(self, rows: pa.Table, column: str) -> Ints:
        there = self._with_value(rows, column)
        return np.unique(spark_xxhash64([there.column(column)])) if there.num_rows else np.zeros(0, np.int64)

    def _with_value(self, rows: pa.Table, column: str) -> pa.Table:
        """The rows that equal some in this column: where nulls do not, those without one."""
        values = rows.column(column)
        return rows if self.nulls == "equal" or not values.null_count else rows.filter(values.is_valid())

    def _named(self, column: str, hashes: Ints) -> int:
        """How many entries of the index have one of the hashes, which are in order."""
        total = 0
        for segment, own in meeting_hashes(self.equalities[column], hashes):
            start, end = OpenSegment(self.store, segment).ranges(own)
            total += int((end - start).sum())
        return total

    def _keys_with(self, column: str, hashes: Ints, types: Mapping[str, pa.DataType]) -> pa.Table:
        return self._under(self.equalities[column], hashes, {name: types[name] for name in self.key})

    def _under(self, segments: Sequence[Segment], hashes: Ints, types: Mapping[str, pa.DataType]) -> pa.Table:
        """The rows that are there now in these files under the hashes."""
        kinds = {"h": pa.int64(), **types}
        rows = rows_with(self.store, segments, hashes, kinds, key=self.key, key_names=self.key_names)
        return rows.select(list(types))

    def added(self, column: str, go: pa.Table, come: pa.Table, version: int) -> Iterator[WrittenSegment]:
        """A new file of the index of the column: rows that go and come."""
        entries = [
            marked(self._entries(rows, column), version, gone=gone)
            for rows, gone in ((go, True), (come, False))
            if rows.num_rows
        ]
        if entries and (table := pa.concat_tables(entries)).num_rows:
            yield WrittenSegment(EQUAL + column, write_segment(self.store, EQUAL + column, table))

    def built(self, column: str, rows: pa.Table, version: int) -> Iterator[WrittenSegment]:
        """The files of an index of the column over these rows, which are all there are."""
        entries = marked(self._entries(rows, column), version, gone=False)
        if entries.num_rows > _FILE_ROWS:
            entries = entries.take(pa.array(np.argsort(entries.column("h").to_numpy(), kind="stable")))
        for start in range(0, entries.num_rows, _FILE_ROWS):
            part = entries.slice(start, _FILE_ROWS)
            yield WrittenSegment(EQUAL + column, write_segment(self.store, EQUAL + column, part, base=True))

    def _entries(self, rows: pa.Table, column: str) -> pa.Table:
        there = self._with_value(rows, column)
        hashes = spark_xxhash64([there.column(column)]) if there.num_rows else np.zeros(0, np.int64)
        return pa.table({"h": pa.array(hashes), **{name: there.column(name) for name in self.key}})


def serving(space: PredicateSpace, masks: Words, names: Sequence[str]) -> Bools:
    """Per rule and column of these, whether rows have to be equal there to break the rule."""
    place = {pair.left.name: i for i, pair in enumerate(space.pairs) if pair.same_column}
    allowed = allowed_relations(space, masks)
    return np.asarray(allowed[:, [place[name] for name in names]] == EQ, np.bool_)


def _covering(serves: Bools) -> list[int] | None:
    """Columns, the first ones first, of which every rule has one; None where they do not serve every rule."""
    chosen, left = [], np.ones(len(serves), np.bool_)
    for i in range(serves.shape[1]):
        if (left & serves[:, i]).any():
            chosen.append(i)
            left &= ~serves[:, i]
    return None if left.any() else chosen


def worth_keeping(
    space: PredicateSpace, masks: Words, about: ColumnStatistics, types: Mapping[str, ColumnType]
) -> list[str]:
    """The columns by which indexes serve all the rules, those with the most values first; none where some rule has no
    equality on a column with many values."""
    compared = {pair.left.name for pair in space.pairs if pair.same_column}
    known = [name for name in about.distinct if name in compared and types[name].family in _HASHED]
    many = [name for name in known if about.distinct[name] >= _DISTINCT and not types[name].collated]
    names = sorted(many, key=lambda name: (-about.distinct[name], name))
    chosen = _covering(serving(space, masks, names))
    return [names[i] for i in chosen or ()]
