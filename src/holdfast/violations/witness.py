"""Violations that a person is shown: a pair in the table's own values, and the rows in most pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.rules.dependency import CFD, FD, Key, as_dependency
from holdfast.rules.message import filled_message
from holdfast.rules.plain_words import value_text
from holdfast.rules.predicate import Comparison
from holdfast.rules.relation import EQ
from holdfast.rules.rule import Rule

# Stands where a value is that nobody may see.
HIDDEN = "•••"


@dataclass(frozen=True)
class Witness:
    """A violating pair, or a violating row alone, in the table's own values.

    `marked` names the columns whose values break the rule; `shown` those that the rule speaks of, in its order, of
    which a row has those of its table. Where there are several tables, `tables` has those of the rows. `messages` are
    what the rule tells its rows, where it has a message of its own.
    """

    left_key: Any
    left: Mapping[str, Any]
    right_key: Any = None
    right: Mapping[str, Any] | None = None
    shown: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorstRow:
    """A row with how many violating pairs it is in."""

    key: Any
    conflicts: int


def marked_columns(rule: Rule, left: Mapping[str, Any], right: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The columns whose values break the rule, of a pair or of a row alone."""
    dependency = as_dependency(rule.body)
    if isinstance(dependency, Key):
        return dependency.columns
    if isinstance(dependency, FD | CFD):
        if right is None:
            return dependency.right
        return tuple(name for name in dependency.right if left[name] != right[name])
    telling = {
        column.name
        for constraint in rule.body.denials
        for predicate in constraint.predicates
        if not (isinstance(predicate, Comparison) and predicate.same_column and predicate.allowed == EQ)
        for column in predicate.columns()
    }
    return tuple(name for name in rule.body.columns if name in telling) or rule.body.columns


def shown_message(rule: Rule, row: Mapping[str, Any], hidden: Collection[str]) -> str:
    """What the rule tells the row, with the values of the hidden columns hidden; empty without a message."""

    def text_of(column: str) -> str:
        return HIDDEN if column in hidden else value_text(row[column])

    return "".join(filled_message(rule.message or "", text_of, str))


def hidden_keys(rows: tuple[WorstRow, ...], hides_key: bool) -> tuple[WorstRow, ...]:
    """The rows, with their keys hidden where `hides_key`."""
    return tuple(WorstRow(HIDDEN, row.conflicts) for row in rows) if hides_key else rows


def hidden_witness(witness: Witness, columns: Collection[str], hides_key: bool) -> Witness:
    """The witness with the values of these columns hidden; its keys too where `hides_key`."""

    def hidden_values(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: HIDDEN if name in columns else value for name, value in values.items()}

    keys = (HIDDEN, HIDDEN) if hides_key else (witness.left_key, witness.right_key)
    right = None if witness.right is None else hidden_values(witness.right)
    return replace(witness, left_key=keys[0], left=hidden_values(witness.left), right_key=keys[1], right=right)
