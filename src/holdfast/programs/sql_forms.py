"""Forms and flags as Spark SQL over the columns of one scan: nulls, types and patterns as the rules mean them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.programs.form import (
    AllOf,
    AnyOf,
    BreaksConstant,
    Flag,
    Form,
    LeavesFree,
    Satisfies,
    Where,
    by_bound_columns,
)
from holdfast.programs.sql_expression import Encoder
from holdfast.rules.dependency import CFD
from holdfast.rules.predicate import Column, Constant

Constants = tuple[Constant, ...]
_Write = Callable[[Column, Constant], str | None]

# Up to so many tuples are listed in the SQL text itself; reading longer lists takes Spark longer than a join with them.
LISTED = 50


@dataclass(frozen=True)
class Lookup:
    """Whether a row's values are one of many tuples: a join with a table of them.

    `values` is the SQL of the row's values; `lines` are the tuples as text, to be cast to `types`.
    """

    names: tuple[str, ...]
    values: tuple[str, ...]
    types: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SqlForms:
    """Writes forms and flags as SQL.

    A flag's text is true exactly when the flag is; it may be null instead of false. `conditions` names the column that
    holds the truth of each `where`. Long lists of constants are look-ups: the scan answers the one with number i in a
    column `m{i}`; `lookups` collects them in order of first use.
    """

    encoder: Encoder
    conditions: Mapping[str, str]
    lookups: dict[tuple[tuple[str, ...], frozenset[Constants]], Lookup] = field(default_factory=dict)

    def form(self, form: Form) -> str:
        return self.encoder.form(form)

    def flag(self, flag: Flag) -> str:
        match flag:
            case Satisfies(predicate):
                return self.encoder.predicate(predicate)
            case Where(condition):
                return self.conditions[condition]
            case AllOf(flags):
                return " AND ".join(f"({self.flag(part)})" for part in flags)
            case AnyOf(flags):
                return " OR ".join(f"({self.flag(part)})" for part in flags)
            case LeavesFree():
                return self._leaves_free(flag)
            case BreaksConstant():
                return self._breaks_constant(flag.dependency)

    def _leaves_free(self, flag: LeavesFree) -> str:
        by_shape = by_bound_columns(flag.dependency, flag.lines)
        return " OR ".join(
            self._is_one_of(names, {constants for _, constants in lines}) for names, lines in by_shape.items()
        )

    def _breaks_constant(self, dependency: CFD) -> str:
        conditions = []
        for place, column in enumerate(dependency.right):
            lines = [line for line in dependency.patterns if line.right[place] is not None]
            for names, patterns in by_bound_columns(dependency, lines).items():
                required: dict[Constants, set[Constant]] = {}
                # 44 and 44.0 are one value of a number's column, so that texts do not tell which sides are the same.
                first: dict[tuple[object, ...], Constants] = {}
                for line, constants in patterns:
                    value = line.right[place]
                    assert value is not None, "only patterns with a constant there"
                    left = first.setdefault(self._values_of(names, constants), constants)
                    values = required.setdefault(left, set())
                    (right,) = self._values_of((column,), (value,))
                    if all(self._values_of((column,), (other,)) != (right,) for other in values):
                        values.add(value)
                conditions.append(self._breaks(dependency, names, column, required))
        return " OR ".join(f"({condition})" for condition in conditions)

    def _breaks(
        self, dependency: CFD, names: tuple[str, ...], column: str, required: dict[Constants, set[Constant]]
    ) -> str:
        """The left side is one of those with a required value, and the column does not have it."""
        pairs = {(*constants, value) for constants, values in required.items() for value in values}
        torn = {constants for constants, values in required.items() if len(values) > 1}  # no value is all of them
        wrong = f"NOT coalesce({self._is_one_of((*names, column), pairs)}, false)"
        if torn:
            wrong = f"({wrong} OR {self._is_one_of(names, torn)})"
        conditions = [self._is_one_of(names, set(required)), wrong]
        if self.encoder.nulls == "sql":
            not_null = [column]
            if not dependency.inline:
                # `_` matches no null; all left columns without a constant here are such.
                not_null += [name for name in dependency.left if name not in names]
            conditions += [f"{self.encoder.naming(Column('t', name))} IS NOT NULL" for name in not_null]
        return " AND ".join(f"({condition})" for condition in conditions)

    def _values_of(self, names: Sequence[str], constants: Constants) -> tuple[object, ...]:
        columns = [Column("t", name) for name in names]
        return tuple(self.encoder.lookup_key(column, value) for column, value in zip(columns, constants, strict=True))

    def _is_one_of(self, names: Sequence[str], tuples: set[Constants]) -> str:
        """Whether the columns' values are one of the tuples."""
        if not names:
            return "true" if tuples else "false"
        if len(tuples) > LISTED:
            return self._lookup(tuple(names), frozenset(tuples))
        columns = [Column("t", name) for name in names]
        values = list(map(self.encoder.lookup_value, columns))
        listed = [", ".join(literals) for literals in self._known(columns, tuples, self.encoder.lookup_literal)]
        if not listed:
            return "false"
        if len(names) == 1:
            return f"{values[0]} IN ({', '.join(listed)})"
        return f"struct({', '.join(values)}) IN ({', '.join(f'struct({line})' for line in listed)})"

    def _lookup(self, names: tuple[str, ...], tuples: frozenset[Constants]) -> str:
        if (names, tuples) not in self.lookups:
            columns = [Column("t", name) for name in names]
            self.lookups[names, tuples] = Lookup(
                names,
                tuple(map(self.encoder.lookup_value, columns)),
                tuple(map(self.encoder.lookup_type, columns)),
                tuple(map(tuple, self._known(columns, tuples, self.encoder.lookup_text))),
            )
        return f"m{list(self.lookups).index((names, tuples))}"

    def _known(self, columns: Sequence[Column], tuples: Iterable[Constants], write: _Write) -> list[list[str]]:
        """The tuples as `write` puts them, in order, without those that no values of the columns' types equal."""
        lines = []
        for constants in sorted(tuples, key=str):
            texts = [write(column, value) for column, value in zip(columns, constants, strict=True)]
            known = [text for text in texts if text is not None]
            if len(known) == len(texts):
                lines.append(known)
        return lines
