"""Keys, FDs and variable CFDs as grouping: rows by their left side, then by their right side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from holdfast.detect.bind import Schema
from holdfast.detect.tableau import TableauSql
from holdfast.encode.column_type import ColumnType
from holdfast.encode.expression import Encoder, comparison_sql, text_literal
from holdfast.rules.dependency import CFD, FD, Key
from holdfast.rules.predicate import Column
from holdfast.rules.relation import EQ, NE
from holdfast.rules.rule import Nulls

KEYS_PER_GROUP = 1_000


@dataclass(frozen=True)
class GroupedSql:
    """The SQL of one dependency.

    Rows that agree on the left side (x0, x1, ...) form a group, and within it those that agree on the right side (y0,
    y1, ...) a side. Counts come from sides and their sizes, not from pairs. `cf` of a side is how many rows each of its
    rows is in conflict with. A key is a dependency whose right side is the row itself.
    """

    dependency: Key | FD | CFD
    schema: Schema
    nulls: Nulls
    rows: str
    encoder: Encoder

    @property
    def about(self) -> str:
        if not self.right:
            return "no two in one group"
        some = " where a pattern fits" if isinstance(self.dependency, CFD) else ""
        return f"one value of {' and of '.join(self.right)} in each group{some}"

    @property
    def left(self) -> tuple[str, ...]:
        return self.dependency.columns if isinstance(self.dependency, Key) else self.dependency.left

    @property
    def right(self) -> tuple[str, ...]:
        """Right-hand columns that some pattern leaves free."""
        if isinstance(self.dependency, Key):
            return ()
        if isinstance(self.dependency, FD):
            return self.dependency.right
        lines = self.dependency.patterns
        return tuple(c for i, c in enumerate(self.dependency.right) if any(p.right[i] is None for p in lines))

    @cached_property
    def _xs(self) -> list[str]:
        return [f"x{i}" for i in range(max(len(self.left), 1))]

    @cached_property
    def _ys(self) -> list[str]:
        return [f"y{i}" for i in range(len(self.right))]

    @cached_property
    def base(self) -> str:
        """(k, x0, ..., y0, ...) of the rows the rule can speak of."""
        columns = [f"{self._value(name)} AS x{i}" for i, name in enumerate(self.left)] or ["0 AS x0"]
        columns += [f"{self.right_value(name)} AS y{i}" for i, name in enumerate(self.right)]
        conditions = [f"{self._value(name)} IS NOT NULL" for name in self.left] if self.nulls == "sql" else []
        if (match := self.match_any()) is not None:
            conditions.append(match)
        if len(self.right) == 1 and self.nulls == "sql":
            conditions.append(f"{self._value(self.right[0])} IS NOT NULL")
        where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""
        return f"SELECT t.k, {', '.join(columns)} FROM {self.rows} t{where}"

    def right_value(self, name: str) -> str:
        """The right-hand column, as null in groups where no pattern leaves it free: there nothing differs."""
        match, value = self._match(name), self._value(name)
        return value if match is None else f"IF({match}, {value}, NULL)"

    def match_any(self) -> str | None:
        """When some right-hand column is left free by a pattern; None for always."""
        matches = [self._match(name) for name in self.right]
        free = [match for match in matches if match is not None]
        return " OR ".join(f"({m})" for m in dict.fromkeys(free)) if free and len(free) == len(matches) else None

    def _value(self, name: str) -> str:
        return self.encoder.operands(Column("t", name), Column("t", name))[0]

    def _match(self, column: str) -> str | None:
        """When the patterns leave the column free, as a condition on the left side; None for always."""
        return TableauSql(self.dependency, self.encoder).free(column) if isinstance(self.dependency, CFD) else None

    @cached_property
    def _sides(self) -> str:
        """(x.., y.., n rows, lo their smallest key, cf, other: a key in conflict with lo, the group's smallest)."""
        xs, ys = ", ".join(self._xs), ", ".join(self._ys)
        if isinstance(self.dependency, Key):
            return (
                f"SELECT {xs}, count(*) AS n, min(k) AS lo, max(k) AS hi, count(*) - 1 AS cf, min(k) AS other\n"
                f"FROM ({self.base}) GROUP BY {xs} HAVING count(*) > 1"
            )
        sides = f"SELECT {xs}, {ys}, count(*) AS n, min(k) AS lo FROM ({self.base}) GROUP BY {xs}, {ys}"
        if len(self.right) == 1 or self.nulls == "equal":
            # Sides of a group all conflict with each other.
            return (
                f"SELECT {xs}, {ys}, n, lo, total - n AS cf, first AS other FROM (\n"
                f"  SELECT *, sum(n) OVER (PARTITION BY {xs}) AS total, min(lo) OVER (PARTITION BY {xs}) AS first\n"
                f"  FROM ({sides})) WHERE total > n"
            )
        # A null agrees with everything, so each side is held against the others of its group.
        hot = " OR ".join(f"min({y}) != max({y})" for y in self._ys)
        same = " AND ".join(f"a.{x} = b.{x}" for x in self._xs)
        differ = " OR ".join(f"a.{y} != b.{y}" for y in self._ys)
        columns = ", ".join(f"a.{name}" for name in [*self._xs, *self._ys])
        return (
            f"WITH sides AS ({sides}),\n"
            f"hot AS (SELECT {xs} FROM sides GROUP BY {xs} HAVING {hot}),\n"
            f"kept AS (SELECT sides.* FROM sides JOIN hot USING ({xs}))\n"
            f"SELECT {columns}, a.n, a.lo, sum(b.n) AS cf, min(b.lo) AS other FROM kept a JOIN kept b\n"
            f"ON {same} AND ({differ}) GROUP BY {columns}, a.n, a.lo"
        )

    @cached_property
    def _groups(self) -> str:
        """One line per group that has a conflict."""
        xs = ", ".join(self._xs)
        if isinstance(self.dependency, Key):
            suspects, pair = "n - 1", "named_struct('left', lo, 'right', hi)"
            return f"SELECT {xs}, n AS `rows`, {suspects} AS suspects, n * cf AS ends, {pair} AS w FROM ({self._sides})"
        flags = "".join(f", {self._has_conflict(y)} AS h{i}" for i, y in enumerate(self._ys))
        return (
            f"SELECT {xs}, sum(n) AS `rows`, sum(n) - max(n) AS suspects, sum(n * cf) AS ends{flags},\n"
            "  min(IF(other < lo, named_struct('left', other, 'right', lo), NULL)) AS w\n"
            f"FROM ({self._sides}) GROUP BY {xs}"
        )

    def _has_conflict(self, y: str) -> str:
        differ = f"coalesce(min({y}) != max({y}), false)"
        return differ if self.nulls == "sql" else f"({differ} OR count({y}) NOT IN (0, count(*)))"

    def summary(self) -> str:
        found = " + ".join(f"CAST(h{i} AS BIGINT)" for i in range(len(self._ys)))
        groups = "CAST(NULL AS BIGINT)" if isinstance(self.dependency, Key) else f"coalesce(sum({found}), 0)"
        return (
            f"SELECT coalesce(sum(ends), 0) DIV 2 AS pairs, coalesce(sum(`rows`), 0) AS `rows`,\n"
            f"  coalesce(sum(suspects), 0) AS suspects, {groups} AS groups,\n"
            f"  min(w).`left` AS `left`, min(w).`right` AS `right`\n"
            f"FROM ({self._groups})"
        )

    def conflicts(self) -> str:
        return f"SELECT b.k AS key, g.cf AS conflicts FROM ({self.base}) b JOIN ({self._sides}) g ON {self._on_side()}"

    def suspects(self) -> str:
        if isinstance(self.dependency, Key):
            return (
                f"SELECT b.k AS key FROM ({self.base}) b JOIN ({self._sides}) g\nON {self._on_side()} WHERE b.k != g.lo"
            )
        xs = ", ".join(self._xs)
        ranked = f"SELECT *, row_number() OVER (PARTITION BY {xs} ORDER BY n DESC, lo) AS place FROM ({self._sides})"
        return f"SELECT b.k AS key FROM ({self.base}) b JOIN ({ranked}) g ON {self._on_side()} WHERE g.place > 1"

    def pairs(self) -> str:
        same = [comparison_sql(f"a.{x}", EQ, f"b.{x}", self.nulls) for x in self._xs]
        differ = [comparison_sql(f"a.{y}", NE, f"b.{y}", self.nulls) for y in self._ys]
        conditions = [*same, "a.k < b.k"] + ([f"({' OR '.join(differ)})"] if differ else [])
        # Only groups that have a conflict are joined with themselves.
        hot = f"SELECT {', '.join(self._xs)} FROM ({self._groups})"
        on = " AND ".join(f"r.{x} <=> h.{x}" for x in self._xs)
        involved = f"SELECT r.* FROM ({self.base}) r LEFT SEMI JOIN ({hot}) h ON {on}"
        on = " AND ".join(conditions)
        return f"SELECT a.k AS `left`, b.k AS `right` FROM ({involved}) a JOIN ({involved}) b ON {on}"

    def groups(self) -> str:
        """(group, column, value, rows, keys): a line per value of a right-hand column, in groups with a conflict."""
        return "\nUNION ALL\n".join(self._groups_of(i, name) for i, name in enumerate(self.right))

    def _groups_of(self, i: int, name: str) -> str:
        xs = ", ".join(self._xs)
        on = " AND ".join(f"r.{x} <=> h.{x}" for x in self._xs)
        present = f" WHERE r.y{i} IS NOT NULL" if self.nulls == "sql" else ""
        texts = [_as_text(f"x{j}", self.schema.types[n]) for j, n in enumerate(self.left)]
        group = f"concat_ws(', ', {', '.join(texts)})" if texts else "''"
        value = _as_text(f"y{i}", self.schema.types[name], null="CAST(NULL AS STRING)")
        return (
            f"SELECT {group} AS `group`, {text_literal(name)} AS `column`, {value} AS value, count(*) AS `rows`,\n"
            f"  array_sort(collect_list(IF(place <= {KEYS_PER_GROUP}, k, NULL))) AS keys FROM (\n"
            f"  SELECT r.*, row_number() OVER (PARTITION BY {xs}, y{i} ORDER BY k) AS place FROM ({self.base}) r\n"
            f"  LEFT SEMI JOIN (SELECT * FROM ({self._groups}) WHERE h{i}) h ON {on}{present})\n"
            f"GROUP BY {xs}, y{i}"
        )

    def _on_side(self) -> str:
        return " AND ".join(f"b.{name} <=> g.{name}" for name in [*self._xs, *self._ys])


def _as_text(name: str, kind: ColumnType, null: str = "'null'") -> str:
    text = f"hex({name})" if kind.family == "binary" else f"CAST({name} AS STRING)"
    return f"coalesce({text}, {null})"
