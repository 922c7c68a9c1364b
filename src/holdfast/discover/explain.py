"""What a discovery would compare: the predicate space of a table, before anything is searched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.discover.coded_rows import families, predicate_space
from holdfast.discover.options import DiscoverOptions
from holdfast.discover.space import OperandPair, PredicateSpace
from holdfast.encode.codes import comparable_codes, dense_codes
from holdfast.encode.column_type import ColumnType
from holdfast.rules.predicate import Column

SPACE_LINE = pa.schema([("told", pa.string())])


@dataclass(frozen=True)
class Overlap:
    """Two columns of one kind, and which share of the smaller one's values the other has, too."""

    left: str
    right: str
    share: float


@dataclass(frozen=True)
class ExplainedSpace:
    """The operand pairs of a table's discovery, how columns overlap, most first, and notes on what is left out."""

    table: str
    rows: int
    space: PredicateSpace
    overlaps: tuple[Overlap, ...]
    options: DiscoverOptions
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExplainTask:
    """Tells the predicate space of the rows that arrive, which are all; columns come in the types' order."""

    types: Mapping[str, ColumnType]
    options: DiscoverOptions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived = list(batches)
        if arrived:
            table = pa.Table.from_batches(arrived).rename_columns(list(self.types))
            told = json.dumps(_told(table, self.types, self.options))
            yield pa.RecordBatch.from_arrays([pa.array([told], pa.string())], schema=SPACE_LINE)


def explained_space(
    told: str | None, table: str, options: DiscoverOptions, notes: tuple[str, ...] = ()
) -> ExplainedSpace:
    """What an ExplainTask told; an empty space when it got no rows."""
    about: dict[str, Any] = json.loads(told) if told is not None else {"rows": 0, "pairs": [], "overlaps": []}
    pairs = [OperandPair(Column(a, left), Column(b, right), ordered) for a, left, b, right, ordered in about["pairs"]]
    overlaps = tuple(Overlap(*one) for one in about["overlaps"])
    return ExplainedSpace(table, about["rows"], PredicateSpace(tuple(pairs)), overlaps, options, notes)


def _told(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions) -> dict[str, object]:
    codes: dict[str, NDArray[np.int32]] = {}
    overlaps: list[tuple[str, str, float]] = []
    for family in families(types):
        coded = dense_codes(comparable_codes([table.column(name) for name in family]))
        codes.update(zip(family, coded, strict=True))
        values = {name: np.unique(column[column >= 0]) for name, column in zip(family, coded, strict=True)}
        for a, b in combinations(family, 2):
            smaller = min(len(values[a]), len(values[b]))
            if smaller:
                common = len(np.intersect1d(values[a], values[b], assume_unique=True))
                overlaps.append((a, b, common / smaller))
    space = predicate_space(codes, types, options)
    return {
        "rows": table.num_rows,
        "pairs": [[p.left.row, p.left.name, p.right.row, p.right.name, p.ordered] for p in space.pairs],
        "overlaps": sorted(overlaps, key=lambda one: (-one[2], one[0], one[1])),
    }
