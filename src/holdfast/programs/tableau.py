"""The patterns of a conditional dependency as conditions on one row: sets to look values up in, not lists of tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.programs.sql_expression import Encoder
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.predicate import Column, Constant

Constants = tuple[Constant, ...]

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


@dataclass
class LookupBook:
    """Numbers look-ups in order of first use. The scan answers the look-up with number i in a column `m{i}`."""

    encoder: Encoder
    numbers: dict[tuple[tuple[str, ...], frozenset[Constants]], int] = field(default_factory=dict)
    lookups: list[Lookup] = field(default_factory=list)

    def column(self, names: tuple[str, ...], tuples: frozenset[Constants]) -> str:
        """The column that tells whether the named columns' values are one of the tuples."""
        if (names, tuples) not in self.numbers:
            columns = [Column("t", name) for name in names]
            lines = [
                [self.encoder.lookup_text(c, v) for c, v in zip(columns, given, strict=True)]
                for given in sorted(tuples, key=str)
            ]
            held = [tuple(text for text in line if text is not None) for line in lines if None not in line]
            self.numbers[names, tuples] = len(self.lookups)
            values = tuple(map(self.encoder.lookup_value, columns))
            types = tuple(map(self.encoder.lookup_type, columns))
            self.lookups.append(Lookup(names, values, types, tuple(held)))
        return f"m{self.numbers[names, tuples]}"


@dataclass(frozen=True)
class TableauSql:
    """Conditions on a row's columns; true exactly when they hold, false or null otherwise.

    Patterns with constants in the same columns share one look-up, so thousands of them cost as much as one.
    """

    dependency: CFD
    encoder: Encoder
    lookups: LookupBook

    def free(self, column: str) -> str | None:
        """When some pattern that the row's left side matches leaves the column free; None for always."""
        place = self.dependency.right.index(column)
        lines = [line for line in self.dependency.patterns if line.right[place] is None]
        by_shape = self._by_shape(lines)
        if () in by_shape:
            return None
        return " OR ".join(self._among(names, {given for _, given in lines}) for names, lines in by_shape.items())

    def broken(self) -> str | None:
        """When some pattern that the row's left side matches wants another constant; None where no pattern has one."""
        conditions = []
        for place, column in enumerate(self.dependency.right):
            lines = [line for line in self.dependency.patterns if line.right[place] is not None]
            for names, members in self._by_shape(lines).items():
                wanted: dict[Constants, set[Constant]] = {}
                for line, given in members:
                    value = line.right[place]
                    assert value is not None, "only lines with a constant there"
                    wanted.setdefault(given, set()).add(value)
                conditions.append(self._breaks(names, column, wanted))
        return " OR ".join(f"({c})" for c in conditions) if conditions else None

    def _by_shape(self, lines: Iterable[Pattern]) -> dict[tuple[str, ...], list[tuple[Pattern, Constants]]]:
        shapes: dict[tuple[str, ...], list[tuple[Pattern, Constants]]] = {}
        for line in lines:
            bound = [(n, v) for n, v in zip(self.dependency.left, line.left, strict=True) if v is not None]
            names, given = tuple(n for n, _ in bound), tuple(v for _, v in bound)
            shapes.setdefault(names, []).append((line, given))
        return shapes

    def _breaks(self, names: tuple[str, ...], column: str, wanted: dict[Constants, set[Constant]]) -> str:
        """The left side is one of those wanted, and the column is not what is wanted there."""
        pairs = {(*given, value) for given, values in wanted.items() for value in values}
        torn = {given for given, values in wanted.items() if len(values) > 1}  # no value is all of them
        wrong = f"NOT coalesce({self._among((*names, column), pairs)}, false)"
        if torn:
            wrong = f"({wrong} OR {self._among(names, torn)})"
        conditions = [self._among(names, set(wanted)), wrong]
        if self.encoder.nulls == "sql":
            conditions.append(f"{self.encoder.naming(Column('t', column))} IS NOT NULL")
            if not self.dependency.inline:
                # `_` matches no null; all left columns without a constant here are such.
                others = [n for n in self.dependency.left if n not in names]
                conditions += [f"{self.encoder.naming(Column('t', name))} IS NOT NULL" for name in others]
        return " AND ".join(f"({c})" for c in conditions)

    def _among(self, names: Sequence[str], tuples: set[Constants]) -> str:
        """Whether the columns' values are one of the tuples."""
        if not names:
            return "true" if tuples else "false"
        if len(tuples) > LISTED:
            return self.lookups.column(tuple(names), frozenset(tuples))
        values = [self.encoder.lookup_value(Column("t", name)) for name in names]
        listed = []
        for given in sorted(tuples, key=str):
            literals = [self.encoder.lookup_literal(Column("t", n), v) for n, v in zip(names, given, strict=True)]
            if None not in literals:  # a constant that the column's type cannot hold equals nothing in it
                listed.append(", ".join(map(str, literals)))
        if not listed:
            return "false"
        if len(names) == 1:
            return f"{values[0]} IN ({', '.join(listed)})"
        return f"struct({', '.join(values)}) IN ({', '.join(f'struct({line})' for line in listed)})"
