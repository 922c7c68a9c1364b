"""Which columns, or lists of columns, have values of others only: the inclusions between tables that are at hand.

The right side of a list is a key of its table that is no longer than it has to be. Values are compared as a check of an
inclusion compares them; nulls are asked for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.codes import comparable_codes, shared_codes
from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import decoded, one_array
from holdfast.encode.spark_hash import spark_xxhash64
from holdfast.rules.dependency import Inclusion
from holdfast.search.clock import Clock

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Lists have at most so many columns.
MOST_COLUMNS = 3
# That an inclusion does not hold shows in so many values, or rows, in most cases.
_FEW = 64
_MANY = 2_000


@dataclass(frozen=True)
class ColumnValues:
    """The distinct values of a column but null, in how many rows each is, and of how many rows."""

    table: str
    name: str
    kind: ColumnType
    column: pa.Array = field(repr=False)
    values: pa.Array = field(repr=False)
    counts: Ints = field(repr=False)

    @classmethod
    def of(cls, table: str, name: str, kind: ColumnType, rows: pa.ChunkedArray) -> ColumnValues:
        column = one_array(decoded(rows))
        if pa.types.is_floating(column.type):
            column = pc.add(column.cast(pa.float64()), 0.0)  # one zero
        value_counts = pc.value_counts(column)
        values, counts = value_counts.field(0), value_counts.field(1).to_numpy()
        there = values.is_valid()
        return cls(table, name, kind, column, values.filter(there), counts[there.to_numpy(zero_copy_only=False)])

    @property
    def rows(self) -> int:
        return len(self.column)

    @property
    def known_rows(self) -> int:
        return int(self.counts.sum())

    @property
    def is_key(self) -> bool:
        """Whether every row has a value of its own."""
        return len(self.values) == self.rows > 0

    @property
    def comparable_with(self) -> str:
        """Values of columns that have this in common can be compared; empty where they cannot be referred to."""
        if self.kind.numeric:
            return "number"
        if self.kind.family == "timestamp":
            return self.kind.sql
        return self.kind.family if self.kind.family in ("text", "date") else ""

    @cached_property
    def ends(self) -> tuple[Any, Any] | None:
        """The least and the greatest value; None where there are none, or no order that Python knows."""
        ends = pc.min_max(self.values)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        nan = pa.types.is_floating(self.values.type) and pc.any(pc.is_nan(self.values)).as_py()
        return None if low is None or nan else (low, high)

    @cached_property
    def codes(self) -> Ints:
        """The distinct values as integers, of a type whose codes do not depend on other columns."""
        return shared_codes([pa.chunked_array([self.values])])[0].codes

    @cached_property
    def order(self) -> Ints:
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def sorted_codes(self) -> Ints:
        return np.asarray(self.codes[self.order])

    @cached_property
    def ids(self) -> Ints:
        """Per row the place of its value among the distinct ones; -1 for null."""
        places = pc.fill_null(pc.index_in(self.column, value_set=self.values), -1)
        known = self.column.is_valid().to_numpy(zero_copy_only=False)
        return np.where(known, places.to_numpy(zero_copy_only=False).astype(np.int64), -1)

    @cached_property
    def sorted_hashes(self) -> Ints:
        """The hashes of the distinct texts."""
        return np.sort(spark_xxhash64([self.values.cast(pa.string())]))

    def few_not_in(self, other: ColumnValues) -> Bools:
        """Which of the first few values are not among those of the other column; of texts some may be missed."""
        few = self.values.slice(0, _FEW)
        if self.comparable_with != "text":
            return self.places_in(other, _FEW) < 0
        hashes = spark_xxhash64([few.cast(pa.string())])
        at = np.minimum(np.searchsorted(other.sorted_hashes, hashes), len(other.sorted_hashes) - 1)
        return np.asarray(other.sorted_hashes[at] != hashes)

    def places_in(self, other: ColumnValues, few: int | None = None) -> Ints:
        """For each distinct value, or the first few, its place among those of the other column; -1 where not there."""
        values = self.values if few is None else self.values.slice(0, few)
        if self.comparable_with == "text":
            places = pc.fill_null(pc.index_in(values, value_set=other.values), -1)
            return np.asarray(places.to_numpy(zero_copy_only=False), np.int64)
        if _codes_alike(self.values.type, other.values.type):
            return _places(self.codes[: len(values)], other.sorted_codes, other.order)
        own, theirs = comparable_codes([pa.chunked_array([values]), pa.chunked_array([other.values])])
        order = np.argsort(theirs.codes, kind="stable")
        return _places(own.codes, theirs.codes[order], order)


def _codes_alike(a: pa.DataType, b: pa.DataType) -> bool:
    """Whether values of these types have equal codes exactly where they are equal, column by column."""
    if pa.types.is_integer(a) and pa.types.is_integer(b):
        return True
    if a != b:
        return False
    return not pa.types.is_decimal(a) or a.precision <= 18


def _places(codes: Ints, ordered: Ints, order: Ints) -> Ints:
    if not len(ordered):
        return np.full(len(codes), -1)
    at = np.minimum(np.searchsorted(ordered, codes), len(ordered) - 1)
    return np.where(ordered[at] == codes, order[at], -1)


@dataclass(frozen=True)
class FoundInclusion:
    """Columns of one table whose values are those of columns of another, but for the values of `missing` rows.

    `known` rows have no null there. Where `is_key`, no two rows of the other table have the same values, or a null.
    """

    left: tuple[ColumnValues, ...]
    right: tuple[ColumnValues, ...]
    missing: int
    known: int
    distinct: int
    is_key: bool

    @property
    def body(self) -> Inclusion:
        return Inclusion(
            (self.left[0].table, self.right[0].table),
            tuple(column.name for column in self.left),
            tuple(column.name for column in self.right),
        )


@dataclass(frozen=True)
class InclusionSearch:
    """All inclusions found, those of single columns first; and whether there may be others."""

    inclusions: tuple[FoundInclusion, ...]
    complete: bool


def inclusions(tables: Mapping[str, Sequence[ColumnValues]], *, error: float = 0.0, clock: Clock) -> InclusionSearch:
    """Returns all inclusions between single columns, and between lists of up to MOST_COLUMNS columns into a key.

    An inclusion may miss the values of at most the share `error` of the rows of its table. A list in a longer key than
    needed is not asked for, nor are the two sides the same columns.
    """
    columns = [column for own in tables.values() for column in own if column.comparable_with and len(column.values)]
    single: list[FoundInclusion] = []
    for left in columns:
        for right in columns:
            if clock.over:
                return InclusionSearch(tuple(single), False)
            if left is not right and left.comparable_with == right.comparable_with:
                inclusion = _single(left, right, error)
                if inclusion is not None:
                    single.append(inclusion)
    lists: list[FoundInclusion] = []
    for inclusion in _lists(tables, single, error, clock):
        if inclusion is None:
            return InclusionSearch((*single, *lists), False)
        lists.append(inclusion)
    return InclusionSearch((*single, *lists), True)


def _single(left: ColumnValues, right: ColumnValues, error: float) -> FoundInclusion | None:
    spare = int(error * left.rows)
    if not spare:
        if len(left.values) > len(right.values):
            return None
        if left.ends is not None and right.ends is not None:
            (low, high), (least, most) = left.ends, right.ends
            if low < least or high > most:
                return None
    absent = left.few_not_in(right)
    if int(left.counts[: len(absent)][absent].sum()) > spare:
        return None
    places = left.places_in(right)
    missing = int(left.counts[places < 0].sum())
    if missing > spare or missing == left.known_rows:
        return None
    return FoundInclusion((left,), (right,), missing, left.known_rows, int((places >= 0).sum()), right.is_key)


# Per two columns the places of the values of one among those of the other, and -1 for null.
Places: TypeAlias = dict[tuple[int, int], Ints]


# Lists of columns -------------------------------------------------------------------------------------------------


def _lists(
    tables: Mapping[str, Sequence[ColumnValues]], single: Sequence[FoundInclusion], error: float, clock: Clock
) -> Iterator[FoundInclusion | None]:
    """The inclusions of lists; None, and no more, when time is up."""
    into: dict[tuple[str, str], dict[str, list[ColumnValues]]] = {}
    for inclusion in single:
        (left,), (right,) = inclusion.left, inclusion.right
        into.setdefault((left.table, right.table), {}).setdefault(right.name, []).append(left)
    keys: dict[tuple[str, ...], bool] = {}
    places: Places = {}

    def is_key(columns: Sequence[ColumnValues]) -> bool:
        names = (columns[0].table, *(column.name for column in columns))
        if names not in keys:
            keys[names] = _is_key(columns)
        return keys[names]

    for (_, table), sources in into.items():
        own = [column for column in tables[table] if column.name in sources and not column.is_key]
        for size in range(2, MOST_COLUMNS + 1):
            for keyed in combinations(own, size):
                if clock.over:
                    yield None
                    return
                ways = [sources[column.name] for column in keyed]
                lefts = [left for left in product(*ways) if len(set(map(id, left))) == size]
                lefts = [left for left in lefts if not _same_columns(left, keyed)]
                # Of a key that contains another the shorter one will do.
                if lefts and is_key(keyed) and not any(is_key(part) for part in _parts(keyed)):
                    yield from _into_key(lefts, keyed, error, places, clock)


def _parts(columns: Sequence[ColumnValues]) -> Iterator[tuple[ColumnValues, ...]]:
    for size in range(2, len(columns)):
        yield from combinations(columns, size)


def _same_columns(left: Sequence[ColumnValues], right: Sequence[ColumnValues]) -> bool:
    return list(map(id, left)) == list(map(id, right))


def _is_key(columns: Sequence[ColumnValues]) -> bool:
    rows = columns[0].rows
    if any(column.known_rows < rows for column in columns):
        return False
    if np.prod([float(len(column.values)) for column in columns]) < rows:
        return False
    for most in (_MANY, 20 * _MANY, rows):
        joint = np.sort(_joint([column.ids[:most] for column in columns], columns))
        if (joint[1:] == joint[:-1]).any():
            return False
    return True


def _joint(ids: Sequence[Ints], columns: Sequence[ColumnValues]) -> Ints:
    """One number for the places of several values; -1 where one of them is not there."""
    total = np.zeros(len(ids[0]), np.int64)
    known = np.ones(len(ids[0]), np.bool_)
    for own, column in zip(ids, columns, strict=True):
        # Three columns of two million values each fit 64 bits.
        total = total * (len(column.values) + 1) + own
        known &= own >= 0
    return np.where(known, total, -1)


def _into_key(
    lefts: Sequence[Sequence[ColumnValues]], right: Sequence[ColumnValues], error: float, places: Places, clock: Clock
) -> Iterator[FoundInclusion | None]:
    there = np.sort(_joint([column.ids for column in right], right))
    for left in lefts:
        if clock.over:
            yield None
            return
        spare = int(error * left[0].rows)
        for a, b in zip(left, right, strict=True):
            if (id(a), id(b)) not in places:
                places[id(a), id(b)] = np.append(a.places_in(b), -1)
        maps = [places[id(a), id(b)] for a, b in zip(left, right, strict=True)]
        ids = [column.ids for column in left]
        if int(_absent([own[:_MANY] for own in ids], maps, right, there)[0].sum()) > spare:
            continue
        absent, joint = _absent(ids, maps, right, there)
        known = int(np.logical_and.reduce([own >= 0 for own in ids]).sum())
        if known and absent.sum() <= spare and absent.sum() < known:
            distinct = len(np.unique(joint[(joint >= 0) & ~absent]))
            yield FoundInclusion(tuple(left), tuple(right), int(absent.sum()), known, distinct, True)


def _absent(
    ids: Sequence[Ints], maps: Sequence[Ints], right: Sequence[ColumnValues], there: Ints
) -> tuple[Bools, Ints]:
    """Which rows without a null have values that are not there; and the number of the values of each row, or -1."""
    known = np.logical_and.reduce([own >= 0 for own in ids])
    joint = _joint([place[own] for place, own in zip(maps, ids, strict=True)], right)
    at = np.minimum(np.searchsorted(there, joint), len(there) - 1)
    return known & ((joint < 0) | (there[at] != joint)), joint


def referred_rows(inclusion: FoundInclusion) -> Ints:
    """Per row of the first table the row of the other that it refers to; -1 for none. The right side is a key."""
    assert inclusion.is_key, "each row refers to one"
    joint = _joint([column.ids for column in inclusion.right], inclusion.right)
    order = np.argsort(joint, kind="stable")
    maps = [np.append(a.places_in(b), -1) for a, b in zip(inclusion.left, inclusion.right, strict=True)]
    wanted = _joint([own[column.ids] for own, column in zip(maps, inclusion.left, strict=True)], inclusion.right)
    places = _places(wanted, joint[order], order)
    return np.where(wanted < 0, -1, places)
