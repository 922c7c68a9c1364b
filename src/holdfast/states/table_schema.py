"""The schema of a state's table, in JSON as Spark writes it: names of types, Arrow's types, and the way back.

Manifests hold it so, whichever engine has made the state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import pyarrow as pa

from holdfast.encode.arrow_column_type import arrow_sql_type, arrow_type_of
from holdfast.encode.column_type import column_type
from holdfast.errors import OnlySparkError, StateError
from holdfast.programs.bind import Schema

TypeJson: TypeAlias = str | Mapping[str, Any]
"""A type as Spark's JSON has it: a name, or an object of a nested one."""
FieldJson: TypeAlias = Mapping[str, Any]
"""A column as Spark's JSON has it: its name, its type, whether it may be null, and what else is known of it."""
SchemaJson: TypeAlias = Mapping[str, Any]

# By the name in JSON, the name in SQL where it is another.
_SQL_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_COLLATIONS = "__COLLATIONS"


def sql_types(schema: SchemaJson) -> dict[str, str]:
    """Returns the types of the columns, by name, as SQL calls them.

    >>> sql_types(schema_json(pa.schema({"id": pa.int64(), "at": pa.timestamp("us")})))
    {'id': 'bigint', 'at': 'timestamp_ntz'}
    """
    return {own["name"]: sql_type(own) for own in schema["fields"]}


def sql_type(own: FieldJson) -> str:
    """Returns the type of the column as SQL calls it."""
    return _sql_type(own["type"], own)


def schema_as_seen(schema: SchemaJson, table: str) -> Schema:
    """Returns the columns with the types that rules see."""
    return Schema(table, {name: column_type(sql) for name, sql in sql_types(schema).items()})


def field(name: str, kind: TypeJson) -> FieldJson:
    """Returns a column of this name and type, which may be null."""
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def bare_field(own: FieldJson) -> FieldJson:
    """Returns the column, which may be null, without what its source says of it besides its type."""
    kept = {name: value for name, value in (own.get("metadata") or {}).items() if name == _COLLATIONS}
    return {**own, "nullable": True, "metadata": kept}


def safe_fields(schema: SchemaJson) -> list[FieldJson]:
    """Returns the columns under the safe names `c0`, `c1`, ...."""
    return [_renamed(own, f"c{i}") for i, own in enumerate(schema["fields"])]


def key_field(schema: SchemaJson, key: Sequence[str]) -> FieldJson:
    """Returns the key as a column `k`: that of its one column, or a struct of several."""
    fields = {own["name"]: own for own in schema["fields"]}
    parts = [fields[name] for name in key]
    return _renamed(parts[0], "k") if len(parts) == 1 else field("k", {"type": "struct", "fields": parts})


def _renamed(own: FieldJson, name: str) -> FieldJson:
    metadata = dict(own.get("metadata") or {})
    if _COLLATIONS in metadata:  # which are by the names of columns
        old = len(own["name"])
        metadata[_COLLATIONS] = {name + path[old:]: collation for path, collation in metadata[_COLLATIONS].items()}
    return {**own, "name": name, "nullable": True, "metadata": metadata}


def _sql_type(kind: TypeJson, own: FieldJson) -> str:
    if isinstance(kind, str):
        collation = own.get("metadata", {}).get(_COLLATIONS, {}).get(own.get("name"))
        if kind == "string" and collation is not None:
            return f"string collate {collation.partition('.')[2]}"
        return _SQL_NAMES.get(kind, kind)
    if kind["type"] == "struct":
        inside = [f"{part['name']}:{_sql_type(part['type'], part)}" for part in kind["fields"]]
        return f"struct<{','.join(inside)}>"
    if kind["type"] == "array":
        return f"array<{_sql_type(kind['elementType'], {})}>"
    if kind["type"] == "map":
        return f"map<{_sql_type(kind['keyType'], {})},{_sql_type(kind['valueType'], {})}>"
    return str(kind["type"])


def arrow_type(kind: TypeJson) -> pa.DataType:
    """Returns the Arrow type of a column of this type, times with a zone in UTC. OnlySparkError where there is none."""
    if isinstance(kind, str):
        with suppress(KeyError):
            return arrow_type_of(_SQL_NAMES.get(kind, kind))
        if re.match(r"(char|varchar)\(", kind):
            return pa.string()
    elif kind["type"] == "struct":
        return pa.struct([pa.field(own["name"], arrow_type(own["type"])) for own in kind["fields"]])
    elif kind["type"] == "array":
        return pa.list_(arrow_type(kind["elementType"]))
    elif kind["type"] == "map":
        return pa.map_(arrow_type(kind["keyType"]), arrow_type(kind["valueType"]))
    name = kind if isinstance(kind, str) else kind["type"]
    raise OnlySparkError(
        f"the table of the state has a column of the type {name}, which only Spark reads.", hint="use --engine spark."
    )


def arrow_schema(schema: SchemaJson) -> pa.Schema:
    """Returns the columns under their own names in Arrow's types. OnlySparkError where text has an order of its own."""
    for own in schema["fields"]:
        if own.get("metadata", {}).get(_COLLATIONS):
            raise OnlySparkError(
                f"the column {own['name']!r} of the state's table has a collation, which only Spark knows.",
                hint="use --engine spark.",
            )
    return pa.schema([(own["name"], arrow_type(own["type"])) for own in schema["fields"]])


def schema_json(schema: pa.Schema) -> dict[str, Any]:
    """Returns what Spark writes of a table of these columns, all of which may be null. The inverse of arrow_schema().

    Whole numbers without a sign have the next wider type; text in a dictionary is text.
    """
    return {"type": "struct", "fields": [field(own.name, type_json(own.type)) for own in schema]}


def type_json(kind: pa.DataType) -> TypeJson:
    """Returns the type as Spark's JSON has it."""
    if pa.types.is_dictionary(kind):
        return type_json(kind.value_type)
    if pa.types.is_struct(kind):
        inside = [kind.field(i) for i in range(kind.num_fields)]
        return {"type": "struct", "fields": [field(own.name, type_json(own.type)) for own in inside]}
    if pa.types.is_map(kind):
        own = {"keyType": type_json(kind.key_type), "valueType": type_json(kind.item_type)}
        return {"type": "map", **own, "valueContainsNull": True}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return {"type": "array", "elementType": type_json(kind.value_type), "containsNull": True}
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_unsigned_integer(kind):
        return {8: "short", 16: "integer", 32: "long", 64: "decimal(20,0)"}[kind.bit_width]
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_duration(kind):
        return "interval day to second"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return "binary"
    if pa.types.is_float16(kind):
        return "float"
    sql = arrow_sql_type(kind)
    names = {own: name for name, own in _SQL_NAMES.items()}
    with suppress(KeyError):
        if arrow_type_of(sql) == kind:
            return names.get(sql, sql)
    raise StateError(f"a column of the type {kind} cannot be kept in a state.", hint="leave it out of the table.")
