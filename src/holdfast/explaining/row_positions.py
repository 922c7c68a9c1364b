"""Which rows of a table a user names."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.errors import OptionError
from holdfast.explaining.cell_values import read_texts
from holdfast.rules.predicate import quoted_name
from holdfast.violations.part import Bools, Ints


def row_positions(keys: pa.ChunkedArray, key_names: Sequence[str], row: Any) -> Ints:
    """The positions of the rows with this key: a value, or its text; of several columns a list, or texts with commas.

    None where no row has it. Raises OptionError where `row` names more or fewer columns than the key has.

    >>> row_positions(pa.chunked_array([[7, 8, 9]]), ("id",), "8").tolist()
    [1]
    """
    if len(key_names) <= 1:
        return np.flatnonzero(_equal(keys, row))
    parts = key_parts(row, key_names)
    columns = zip(keys.flatten(), parts, strict=True)
    return np.flatnonzero(np.logical_and.reduce([_equal(column, part) for column, part in columns]))


def key_parts(row: Any, key_names: Sequence[str]) -> list[Any]:
    """The values for the columns of a key of several: of a list, or of a text that has one, or has commas."""
    parts = _listed(row) if isinstance(row, str) else list(row) if isinstance(row, list | tuple) else [row]
    if len(parts) != len(key_names):
        names = ", ".join(map(quoted_name, key_names))
        raise OptionError(
            f"the key has {len(key_names)} columns ({names}), but {row!r} names {len(parts)}.",
            hint='write a value for each, as in "a,b".',
        )
    return parts


def _listed(text: str) -> list[Any]:
    """The values in a JSON list, or in a text with commas."""
    if text.startswith("["):
        with suppress(ValueError):
            return list(json.loads(text))
    return next(csv.reader([text]), [])


def _equal(column: pa.ChunkedArray | pa.Array, value: Any) -> Bools:
    """Which of the values are this one; a text is read in their type."""
    stored = column.type
    if pa.types.is_dictionary(stored):
        return _equal(column.cast(stored.value_type), value)
    wanted = _typed(value, stored)
    if wanted is None:
        return np.zeros(len(column), np.bool_)
    if isinstance(wanted, float) and wanted != wanted:
        return np.asarray(pc.fill_null(pc.is_nan(column), False).to_numpy(zero_copy_only=False), np.bool_)
    same = pc.fill_null(pc.equal(column, pa.scalar(wanted, stored)), False)
    return np.asarray(same.to_numpy() if isinstance(same, pa.ChunkedArray) else same.to_numpy(zero_copy_only=False))


def _typed(value: Any, stored: pa.DataType) -> Any:
    """The value as one of the type; None where there is no such."""
    if value is None or pa.types.is_null(stored):
        return None
    kind = arrow_column_type(stored)
    if isinstance(value, str):
        if kind.family == "binary":
            return value.encode()
        return read_texts([value], kind, stored)[0].as_py()
    if kind.numeric and isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return _number(value, stored, whole=kind.family == "integer")
    if kind.family == "text" and not isinstance(value, bytes):
        return str(value)
    with suppress(pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError):
        return pa.scalar(value, stored).as_py()
    return None


def _number(value: int | float | Decimal, stored: pa.DataType, *, whole: bool) -> Any:
    """The number in the type, where that has one that equals it; to doubles, that of the nearest."""
    if pa.types.is_floating(stored):
        return float(value)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    with suppress(pa.ArrowInvalid, InvalidOperation, OverflowError, ValueError):
        known = pa.scalar(int(exact) if whole else exact, stored).as_py()
        return known if known == exact else None
    return None
