"""What a discovery would compare: the predicate space of a table, before anything is searched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from holdfast.encode.column_type import ColumnType
from holdfast.search.coded_rows import families, family_codes, overlaps, predicate_space
from holdfast.search.lines import arrived
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import PredicateSpace

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
        table = arrived(batches, self.types)
        if table is not None:
            told = json.dumps(_told(table, self.types, self.options))
            yield pa.RecordBatch.from_arrays([pa.array([told], pa.string())], schema=SPACE_LINE)


def explained_space(
    told: str | None, table: str, options: DiscoverOptions, notes: tuple[str, ...] = ()
) -> ExplainedSpace:
    """What an ExplainTask told; an empty space when it got no rows."""
    about: dict[str, Any] = json.loads(told) if told is not None else {"rows": 0, "pairs": [], "overlaps": []}
    space = PredicateSpace.from_lists(about["pairs"])
    return ExplainedSpace(
        table, about["rows"], space, tuple(Overlap(*one) for one in about["overlaps"]), options, notes
    )


def _told(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions) -> dict[str, object]:
    codes = family_codes(table, families(types))
    return {
        "rows": table.num_rows,
        "pairs": predicate_space(codes, types, options).to_lists(),
        "overlaps": sorted(overlaps(codes, types), key=lambda one: (-one[2], one[0], one[1])),
    }
