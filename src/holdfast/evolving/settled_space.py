"""Whether a discovery would still compare what is compared: the predicate space is settled once, and data moves on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from holdfast.encode.column_type import ColumnType
from holdfast.search.coded_rows import predicate_space
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import OperandPair, PredicateSpace

# Shares of values move slowly: they are looked at again when this share of the rows has changed.
DUE = 0.05


def is_due(changed: int, rows: int, options: DiscoverOptions) -> bool:
    """Whether so many changes of a table of so many rows are worth a look. Columns that are only compared with
    themselves never are."""
    return options.cross_columns is not None and changed > DUE * rows


def other_pairs(
    space: PredicateSpace,
    codes: Mapping[str, NDArray[np.int32]],
    types: Mapping[str, ColumnType],
    options: DiscoverOptions,
) -> tuple[str, ...]:
    """Notes on what a discovery of these rows would compare that the space does not, and the other way round."""
    now = set(predicate_space(codes, types, options).pairs)
    notes = []
    for more, pairs in ((True, now - set(space.pairs)), (False, set(space.pairs) - now)):
        for a, b in sorted({_columns(pair) for pair in pairs}):
            if more:
                notes.append(f"a discovery would now also compare {a} with {b}; evolve init makes a state that does")
            else:
                notes.append(
                    f"a discovery would no longer compare {a} with {b}; evolve init makes a state that does not"
                )
    return tuple(notes)


def _columns(pair: OperandPair) -> tuple[str, str]:
    first, second = sorted((pair.left.name, pair.right.name))
    return first, second
