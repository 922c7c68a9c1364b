"""What a discovery would compare: the predicate space of a table, without a search."""

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

SPACE_LINE = pa.schema([("space", pa.string())])


@dataclass(frozen=True)
class Overlap:
    """Two columns of one type, and the share of values of the smaller one that the other has, too."""

    left: str
    right: str
    share: float


@dataclass(frozen=True)
class ExplainedSpace:
    """The operand pairs of a discovery, the overlaps of columns, largest first, and notes on what is left out."""

    table: str
    rows: int
    space: PredicateSpace
    overlaps: tuple[Overlap, ...]
    options: DiscoverOptions
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExplainTask:
    """Returns the predicate space as JSON, from all rows of the table; columns are in the order of `types`."""

    types: Mapping[str, ColumnType]
    options: DiscoverOptions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = arrived(batches, self.types)
        if table is not None:
            text = json.dumps(_described(table, self.types, self.options))
            yield pa.RecordBatch.from_arrays([pa.array([text], pa.string())], schema=SPACE_LINE)


def explained_space(
    text: str | None, table: str, options: DiscoverOptions, notes: tuple[str, ...] = ()
) -> ExplainedSpace:
    """Returns the space from the text of an ExplainTask; an empty one without text."""
    about: dict[str, Any] = json.loads(text) if text is not None else {"rows": 0, "pairs": [], "overlaps": []}
    space = PredicateSpace.from_lists(about["pairs"])
    return ExplainedSpace(
        table, about["rows"], space, tuple(Overlap(*overlap) for overlap in about["overlaps"]), options, notes
    )


def _described(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions) -> dict[str, object]:
    codes = family_codes(table, families(types))
    shares = [(pair.left, pair.right, pair.share) for pair in overlaps(codes, types)]
    return {
        "rows": table.num_rows,
        "pairs": predicate_space(codes, types, options).to_lists(),
        "overlaps": sorted(shares, key=lambda overlap: (-overlap[2], overlap[0], overlap[1])),
    }
