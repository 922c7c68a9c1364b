"""Rules meet a table: every column exists, every comparison has a meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from holdfast.encode.column_type import VOID, ColumnType
from holdfast.errors import OptionError, TypeMismatchError, unknown_column
from holdfast.programs.lower import Lowering
from holdfast.programs.sql_expression import Encoder
from holdfast.rules.dependency import Inclusion
from holdfast.rules.message import message_columns
from holdfast.rules.parse import pointed
from holdfast.rules.predicate import Column, Comparison, Predicate, QualifiedColumn, TextTest, quoted_name
from holdfast.rules.rule import Rule, RuleSet

# Types, by how their names begin, of which neither Spark nor a kernel says whether two values are the same.
_NO_KEYS = ("map", "variant", "array", "interval year", "interval month")


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
            raise unknown_column(f"the key names {name!r}", name, schema.table, schema.types)
    for rule in rules:
        for name in rule.body.columns:
            if name not in schema.types:
                raise unknown_column(f"rule {rule.name!r} compares {name!r}", name, schema.table, schema.types)
        for name in message_columns(rule.message):
            if name not in schema.types:
                said = f"the message of rule {rule.name!r} names {name!r}"
                raise unknown_column(said, name, schema.table, schema.types)
            if schema.types[name].family == "other":
                raise TypeMismatchError(f"{said}, a {schema.types[name].sql}, which is not written as text.")


def require_key_types(key: Iterable[str], schema: Schema) -> None:
    """TypeMismatchError when values of a column of the key cannot be told apart."""
    for name in key:
        kind = schema.types[name].sql
        if kind.startswith(_NO_KEYS):
            raise TypeMismatchError(f"the key {quoted_name(name)} is a {kind}, which cannot tell rows apart.")


def mismatched_columns(rules: RuleSet, schema: Schema) -> frozenset[str]:
    """The columns of all predicates that compare what cannot be compared by the types alone.

    Such a comparison may still have a meaning: a column that is entirely null has no type.
    """
    mismatches = _mismatches(rules, schema)
    return frozenset(column.name for _, predicate, _ in mismatches for column in predicate.columns())


def without_types(schema: Schema, empty: Iterable[str]) -> Schema:
    """The schema, with the columns named in `empty` (all their values are null) comparable with anything."""
    return Schema(schema.table, {**schema.types, **dict.fromkeys(empty, VOID)})


def require_types(rules: RuleSet, schema: Schema) -> None:
    """TypeMismatchError, naming rule, columns and types, and pointing at it, when a comparison has no meaning."""
    for rule, predicate, reason in _mismatches(rules, schema):
        raise TypeMismatchError(
            f"rule {rule.name!r} {reason}.{_pointed_at(rule, predicate)}", hint=_type_hint(predicate, schema)
        )


def _pointed_at(rule: Rule, predicate: Predicate) -> str:
    """The rule's text with a caret under the predicate, or what it compares; nothing where it is written otherwise."""
    text, columns = str(rule), predicate.columns()
    operands = [str(operand) for operand in predicate.operands] if isinstance(predicate, Comparison) else []
    own = [quoted_name(c.own if isinstance(c, QualifiedColumn) else c.name) for c in columns]
    place = next((at for part in (str(predicate), *operands, *own) if (at := text.find(part)) >= 0), None)
    return "" if place is None else f"\n\n{pointed(text, place)}"


def _mismatches(rules: RuleSet, schema: Schema) -> Iterator[tuple[Rule, Predicate, str]]:
    """Each predicate that has no meaning by the types, its rule, and the reason."""
    encoder, lowering = Encoder(schema.types, rules.nulls, str), Lowering(schema.types, rules.nulls)
    for rule in rules:
        predicates: list[Predicate] = [p for constraint in rule.body.denials for p in constraint.predicates]
        if isinstance(rule.body, Inclusion):
            predicates += rule.body.matches
        for predicate in dict.fromkeys(predicates):  # patterns of a tableau share most of theirs
            try:
                for lowered in (p for way in lowering.alternatives(predicate) for p in way):
                    encoder.predicate(lowered)
            except TypeMismatchError as problem:
                yield rule, predicate, problem.message


def _type_hint(predicate: Predicate, schema: Schema) -> str | None:
    names = list(dict.fromkeys(column.name for column in predicate.columns()))
    text = [name for name in names if schema.types[name].family == "text"]
    others = [name for name in names if schema.types[name].family not in ("text", "other")]
    if others and isinstance(predicate, TextTest):
        return (
            f"read {quoted_name(others[0])} as text with --types {others[0]}=text, "
            "or with types: below its table in the rule file."
        )
    if any(isinstance(column, QualifiedColumn) for column in predicate.columns()):
        if text and others:
            return f"read {text[0]} or {others[0]} otherwise, with types: below its table in the rule file."
        if text:
            return (
                f"write the constant in single quotes, or read {text[0]} otherwise, with types: below its table in the "
                "rule file."
            )
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
