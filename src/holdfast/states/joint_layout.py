"""Several tables as one, as a state keeps them: how the columns and keys of each are named among those of all.

A row of all tables has the name of its table, its key there, and the columns of every table under their joint names,
null but for those of its own; after them, whether the conditions of rules on its table are true. It is named by the
first two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.encode.column_type import column_type
from holdfast.errors import SourceError
from holdfast.programs.compile import TABLE
from holdfast.rules.joint_rules import TableCondition
from holdfast.rules.predicate import joint_name
from holdfast.states.table_schema import FieldJson, SchemaJson, bare_field, field, sql_type

KEY = "_key"
# Families of values that are told apart by their texts, the same in every place and time zone.
_TOLD_APART = ("integer", "text", "decimal", "date", "boolean")


@dataclass(frozen=True)
class JointLayout:
    """The tables, in order, with their schemas and the columns of their keys, and the conditions on their rows."""

    schemas: Mapping[str, SchemaJson]
    keys: Mapping[str, tuple[str, ...]]
    conditions: tuple[TableCondition, ...] = ()

    @classmethod
    def of_schema(
        cls, schema: SchemaJson, keys: Mapping[str, tuple[str, ...]], conditions: tuple[TableCondition, ...] = ()
    ) -> JointLayout:
        """The layout that this schema of all tables has; the inverse of `schema`."""
        own: dict[str, list[FieldJson]] = {name: [] for name in keys}
        for column in schema["fields"][2 : len(schema["fields"]) - len(conditions)]:
            table, _, name = column["name"].partition(".")
            own[table].append({**column, "name": name})
        return cls({name: {"type": "struct", "fields": fields} for name, fields in own.items()}, keys, conditions)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schemas)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The columns of all tables: the name of the table, the key there, each table's own, and conditions."""
        key = field(KEY, "string") if self.key_is_text else {**bare_field(self._key_fields[0]), "name": KEY}
        own = [
            {**bare_field(column), "name": joint_name(table, column["name"])}
            for table, schema in self.schemas.items()
            for column in schema["fields"]
        ]
        truths = [field(condition.column, "boolean") for condition in self.conditions]
        return {"type": "struct", "fields": [field(TABLE, "string"), key, *own, *truths]}

    @property
    def _key_fields(self) -> list[FieldJson]:
        return [
            next(column for column in self.schemas[table]["fields"] if column["name"] == name)
            for table, key in self.keys.items()
            for name in key
        ]

    @cached_property
    def key_is_text(self) -> bool:
        """Whether keys are kept as text: not where each table has one key column, all of one type."""
        kinds = {sql_type(column) for column in self._key_fields}
        return len(kinds) > 1 or any(len(key) > 1 for key in self.keys.values())

    def require_keys(self) -> None:
        """Raises SourceError where keys are to be text, and texts would not tell them apart."""
        for (table, name), column in zip(
            [(table, name) for table, key in self.keys.items() for name in key], self._key_fields, strict=True
        ):
            kind = column_type(sql_type(column))
            if self.key_is_text and kind.family not in _TOLD_APART:
                raise SourceError(
                    f"the key {joint_name(table, name)} is {kind}, which has no text of its own.",
                    hint="watch tables whose keys are one column each, all of one type, or of whole numbers, text, "
                    "decimals, dates or booleans.",
                )

    def places(self, table: str) -> list[int]:
        """Where the columns of the table are among those of all."""
        first = 2
        for name, schema in self.schemas.items():
            if name == table:
                return list(range(first, first + len(schema["fields"])))
            first += len(schema["fields"])
        raise AssertionError("the layout has its tables only")

    def condition_places(self, table: str) -> dict[int, str]:
        """Where among the columns of all the conditions on the table's rows are, and what they say."""
        first = len(self.schema["fields"]) - len(self.conditions)
        return {first + i: own.condition for i, own in enumerate(self.conditions) if own.table == table}

    def own_names(self, table: str) -> list[str]:
        """The names of the table's columns, as it has them."""
        return [column["name"] for column in self.schemas[table]["fields"]]

    def key_places(self, table: str) -> list[int]:
        """Where the columns of the table's key are among its own."""
        names = self.own_names(table)
        return [names.index(name) for name in self.keys[table]]


def key_columns() -> tuple[str, str]:
    """The columns by which the rows of all tables are named."""
    return (TABLE, KEY)
