"""What was found of some of the rules of a check of several tables, by the positions of rows in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.checking.group_sql import KEYS_PER_GROUP
from holdfast.encode.one_array import one_array
from holdfast.engines.local.check import LocalCheckResult, plain_value, value_texts
from holdfast.engines.local.tables.rows import CheckedTable, JoinedRows
from holdfast.engines.tables.parts import InclusionRule, JoinedRules, MissingSide, OwnRules
from holdfast.engines.tables.plan import IncludedPlan
from holdfast.violations.inclusion import DanglingRows

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class RowLines:
    """Violating rows of a rule, by their positions in the table with this number."""

    rule: int
    table: int
    rows: Ints
    conflicts: Ints
    suspect: Bools


@dataclass(frozen=True)
class PairLines:
    """Violating pairs of a rule, by the positions of their rows in the two tables with these numbers."""

    rule: int
    tables: tuple[int, int]
    left: Ints
    right: Ints


@dataclass(frozen=True)
class LocalOwn:
    """The rules of one table, which has this number."""

    part: OwnRules
    place: int
    result: LocalCheckResult

    def row_lines(self) -> Iterable[RowLines]:
        for i, rows, conflicts, suspect in self.result.rows_by_rule():
            yield RowLines(self.part.part.which[i], self.place, rows, conflicts, suspect)

    def pair_lines(self) -> Iterable[PairLines]:
        for i, left, right in self.result.pairs_by_rule():
            yield PairLines(self.part.part.which[i], (self.place, self.place), left, right)

    def group_tables(self) -> Iterable[tuple[int, pa.Table]]:
        """(number of the table, its groups), with keys as the table has them."""
        yield self.place, self.result.groups.to_arrow()


@dataclass(frozen=True)
class LocalJoined:
    """Rules that compare rows of two tables, which have these numbers."""

    part: JoinedRules
    places: tuple[int, int]
    rows: JoinedRows
    result: LocalCheckResult

    def row_lines(self) -> Iterable[RowLines]:
        first = self.rows.first
        for i, rows, conflicts, suspect in self.result.rows_by_rule():
            of_first = rows < first
            for place, fit, before in ((0, of_first, 0), (1, ~of_first, first)):
                number = self.part.part.which[i]
                yield RowLines(number, self.places[place], rows[fit] - before, conflicts[fit], suspect[fit])

    def pair_lines(self) -> Iterable[PairLines]:
        for i, left, right in self.result.pairs_by_rule():
            yield PairLines(self.part.part.which[i], self.places, left, right - self.rows.first)

    def group_tables(self) -> Iterable[tuple[int, pa.Table]]:
        return ()


@dataclass(frozen=True)
class LocalDangling:
    """The rows of a table that refer to what another does not have, and their values in the inclusion's columns."""

    table: CheckedTable
    columns: tuple[str, ...]
    missing: DanglingRows

    @property
    def rows(self) -> int:
        return len(self.missing.rows)

    @property
    def distinct(self) -> int:
        return self.missing.distinct

    def largest(self, values: int, keys: int) -> list[MissingSide]:
        sizes, members, ends = self.missing.members(self.table.order, keys)
        starts = np.concatenate([[0], ends])
        shown = min(values, len(sizes))
        texts = self.texts(pa.array(members[starts[:shown]], pa.int64())).to_pylist() if shown else []
        named = [tuple(map(self.table.key_at, members[starts[at] : ends[at]].tolist())) for at in range(shown)]
        return [MissingSide(texts[at], int(sizes[at]), named[at]) for at in range(shown)]

    def first(self, most: int) -> list[tuple[Any, Mapping[str, Any]]]:
        rows = self.missing.rows
        first = rows[np.argsort(self.table.order[rows], kind="stable")[:most]].tolist()
        return [(self.table.key_at(row), self.values(row)) for row in first]

    def values(self, row: int) -> dict[str, Any]:
        """The values of the row in the columns of the inclusion."""
        return {name: plain_value(self.table.table.rows.column(name)[row]) for name in self.columns}

    def texts(self, rows: pa.Array) -> pa.Array:
        """The values of these rows in the columns of the inclusion, as text with commas between."""
        columns = [value_texts(self.table.table.rows.column(name).take(rows)) for name in self.columns]
        if len(columns) == 1:
            return columns[0]
        return pc.binary_join_element_wise(*(pc.fill_null(column, "null") for column in columns), ", ")


@dataclass(frozen=True)
class LocalInclusion:
    """An inclusion between two of the tables; the first has this number."""

    part: InclusionRule
    place: int
    dangling: LocalDangling
    plan: IncludedPlan
    tables: Mapping[str, CheckedTable]

    def row_lines(self) -> Iterable[RowLines]:
        rows = self.dangling.missing.rows
        yield RowLines(self.part.i, self.place, rows, np.zeros(len(rows), np.int64), np.ones(len(rows), np.bool_))

    def pair_lines(self) -> Iterable[PairLines]:
        return ()

    def group_tables(self) -> Iterable[tuple[int, pa.Table]]:
        table = self.dangling.table
        sizes, members, ends = self.dangling.missing.members(table.order, KEYS_PER_GROUP)
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        texts = self.dangling.texts(pa.array(members[offsets[:-1]], pa.int64()))
        keys = one_array(table.keys.take(pa.array(members, pa.int64())))
        yield (
            self.place,
            pa.table(
                {
                    "rule": pa.repeat(self.part.rule.name, len(sizes)),
                    "group": pc.fill_null(texts, "null"),
                    "column": pa.repeat(", ".join(self.part.body.left), len(sizes)),
                    "value": texts,
                    "rows": pa.array(sizes),
                    "keys": pa.ListArray.from_arrays(pa.array(offsets), keys),
                }
            ),
        )


LocalPart: TypeAlias = LocalOwn | LocalJoined | LocalInclusion
