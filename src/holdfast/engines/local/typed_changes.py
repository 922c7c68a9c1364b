"""Rows of changes in this process, in a state's own columns and types. `engines/spark/states/changes` is its twin."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.encode.column_type import ColumnType, column_type
from holdfast.encode.spark_text import spark_text
from holdfast.engines.states.changes import COMMIT_VERSION, misfit, require_castable
from holdfast.errors import HoldfastError
from holdfast.states.row_changes import CHANGE_TYPE, CHANGE_TYPES, INSERT
from holdfast.states.table_schema import SchemaJson, arrow_schema, schema_json, sql_types
from holdfast.tables.local_table import LocalTable

_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def typed_changes(table: LocalTable, schema: SchemaJson) -> tuple[pa.Table, tuple[int, ...]]:
    """The changes under safe names, as `Changes` has them, and the positions of the columns that the table has.

    ChangeError for a value that does not fit its column, and for types without a way.
    """
    rows, size = table.rows, table.rows.num_rows
    own, wanted, kinds = sql_types(schema_json(rows.schema)), sql_types(schema), arrow_schema(schema)
    known = tuple(i for i, name in enumerate(wanted) if name in own)
    columns: dict[str, Any] = {}
    for i, (name, target) in enumerate(wanted.items()):
        kind = kinds.field(i).type
        if name in own:
            columns[f"c{i}"] = typed_column(
                rows.column(name), name, own[name], target, kind, table.name, partial(misfit, table.name)
            )
        else:
            columns[f"c{i}"] = pa.nulls(size, kind)
    columns["ct"] = (
        _change_kinds(rows.column(CHANGE_TYPE)) if CHANGE_TYPE in own else pa.array(np.zeros(size, np.int32))
    )
    # Rows are in the order of their files, and within a file in its own.
    columns["o0"] = _commits(rows, table.name) if COMMIT_VERSION in own else pa.repeat("0" * 20, size)
    columns["o1"] = pa.array(np.zeros(size, np.int64))
    columns["o2"] = pa.array(np.arange(size))
    return pa.table(columns), known


def _change_kinds(column: pa.ChunkedArray) -> pa.Array:
    """The place of each change's type in CHANGE_TYPES; one more than the last for any other text."""
    texts = spark_text(column)
    places = pc.fill_null(pc.index_in(texts, value_set=pa.array(CHANGE_TYPES)), len(CHANGE_TYPES))
    return pc.if_else(texts.is_null(), pa.scalar(INSERT, pa.int32()), places).cast(pa.int32())


def _commits(rows: pa.Table, table: str) -> pa.Array:
    column = rows.column(COMMIT_VERSION)
    own = sql_types(schema_json(pa.schema({COMMIT_VERSION: column.type})))[COMMIT_VERSION]
    if own == "string":
        column = column.cast(pa.int64())
    elif own != "bigint":
        column = typed_column(column, COMMIT_VERSION, own, "bigint", pa.int64(), table, partial(misfit, table))
    return pc.utf8_lpad(spark_text(column), 20, "0")


def typed_column(
    column: pa.ChunkedArray,
    name: str,
    source: str,
    target: str,
    kind: pa.DataType,
    table: str,
    unfit: Callable[[str, str, str], HoldfastError],
) -> pa.ChunkedArray | pa.Array:
    """The column of the source's SQL type in the target's, which Arrow has as `kind`.

    ChangeError for types without a way; `unfit` makes the error of a value that does not fit, with the column's name
    and type.
    """
    if source == target:
        return column if column.type == kind else column.cast(kind)
    a, b = column_type(source), column_type(target)
    if a.family == "void":
        return pa.nulls(len(column), kind)
    require_castable(table, name, source, target)
    if not (a.numeric and b.numeric):
        # Text of another name, or a time of another kind: in UTC nothing is lost.
        return column.cast(kind)
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    encoded = whole.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    fitting = [_fitted(value, a, b) for value in values]
    odd = [place for place, (value, fit) in enumerate(zip(values, fitting, strict=True)) if fit is None is not value]
    if odd:
        raise unfit(spark_text(encoded.dictionary.slice(odd[0], 1))[0].as_py(), name, target)
    return pa.array(fitting, kind).take(encoded.indices)


def _fitted(value: Any, own: ColumnType, wanted: ColumnType) -> Any:
    """The number as one of the wanted type from which it can be had back; None where there is none."""
    if value is None:
        return None
    there, back = _cast_to(wanted), _cast_to(own)
    other = there(value)
    again = None if other is None else back(other)
    return other if again is not None and (again == value or (again != again and value != value)) else None


def _cast_to(kind: ColumnType) -> Callable[[Any], Any]:
    """What Spark's try_cast to the type makes of a number; None where it fails."""
    if kind.family == "integer":
        most = 2 ** (_INTEGER_BITS[kind.sql] - 1)
        return lambda value: whole if (whole := _whole(value)) is not None and -most <= whole < most else None
    if kind.family == "decimal":
        return lambda value: _decimal(value, kind)
    if kind.sql == "float":
        return lambda value: float(np.float32(value))
    return float


def _whole(value: Any) -> int | None:
    return None if isinstance(value, float) and not math.isfinite(value) else int(value)


def _decimal(value: Any, kind: ColumnType) -> Decimal | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        rounded = exact.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)
    except InvalidOperation:
        return None
    return rounded if rounded.scaleb(kind.scale, _EXACT).copy_abs() < 10**kind.precision else None
