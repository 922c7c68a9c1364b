"""Rules meet a table: every column exists, every comparison has a meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.encode.column_type import VOID, ColumnType
from holdfast.errors import OptionError, TypeMismatchError, UnknownColumnError, closest_hint
from holdfast.programs.sql_expression import Encoder
from holdfast.rules.predicate import Column, Predicate, quoted_name
from holdfast.rules.rule import Rule, RuleSet


@dataclass(frozen=True)
class Schema:
    """A table's name, and its columns with their types, in order."""

    table: str
    types: Mapping[str, ColumnType]

    def position(self, name: str) -> int:
        return list(self.types).index(name)


def require_columns(rules: RuleSet, key: Iterable[str], schema: Schema) -> None:
    """UnknownColumnError, with the nearest name as a hint, when a rule or the key names what is not there."""
    names = list(key)
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"the key names {name!r} twice.", hint="name each column once.")
        if name not in schema.types:
            raise UnknownColumnError(
                f"the key names {name!r}, but the table {schema.table} has no such column.",
                hint=closest_hint(name, schema.types),
            )
    for rule in rules:
        for name in rule.body.columns:
            if name not in schema.types:
                raise UnknownColumnError(
                    f"rule {rule.name!r} compares {name!r}, but the table {schema.table} has no such column.",
                    hint=closest_hint(name, schema.types),
                )


def mismatched_columns(rules: RuleSet, schema: Schema) -> frozenset[str]:
    """The columns of all predicates that compare what cannot be compared by the types alone.

    Such a comparison may still have a meaning: a column that is entirely null has no type.
    """
    encoder = Encoder(schema.types, rules.nulls, str)
    names: set[str] = set()
    for rule in rules:
        for predicate in _predicates(rule):
            try:
                encoder.predicate(predicate)
            except TypeMismatchError:
                names |= {column.name for column in predicate.columns()}
    return frozenset(names)


def without_types(schema: Schema, empty: Iterable[str]) -> Schema:
    """The schema, with the columns named in `empty` (all their values are null) comparable with anything."""
    return Schema(schema.table, {**schema.types, **dict.fromkeys(empty, VOID)})


def require_types(rules: RuleSet, schema: Schema) -> None:
    """TypeMismatchError, naming rule, columns and types, when a comparison has no meaning."""
    encoder = Encoder(schema.types, rules.nulls, str)
    for rule in rules:
        for predicate in _predicates(rule):
            try:
                encoder.predicate(predicate)
            except TypeMismatchError as problem:
                raise TypeMismatchError(
                    f"rule {rule.name!r} {problem.message}.", hint=_type_hint(predicate, schema)
                ) from None


def _predicates(rule: Rule) -> Iterable[Predicate]:
    for constraint in rule.body.denials:
        yield from constraint.predicates


def _type_hint(predicate: Predicate, schema: Schema) -> str | None:
    names = list(dict.fromkeys(column.name for column in predicate.columns()))
    text = [name for name in names if schema.types[name].family == "text"]
    others = [name for name in names if schema.types[name].family not in ("text", "other")]
    if text and others:
        wanted = "date" if schema.types[others[0]].family in ("date", "timestamp") else "double"
        return (
            f"read {quoted_name(text[0])} as a {wanted} with --types {text[0]}={wanted}, "
            f"or {quoted_name(others[0])} as text with --types {others[0]}=text."
        )
    if text:
        return f"write the constant in single quotes, or read the column otherwise with --types {text[0]}=…"
    if others and not isinstance(getattr(predicate, "right", None), Column):
        return f"write the constant as {_example(schema.types[others[0]])}, or use --types {others[0]}=text."
    return None


def _example(kind: ColumnType) -> str:
    return {"date": "date '2024-01-31'", "timestamp": "timestamp '2024-01-31 12:00:00'", "boolean": "true"}.get(
        kind.family, "a number without quotes"
    )
