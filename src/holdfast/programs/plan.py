"""What one scan of a table must yield for the programs of a rule set, on an engine that speaks SQL. Data, printable.

The scan gives a view `rows` with the row's key `k`, the columns the rules need as `c0`, `c1`, ... by their position in
the table, one truth value `w0`, `w1`, ... per `where` condition, and one truth value `m0`, `m1`, ... per look-up in a
long tableau. `form_columns` computes the forms `f0`, ... and flags `b0`, ... of the programs from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.encode.column_type import ColumnType
from holdfast.programs.bind import Schema, require_columns, require_types
from holdfast.programs.compile import compile_rules
from holdfast.programs.lower import Computed, divides, lower_rules, rounded_operands, vanishing_expressions
from holdfast.programs.program import Programs
from holdfast.programs.sql_expression import Encoder
from holdfast.programs.sql_forms import Lookup, SqlForms
from holdfast.rules.message import message_columns
from holdfast.rules.plain_words import number
from holdfast.rules.predicate import Column
from holdfast.rules.rule import RuleSet


@dataclass(frozen=True)
class Vanishing:
    """An expression of the rule with this number that may be null though its columns have values, and when it is."""

    rule: int
    column: Computed
    sql: str

    def note(self, rule: str, rows: int) -> str:
        """What a person is told where it is so in some rows."""
        why = "divides by zero" if divides(self.column.call) else "needs more than 38 digits"
        return f"rule {rule!r}: {self.column} {why} in {number(rows, 'row')}, and is null there"


@dataclass(frozen=True)
class Plan:
    """The programs of the rules on a table of this schema, and what its one scan must yield.

    `forms` and `flags` are the SQL of those of the programs; a flag may be null instead of false. `computed` has, by
    name, the columns of the programs that are expressions.
    """

    schema: Schema
    rules: RuleSet
    key: tuple[str, ...]
    columns: tuple[str, ...]
    computed: Mapping[str, Computed]
    conditions: tuple[str, ...]
    programs: Programs
    vanishing: tuple[Vanishing, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        return self._written[0]

    @property
    def flags(self) -> tuple[str, ...]:
        return self._written[1]

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        return self._written[2]

    @cached_property
    def _written(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Lookup, ...]]:
        """The forms, flags and look-ups, which only an engine that speaks SQL reads."""
        encoder = _encoder(self.rules, self.schema, self.computed)
        written = SqlForms(encoder, {condition: f"w{i}" for i, condition in enumerate(self.conditions)})
        forms, flags = map(written.form, self.programs.forms), map(written.flag, self.programs.flags)
        return tuple(forms), tuple(flags), tuple(written.lookups.values())

    def rounding_note(self, i: int) -> str | None:
        """What a person is told where rows violate rule i: some may do so by the last digit of a double alone."""
        rule = self.rules.rules[i]
        operands = rounded_operands(rule, self.schema.types)
        if not operands:
            return None
        # A division gives doubles whatever its columns are.
        column = next((name for name in rule.body.columns if self.schema.types[name].family == "float"), None)
        exact = f"read the columns as decimals (types {column}=decimal(12,2), ...), or " if column else ""
        return (
            f"rule {rule.name!r}: {operands[0]} is calculated with doubles, among which 0.1 + 0.2 is not 0.3; "
            f"{exact}compare abs(a - b) > 0.005"
        )

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the table's columns, and of computed ones."""
        return {**self.schema.types, **{name: column.kind for name, column in self.computed.items()}}

    def base(self, column: str) -> tuple[str, ...]:
        """The table's columns that the values of a column of the programs are made of: itself, or several."""
        return self.computed[column].base if column in self.computed else (column,)

    def scope(self, i: int) -> str | None:
        """The truth value of the condition of rule i; None where it speaks of all rows."""
        where = self.rules.rules[i].where
        return None if where is None else f"w{self.conditions.index(where)}"

    def form_columns(self, forms: Iterable[int] | None = None, flags: Iterable[int] | None = None) -> list[str]:
        """SQL of the forms and flags with these numbers, or of all, under their names; a flag is true or false."""
        named = [f"{self.forms[i]} AS f{i}" for i in (range(len(self.forms)) if forms is None else forms)]
        which = range(len(self.flags)) if flags is None else flags
        return named + [f"coalesce({self.flags[i]}, false) AS b{i}" for i in which]

    @property
    def texts(self) -> list[str]:
        """All SQL of the programs."""
        return [*self.forms, *self.flags, *(vanishing.sql for vanishing in self.vanishing)]


def make_typed_plan(rules: RuleSet, schema: Schema, key: Sequence[str]) -> Plan:
    """The plan of a table that a state keeps; as `make_plan`, and refuses senseless comparisons.

    A column without values may get some later, so that here its type counts, unlike in a check.
    """
    require_columns(rules, key, schema)
    require_types(rules, schema)
    return make_plan(rules, schema, key)


def make_plan(rules: RuleSet, schema: Schema, key: Sequence[str]) -> Plan:
    """The plan for these rules on a table of this schema, its rows named by `key`, or numbered without one."""
    require_columns(rules, key, schema)
    conditions = tuple(dict.fromkeys(rule.where for rule in rules if rule.where is not None))
    lowered = lower_rules(rules, schema.types)
    encoder = _encoder(rules, schema, lowered.computed)
    programs = compile_rules(rules, encoder.compared, lowered=lowered)
    used = {name for rule in rules for name in (*rule.body.columns, *message_columns(rule.message))}
    return Plan(
        schema=schema,
        rules=rules,
        key=tuple(key),
        columns=tuple(name for name in schema.types if name in used),
        computed=lowered.computed,
        conditions=conditions,
        programs=programs,
        vanishing=tuple(
            Vanishing(i, column, _vanishes(column, encoder))
            for i, rule in enumerate(rules)
            for column in vanishing_expressions(rule, schema.types)
        ),
    )


def _encoder(rules: RuleSet, schema: Schema, computed: Mapping[str, Computed]) -> Encoder:
    place = {name: f"c{i}" for i, name in enumerate(schema.types)}
    return Encoder(schema.types, rules.nulls, lambda column: place[column.name], computed)


def _vanishes(column: Computed, encoder: Encoder) -> str:
    there = (f"{encoder.value(Column('t', name))} IS NOT NULL" for name in column.base)
    return " AND ".join([f"{encoder.value(column)} IS NULL", *there])
