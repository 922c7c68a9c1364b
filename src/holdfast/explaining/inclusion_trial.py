"""Which change of one cell would mend rows that refer to what is not there, and what changes do to an inclusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.encode.codes import compacted, dense_ids, shared_codes
from holdfast.encode.column_type import ColumnType
from holdfast.encode.spark_text import spark_text
from holdfast.explaining.candidates import WRITABLE, Candidates
from holdfast.explaining.cell_values import converted, plain_array
from holdfast.explaining.trial import CellChanges, Effect
from holdfast.kernels.edit_distance import nearest_texts
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.inclusion import InclusionProgram
from holdfast.rules.dependency import Inclusion
from holdfast.violations.part import Bools, Ints

# Of each missing value, so many of the values that are there and written most like it.
_NEAREST = 3
# No more texts than this are compared, of the values that most rows miss.
_MOST_TEXTS = 100_000_000


@dataclass(frozen=True)
class ReferringTable:
    """One of the two tables of an inclusion: its rows and their types.

    `columns` gives such rows, also changed ones, as the program of the inclusion reads them; `in_scope` says of which
    of them the rule speaks, None for all.
    """

    rows: pa.Table
    types: Mapping[str, ColumnType]
    columns: Callable[[pa.Table], TableColumns]
    in_scope: Callable[[pa.Table], Bools] | None = None


@dataclass(frozen=True)
class InclusionTrial:
    """The rows of both tables of an inclusion; the table may be the same."""

    body: Inclusion
    program: InclusionProgram
    first: ReferringTable
    second: ReferringTable

    def touches(self, table: str, column: str) -> bool:
        """Whether the inclusion reads this column of the table; what a condition reads is not known."""
        left, right = self.body.tables
        refers = table == left and (column in self.body.left or self.first.in_scope is not None)
        return refers or (table == right and column in self.body.right)

    @cached_property
    def _everything(self) -> _Values:
        return _Values.of(self, None, (False, False))

    def dangling(self, given: Ints) -> Bools:
        """Which of these rows of the first table refer to what the second does not have."""
        values = self._everything
        ids = values.referring[given]
        missing: Bools = (ids >= 0) & (values.there[np.maximum(ids, 0)] == 0)
        return missing

    def effect(self, changes: CellChanges, table: str, rows: pa.Table, given: Ints) -> Effect:
        """What changes of the given rows of one of the tables do to the number of all violations."""
        own = given[changes.of]
        left, right = self.body.tables
        is_first, is_second = table == left, table == right
        values = _Values.of(self, changes.variants(rows, own, rows.column_names), (is_first, is_second))
        nowhere = np.full(len(own), -1, np.int64)
        before, after = (values.referring[own], values.referring_after) if is_first else (nowhere, nowhere)
        lost, gained = (values.offered[own], values.offered_after) if is_second else (nowhere, nowhere)
        # A change moves a row from one value to another, on each side: at most four values whose counts change.
        touched = np.stack([before, after, lost, gained])
        fewer = np.zeros(len(own), np.int64)
        for place, ids in enumerate(touched):
            new = (ids >= 0) & ~(touched[:place] == ids).any(axis=0)
            known = np.maximum(ids, 0)
            asking, there = values.asking[known], values.there[known]
            asking_after = asking - (ids == before) + (ids == after)
            there_after = there - (ids == lost) + (ids == gained)
            fewer += np.where(new, asking * (there == 0) - asking_after * (there_after == 0), 0)
        return Effect.of_fewer(fewer)

    # What could be meant ---------------------------------------------------------------------------------------

    def candidates(self, given: Ints, key: Sequence[str]) -> list[Candidates]:
        """For each given row of the first table that refers to what is not there, the values that are there, that
        would resolve it, and that are written most like its own: one cell at a time, and never one of the key."""
        dangling = np.flatnonzero(self.dangling(given))
        suggested = []
        for place, name in enumerate(self.body.left):
            kind = self.first.types[name]
            stored = plain_array(self.first.rows.column(name).slice(0, 0)).type
            if len(dangling) and kind.family in WRITABLE and name not in key and not pa.types.is_null(stored):
                suggested += self._nearest(place, given, dangling, stored)
        return suggested

    def _nearest(self, place: int, given: Ints, dangling: Ints, stored: pa.DataType) -> list[Candidates]:
        name, theirs = self.body.left[place], self.body.right[place]
        kind, values = self.first.types[name], self._everything
        there = np.flatnonzero(values.offered >= 0)
        own = given[dangling]
        now = spark_text(plain_array(self.first.rows.column(name).take(pa.array(own))))
        # Whoever agrees on the other columns would resolve it.
        others = [ids for at, ids in enumerate(values.parts) if at != place]
        rest = _rest_ids([(left[own], right[there]) for left, right in others], len(own), len(there))
        offered = plain_array(self.second.rows.column(theirs).take(pa.array(there)))
        distinct = offered.dictionary_encode()
        fitting = converted(distinct.dictionary, self.second.types[theirs], kind, stored)
        listed = _Listed.of(fitting)
        indices = pc.fill_null(distinct.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        of_row = np.append(listed.place, -1)[indices]
        texts, places = pc.fill_null(pc.utf8_lower(now), "").to_pylist(), []
        by_rest = np.argsort(rest[1], kind="stable")
        known: dict[tuple[str, int], tuple[Ints, Ints]] = {}
        of, backing = [], []
        looked_at = 0
        for at, text in enumerate(texts):
            wanted = (text, int(rest[0][at]) if others else -1)
            if wanted not in known:
                if looked_at > _MOST_TEXTS:
                    continue
                among = None
                if others:
                    low, high = np.searchsorted(rest[1][by_rest], [wanted[1], wanted[1] + 1])
                    among = np.unique(of_row[by_rest[low:high]])
                    among = among[among >= 0]
                looked_at += len(listed.ends) if among is None else len(among)
                known[wanted] = listed.nearest(text, among)
            nearest, changes = known[wanted]
            for near, many in zip(nearest.tolist(), changes.tolist(), strict=True):
                alike = 1 - many / max(len(text), int(listed.length[near]), 1)
                if alike > 0:  # otherwise nothing speaks for it
                    of.append(dangling[at])
                    places.append(near)
                    backing.append(alike)
        taken = listed.values.take(pa.array(places, pa.int64()))
        return [Candidates.chosen(name, np.array(of, np.int64), taken, np.array(backing, np.float64))]


@dataclass(frozen=True)
class _Values:
    """The values that rows of the first table ask for and those of the second offer, as ids; -1 for none.

    `asking` and `there` count, by id, how many rows ask for it and offer it. `parts` has, per pair of columns, ids of
    the values of the rows of both. `referring_after` and `offered_after` are those of changed rows.
    """

    referring: Ints
    offered: Ints
    referring_after: Ints
    offered_after: Ints
    asking: Ints
    there: Ints
    parts: list[tuple[Ints, Ints]]

    @classmethod
    def of(cls, trial: InclusionTrial, changed: pa.Table | None, fits: tuple[bool, bool]) -> _Values:
        """The values of all rows, and of changed ones of the first table, of the second, or of both if it is one."""
        program = trial.program
        tables = [trial.first.rows, trial.second.rows]
        first, second = trial.first.columns(tables[0]), trial.second.columns(tables[1])
        sources = [(first, program.left), (second, program.right)]
        if changed is not None:
            both = (trial.first, program.left), (trial.second, program.right)
            sources += [(table.columns(changed), forms) for fit, (table, forms) in zip(fits, both, strict=True) if fit]
        sizes = [len(columns) for columns, _ in sources]
        cuts = np.cumsum(sizes)[:-1]
        parts, valid_everywhere = [], np.ones(sum(sizes), np.bool_)
        for place in range(len(program.left)):
            coded = shared_codes([columns.form(forms[place]) for columns, forms in sources])
            valid = np.concatenate([column.valid for column in coded])
            codes = np.where(valid, np.concatenate([column.codes for column in coded]), 0)
            parts.append(dense_ids([codes, valid.astype(np.int64)], len(codes)))
            valid_everywhere &= valid
        ids = compacted(dense_ids(parts, sum(sizes)))
        if program.nulls == "sql":
            ids = np.where(valid_everywhere, ids, -1)
        referring, offered, *behind = np.split(ids, cuts)
        referring = _scoped(referring, trial.first, tables[0])
        size = int(ids.max(initial=0)) + 1  # one where no row has a value: who has none is looked up at 0, too
        nobody = np.zeros(0, np.int64)
        referring_after = _scoped(behind[0], trial.first, changed) if fits[0] and changed is not None else nobody
        return cls(
            referring,
            offered,
            referring_after,
            behind[-1] if fits[1] else nobody,
            np.bincount(referring[referring >= 0], minlength=size),
            np.bincount(offered[offered >= 0], minlength=size),
            [(part[: cuts[0]], part[cuts[0] : cuts[0] + sizes[1]]) for part in parts],
        )


def _scoped(ids: Ints, table: ReferringTable, rows: pa.Table) -> Ints:
    return ids if table.in_scope is None else np.where(table.in_scope(rows), ids, -1)


def _rest_ids(others: Sequence[tuple[Ints, Ints]], left: int, right: int) -> tuple[Ints, Ints]:
    """Ids of the values in the other columns, equal where all of them are."""
    if not others:
        return np.zeros(left, np.int64), np.zeros(right, np.int64)
    ids = dense_ids([np.concatenate(pair) for pair in others], left + right)
    return ids[:left], ids[left:]


@dataclass(frozen=True)
class _Listed:
    """Distinct values in the order of their texts, without nulls, and as characters in small letters.

    `place` says of each of the values they were made of where it is among them; -1 for nulls.
    """

    values: pa.Array
    place: Ints
    points: np.ndarray
    ends: Ints
    length: Ints

    @classmethod
    def of(cls, values: pa.Array) -> _Listed:
        texts = spark_text(values)
        encoded = texts.dictionary_encode()
        indices = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        order = pc.array_sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        place = np.where(indices >= 0, rank[np.maximum(indices, 0)], -1) if len(order) else indices
        first = np.zeros(len(order), np.int64)
        first[place[place >= 0][::-1]] = np.flatnonzero(place >= 0)[::-1]
        small = pc.utf8_lower(encoded.dictionary.take(pa.array(order)))
        points = np.frombuffer("".join(small.to_pylist()).encode("utf-32-le"), np.uint32)
        length = pc.utf8_length(small).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(values.take(pa.array(first)), place, points, np.cumsum(length), length)

    def nearest(self, text: str, among: Ints | None) -> tuple[Ints, Ints]:
        """(places, changes) of those written most like the text; of those at these places, or of all."""
        wanted = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        if among is None:
            return nearest_texts(self.points, self.ends, wanted, most=_NEAREST)
        starts, length = (self.ends - self.length)[among], self.length[among]
        ends = np.cumsum(length)
        characters = np.repeat(starts - ends + length, length) + np.arange(int(length.sum()))
        places, changes = nearest_texts(self.points[characters], ends, wanted, most=_NEAREST)
        return among[places], changes
