"""Keys, FDs and variable CFDs as grouping: rows by their left side, then by their right side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.encode.column_type import ColumnType
from holdfast.programs.program import GroupProgram
from holdfast.programs.sql_expression import comparison_sql
from holdfast.programs.sql_text import text_literal, value_as_text
from holdfast.rules.relation import EQ, NE
from holdfast.rules.rule import Nulls

KEYS_PER_GROUP = 1_000
# The rows with their forms and flags, in SQL that has yet to be given them.
ROWS = "{rows}"


@dataclass(frozen=True)
class GroupSql:
    """The SQL of one dependency, over rows with their key `k`, forms `f0`, ... and flags `b0`, ...

    Rows that agree on the left side (x0, x1, ...) form a group, and within it those that agree on the right side (y0,
    y1, ...) a side. Counts come from sides and their sizes, not from pairs. `cf` of a side is how many rows each of its
    rows is in conflict with. A key is a dependency whose right side is the row itself.

    `counts` is a table of rows counted by more columns than these, as (columns, n), where the dependency shares one.
    `divided` is a table of what `in_conflict` yields: what speaks of single rows reads only those of groups in there.
    """

    program: GroupProgram
    nulls: Nulls
    counts: str | None = None
    divided: str = ""

    @property
    def _is_key(self) -> bool:
        return not self.program.right

    @cached_property
    def _xs(self) -> list[str]:
        return [f"x{i}" for i in range(max(len(self.program.left), 1))]

    @cached_property
    def _ys(self) -> list[str]:
        return [f"y{i}" for i in range(len(self.program.right))]

    def _read(self, what: str, source: str) -> str:
        """(what, x0, ..., y0, ...) of the lines of the source that the rule can speak of."""
        program = self.program
        columns = [f"f{form} AS x{i}" for i, form in enumerate(program.left)] or ["0 AS x0"]
        # In a group that no pattern leaves free there nothing differs.
        columns += [
            f"{f'f{side.form}' if side.free is None else f'IF(b{side.free}, f{side.form}, NULL)'} AS y{i}"
            for i, side in enumerate(program.right)
        ]
        conditions = [f"f{form} IS NOT NULL" for form in program.left] if self.nulls == "sql" else []
        if program.scope is not None:
            conditions.append(f"b{program.scope}")
        if len(program.right) == 1 and self.nulls == "sql":
            conditions.append(f"f{program.right[0].form} IS NOT NULL")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {what}, {', '.join(columns)} FROM {source} t{where}"

    @cached_property
    def _sizes(self) -> str:
        """(x.., y.., n): every side with its number of rows."""
        by = ", ".join([*self._xs, *self._ys])
        if self.counts is None:
            return f"SELECT {by}, count(*) AS n FROM ({self._read('t.k', ROWS)}) GROUP BY {by}"
        return f"SELECT {by}, sum(n) AS n FROM ({self._read('t.n', self.counts)}) GROUP BY {by}"

    @property
    def _null_tolerant(self) -> bool:
        """Whether a null on the right agrees with everything, so that agreement is not transitive."""
        return len(self.program.right) > 1 and self.nulls == "sql"

    def in_conflict(self) -> str:
        """(x.., rows, suspects, ends of pairs, h0, ...: whether in y0, ...) of the groups that have a conflict."""
        xs = ", ".join(self._xs)
        if self._is_key:
            return f"SELECT {xs}, n AS `rows`, n - 1 AS suspects, n * (n - 1) AS ends FROM ({self._sizes}) WHERE n > 1"
        if self._null_tolerant:
            flags = ", ".join(f"{self._has_conflict(y)} AS h{i}" for i, y in enumerate(self._ys))
            return (
                f"SELECT {xs}, sum(n) AS `rows`, sum(n) - max(n) AS suspects, sum(n * cf) AS ends, {flags}\n"
                f"FROM ({self._sides_against_sides(self._sizes)}) GROUP BY {xs}"
            )
        if len(self._ys) == 1:
            flags = "true AS h0"
        else:
            flags = ", ".join(f"{self._has_conflict(y)} AS h{i}" for i, y in enumerate(self._ys))
        return (
            f"SELECT {xs}, sum(n) AS `rows`, sum(n) - max(n) AS suspects, sum(n) * sum(n) - sum(n * n) AS ends,\n"
            f"  {flags} FROM ({self._sizes}) GROUP BY {xs} HAVING count(*) > 1"
        )

    def _sides_against_sides(self, sides: str) -> str:
        """The sides that have a conflict, with `cf`: each is held against the others of its group."""
        xs = ", ".join(self._xs)
        hot = " OR ".join(f"min({y}) != max({y})" for y in self._ys)
        same = " AND ".join(f"a.{x} = b.{x}" for x in self._xs)
        differ = " OR ".join(f"a.{y} != b.{y}" for y in self._ys)
        own = ", ".join(f"a.{name}" for name in [*self._xs, *self._ys])
        return (
            f"WITH sides AS ({sides}),\n"
            f"hot AS (SELECT {xs} FROM sides GROUP BY {xs} HAVING {hot}),\n"
            f"kept AS (SELECT sides.* FROM sides JOIN hot USING ({xs}))\n"
            f"SELECT {own}, a.n, sum(b.n) AS cf FROM kept a JOIN kept b\n"
            f"ON {same} AND ({differ}) GROUP BY {own}, a.n"
        )

    def _has_conflict(self, y: str) -> str:
        differ = f"coalesce(min({y}) != max({y}), false)"
        return differ if self.nulls == "sql" else f"({differ} OR count({y}) NOT IN (0, count(*)))"

    def summary(self) -> str:
        flags = " + ".join(f"CAST(h{i} AS BIGINT)" for i in range(len(self._ys)))
        groups = "CAST(NULL AS BIGINT)" if self._is_key else f"coalesce(sum({flags}), 0)"
        return (
            f"SELECT coalesce(sum(ends), 0) DIV 2 AS pairs, coalesce(sum(`rows`), 0) AS `rows`,\n"
            f"  coalesce(sum(suspects), 0) AS suspects, {groups} AS groups, NULL AS `left`, NULL AS `right`\n"
            f"FROM ({self.in_conflict()})"
        )

    @cached_property
    def _involved(self) -> str:
        """(k, x.., y..) of the rows in groups that have a conflict."""
        return self._rows_in(f"SELECT {', '.join(self._xs)} FROM {self.divided}")

    def _rows_in(self, groups: str) -> str:
        equal = "=" if self.nulls == "sql" else "<=>"
        on = " AND ".join(f"r.{x} {equal} h.{x}" for x in self._xs)
        return f"SELECT r.* FROM ({self._read('t.k', ROWS)}) r LEFT SEMI JOIN ({groups}) h ON {on}"

    def witness(self) -> str:
        """(left, right) of a pair in conflict, from the first group that has one; null where there is none."""
        xs = ", ".join(self._xs)
        first = f"SELECT g.* FROM (SELECT min(struct({xs})) AS g FROM {self.divided})"
        members = self._rows_in(first)
        if self._is_key:
            return f"SELECT min(k) AS `left`, max(k) AS `right` FROM ({members})"
        present = [f" WHERE {y} IS NOT NULL" if self.nulls == "sql" else "" for y in self._ys]
        ends = [
            f"SELECT min(lo) AS a, max(lo) AS b FROM (SELECT min(k) AS lo FROM ({members}){where} GROUP BY {y})"
            for y, where in zip(self._ys, present, strict=True)
        ]
        pair = "min(IF(a < b, named_struct('a', a, 'b', b), NULL))"
        return f"SELECT w.a AS `left`, w.b AS `right` FROM (SELECT {pair} AS w FROM ({' UNION ALL '.join(ends)}))"

    @cached_property
    def _sides(self) -> str:
        """(x.., y.., n rows, lo their smallest key, cf) of the sides that have a conflict."""
        xs, ys = ", ".join(self._xs), ", ".join(self._ys)
        if self._is_key:
            return f"SELECT {xs}, count(*) AS n, min(k) AS lo, count(*) - 1 AS cf FROM ({self._involved}) GROUP BY {xs}"
        sides = f"SELECT {xs}, {ys}, count(*) AS n, min(k) AS lo FROM ({self._involved}) GROUP BY {xs}, {ys}"
        if self._null_tolerant:
            on = " AND ".join(f"s.{name} <=> c.{name}" for name in [*self._xs, *self._ys])
            return f"SELECT s.*, c.cf FROM ({sides}) s JOIN ({self._sides_against_sides(self._sizes)}) c ON {on}"
        return f"SELECT *, sum(n) OVER (PARTITION BY {xs}) - n AS cf FROM ({sides})"

    def conflicts(self) -> str:
        return (
            f"SELECT b.k AS key, g.cf AS conflicts FROM ({self._involved}) b JOIN ({self._sides}) g\n"
            f"ON {self._on_side()}"
        )

    def suspects(self) -> str:
        if self._is_key:
            ranked, left_over = self._sides, "b.k != g.lo"
        else:
            place = f"row_number() OVER (PARTITION BY {', '.join(self._xs)} ORDER BY n DESC, lo) AS place"
            ranked, left_over = f"SELECT *, {place} FROM ({self._sides})", "g.place > 1"
        return f"SELECT b.k AS key FROM ({self._involved}) b JOIN ({ranked}) g\nON {self._on_side()} WHERE {left_over}"

    def pairs(self) -> str:
        same = [comparison_sql(f"a.{x}", EQ, f"b.{x}", self.nulls) for x in self._xs]
        differ = [comparison_sql(f"a.{y}", NE, f"b.{y}", self.nulls) for y in self._ys]
        on = " AND ".join([*same, "a.k < b.k"] + ([f"({' OR '.join(differ)})"] if differ else []))
        return f"SELECT a.k AS `left`, b.k AS `right` FROM ({self._involved}) a JOIN ({self._involved}) b ON {on}"

    def groups(self, left: Sequence[ColumnType], right: Sequence[tuple[str, ColumnType]]) -> str:
        """(group, column, value, rows, keys): a line per value of a right-hand column, in groups with a conflict.

        `left` are the types of the left side, `right` the names and types of the right-hand columns.
        """
        texts = [value_text_sql(f"x{i}", kind) for i, kind in enumerate(left)]
        group = f"concat_ws(', ', {', '.join(texts)})" if texts else "''"
        return "\nUNION ALL\n".join(self._groups_of(i, group, name, kind) for i, (name, kind) in enumerate(right))

    def _groups_of(self, i: int, group: str, name: str, kind: ColumnType) -> str:
        xs = ", ".join(self._xs)
        involved = self._rows_in(f"SELECT * FROM {self.divided} WHERE h{i}")
        present = f" WHERE y{i} IS NOT NULL" if self.nulls == "sql" else ""
        value = value_text_sql(f"y{i}", kind, null="CAST(NULL AS STRING)")
        return (
            f"SELECT {group} AS `group`, {text_literal(name)} AS `column`, {value} AS value, count(*) AS `rows`,\n"
            f"  array_sort(collect_list(IF(place <= {KEYS_PER_GROUP}, k, NULL))) AS keys FROM (\n"
            f"  SELECT *, row_number() OVER (PARTITION BY {xs}, y{i} ORDER BY k) AS place FROM ({involved}){present})\n"
            f"GROUP BY {xs}, y{i}"
        )

    def _on_side(self) -> str:
        return " AND ".join(f"b.{name} <=> g.{name}" for name in [*self._xs, *self._ys])


def value_text_sql(name: str, kind: ColumnType, null: str = "'null'") -> str:
    """The value as results write it, in SQL; bytes in hexadecimal."""
    text = f"hex({name})" if kind.family == "binary" else value_as_text(name, kind)
    return f"coalesce({text}, {null})"
