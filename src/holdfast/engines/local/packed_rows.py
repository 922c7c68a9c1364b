"""Rows packed in this process as sites keep them. `engines/spark/fragments/packed_sql` is its twin."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.column_type import ColumnType
from holdfast.encode.live_codes import constant_value
from holdfast.encode.one_array import one_array
from holdfast.encode.spark_hash import spark_xxhash64
from holdfast.encode.spark_text import spark_text
from holdfast.engines.local.typed_changes import typed_column
from holdfast.engines.states.changes import unfit_at_site
from holdfast.errors import OnlySparkError, SitesError
from holdfast.fragments.id_packing import INSIDE, KNOWN, MOST_PLAIN_DIGITS, NULL, OUTSIDE, UNTOLD, IdPacking
from holdfast.fragments.ids import SIZE, to_column
from holdfast.fragments.parts import Atom
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.form import Satisfies, Where
from holdfast.programs.sql_expression import bind_constant
from holdfast.rules.predicate import Column, Constant
from holdfast.states.segment import key_of
from holdfast.states.table_schema import SchemaJson, arrow_schema, schema_as_seen, schema_json, sql_types
from holdfast.tables.local_table import LocalTable

Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]


def packed_rows(
    rows: pa.Table, packing: IdPacking, atoms: Sequence[int], conditions: Sequence[str | None], kept: Sequence[str]
) -> pa.Table:
    """The rows with their key `k`, the `ids` and `bits` of these atoms, and a byte for each condition in `inside`.

    Of other columns those in `kept` stay. A condition that is None cannot be told. Raises ConditionError where a
    condition says more than can be computed in this process.
    """
    own = {name: column for name in packing.names if (column := packing.column(name)) in rows.column_names}
    named = rows.select(list(own.values())).rename_columns(list(own))
    columns = TableColumns(named, packing.types, packing.nulls)
    ids: list[Bytes] = []
    bits: list[Bools] = []
    for atom in (packing.held_atoms.atoms[i] for i in atoms):
        if atom.is_column:
            name = atom.columns[0]
            column = one_array(named.column(name))
            ids.append(_ids(packing, name, column))
            known = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
            bits.append(known | (packing.nulls == "equal"))
        else:
            bits.append(_holds(atom, columns))
    inside = [
        np.full(rows.num_rows, UNTOLD, np.uint8)
        if text is None
        else np.where(flag_values(Where(text), columns), INSIDE, OUTSIDE)
        for text in conditions
    ]
    key = key_of(rows, [packing.column(name) for name in packing.key], packing.key)
    bytes_of: dict[str, Sequence[NDArray[Any]]] = {
        "ids": ids,
        "bits": [column[:, None] for column in bits],
        "inside": [c[:, None] for c in inside],
    }
    packed = {name: _side_by_side(parts, rows.num_rows) for name, parts in bytes_of.items()}
    return pa.table({"k": key, **{name: rows.column(name) for name in kept}, **packed})


def site_rows(table: LocalTable, packing: IdPacking, columns: Collection[str], site: int) -> pa.Table:
    """These columns of a site's table under the safe names and in the types of the packing, and the `site`."""
    own, wanted, kinds = (
        sql_types(schema_json(table.rows.schema)),
        sql_types(packing.schema),
        arrow_schema(packing.schema),
    )

    def unfit(value: str, name: str, kind: str) -> SitesError:
        return unfit_at_site(value, name)

    typed = {
        packing.column(name): typed_column(
            table.rows.column(name), name, own[name], wanted[name], kinds.field(name).type, table.name, unfit
        )
        for name in wanted
        if name in columns
    }
    return pa.table({"site": pa.repeat(pa.scalar(site, pa.int32()), table.rows.num_rows), **typed})


def truths_of_constants(
    rows: Sequence[Mapping[str, Constant]], schema: SchemaJson, conditions: Sequence[str]
) -> list[set[str]]:
    """Which of the conditions are true of each of the rows, of these constants in these columns, and else of nulls."""
    types, kinds = schema_as_seen(schema, "").types, arrow_schema(schema)
    columns = {}
    for name in types:
        values = [_value(row[name], types[name], name) if name in row else None for row in rows]
        columns[name] = pa.array(values, kinds.field(name).type)
    table = TableColumns(pa.table(columns), types, "sql")
    truths = {condition: flag_values(Where(condition), table) for condition in conditions}
    return [{condition for condition, held in truths.items() if held[i]} for i in range(len(rows))]


def _value(constant: Constant, kind: ColumnType, name: str) -> Any:
    """The value of the column's type that equals the constant; None where there is none."""
    if kind.family == "void":
        return None
    bound = bind_constant(constant, kind, Column("t", name))
    return constant_value(constant, kind) if bound.exact and bound.literal is not None else None


def _side_by_side(parts: Sequence[NDArray[Any]], rows: int) -> pa.ChunkedArray:
    """The bytes of each row, of all parts, as one binary value."""
    lines = np.concatenate(
        [np.zeros((rows, 0), np.uint8), *(part.astype(np.uint8, copy=False) for part in parts)], axis=1
    )
    return to_column(lines)


def _holds(atom: Atom, columns: TableColumns) -> Bools:
    if atom.where is not None:
        return flag_values(Where(atom.where), columns)
    assert atom.predicate is not None, "an atom is a column, a predicate or a condition"
    return flag_values(Satisfies(atom.predicate), columns)


def _ids(packing: IdPacking, name: str, column: pa.Array) -> Bytes:
    """The ids of the values, 16 bytes each. Cost: a hash for each distinct value."""
    prefix, nothing = packing.prefix(name), bytes(SIZE)
    null = nothing if packing.nulls == "sql" else hashlib.sha256(prefix + NULL).digest()[:SIZE]
    values, places = _distinct(column, packing.types[name], packing.as_cast)
    lead = prefix + KNOWN
    hashes = [hashlib.sha256(lead + value).digest()[:SIZE] for value in values]
    table = np.frombuffer(b"".join([*hashes, null]), np.uint8).reshape(len(hashes) + 1, SIZE)
    return table[places]


def _distinct(column: pa.Array, kind: ColumnType, as_cast: bool) -> tuple[list[bytes], NDArray[np.int64]]:
    """Bytes of the distinct values, which are equal exactly where these are, and the place of each row's value there.

    The place of a null is that after the last.
    """
    if as_cast and (kind.family == "float" or (kind.family == "decimal" and kind.scale > MOST_PLAIN_DIGITS)):
        raise OnlySparkError(
            f"the state keeps values of the type {kind} in a form that only Spark writes.",
            hint="use --engine spark, or make the state anew.",
        )
    if pa.types.is_null(column.type):
        return [], np.zeros(len(column), np.int64)
    valid = column.is_valid()
    if kind.family == "float":
        # -0.0 is 0.0, and every NaN is one: so it is for the hash.
        column = pa.array(spark_xxhash64([column.cast(pa.float64())]))
        column = pa.array(column.to_numpy(), mask=~np.asarray(valid.to_numpy(zero_copy_only=False), np.bool_))
    elif kind.sql == "timestamp":
        column = column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64())
    coded = (column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).dictionary_encode()
    places = coded.indices.cast(pa.int64()).fill_null(len(coded.dictionary)).to_numpy()
    if kind.family == "binary":
        return coded.dictionary.cast(pa.binary()).to_pylist(), places
    if kind.family == "decimal" and kind.scale > MOST_PLAIN_DIGITS:
        return [f"{value:,.{kind.scale}f}".encode() for value in coded.dictionary.to_pylist()], places
    return spark_text(coded.dictionary).cast(pa.binary()).to_pylist(), places
