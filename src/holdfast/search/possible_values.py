"""How many values a column could have had, as far as its values say.

A key of values that could not have repeated anyway says little; one of values that could have says much.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.kernels.evidence import NULL
from holdfast.search.evidence import Codes

# Where no number can be given, as for doubles with all their digits: so many, as many as matter nowhere.
UNBOUNDED = 1e30
# Digits after the point that a column of doubles is tried with.
_MOST_DIGITS = 6
# Steps of a clock, in microseconds.
_STEPS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)


def possible_values(table: pa.Table, codes: Mapping[str, Codes]) -> dict[str, float]:
    """For each of the columns in which no value occurs twice: the steps from its least to its greatest value, in the
    unit of its values; of text the product, over its places, of how many characters stand there.

    Nulls are left aside; columns of other types are left out.
    """
    return {
        name: possible
        for name, column in codes.items()
        if len(column) and _all_differ(column) and (possible := _possible(table.column(name).drop_null())) is not None
    }


def _all_differ(codes: Codes) -> bool:
    known = codes[codes != NULL]
    if len(known) == 0 or int(known.max()) - int(known.min()) + 1 < len(known):
        return False
    return len(np.unique(known)) == len(known)


def _possible(column: pa.ChunkedArray) -> float | None:
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind, column = kind.value_type, column.cast(kind.value_type)
    if pa.types.is_integer(kind):
        return _steps(column, 1)
    if pa.types.is_decimal(kind):
        return _steps(column, 10.0**-kind.scale)
    if pa.types.is_date(kind):
        return _steps(column.cast(pa.date32()).cast(pa.int32()), 1)
    if pa.types.is_timestamp(kind):
        moments = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
        values = moments.to_numpy()
        return _steps(moments, next(step for step in _STEPS if not (values % step).any()))
    if pa.types.is_floating(kind):
        values = column.to_numpy().astype(np.float64)
        if not np.isfinite(values).all():
            return None
        for digits in range(_MOST_DIGITS + 1):
            if (np.round(values, digits) == values).all():
                return _steps(column, 10.0**-digits)
        return UNBOUNDED
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return possible_texts(column)
    return None


def _steps(column: pa.ChunkedArray, step: float) -> float:
    ends = pc.min_max(column).as_py()
    return min((float(ends["max"]) - float(ends["min"])) / step + 1, UNBOUNDED)


def possible_texts(column: pa.ChunkedArray) -> float:
    """About how many texts are written as these are: the product, over places, of how many characters stand there."""
    longest = pc.max(pc.utf8_length(column)).as_py()
    total = 0.0
    for place in range(longest):
        # Texts that end before it have an empty one there.
        total += log(len(pc.unique(pc.utf8_slice_codeunits(column, place, place + 1))))
        if total > log(UNBOUNDED):
            return UNBOUNDED
    return exp(total)
