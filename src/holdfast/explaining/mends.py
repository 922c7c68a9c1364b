"""SQL for values that could mend given rows: what one cell would have to be for a rule not to be broken.

A dependency wants what most rows of the group have; an inequality, a value within bounds that rows without a fault set;
a rule on single rows, its constant or the value it compares with. Every query yields (k, place, value, backing, low,
high): the row, the position of the column, a value as text, how much speaks for it (the share of the rows that could
tell), and for a bound the interval it bounds. Whether a value mends more than it breaks is for `row_conflicts` to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.encode.column_type import ColumnType
from holdfast.explaining.row_conflicts import RowConflicts
from holdfast.programs.plan import Plan
from holdfast.programs.program import GroupProgram, PairDenial, PairProgram
from holdfast.programs.sql_expression import Encoder, text_literal
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import CFD, FD, as_dependency
from holdfast.rules.predicate import Column, Comparison, Constant, Membership
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE, swapped

# Values can be written as text and read back; those of other families are not suggested.
_WRITABLE = frozenset({"integer", "decimal", "float", "text", "date", "timestamp", "boolean"})
# A value that is one of an interval has nothing that speaks for it and against the others.
_BOUND = 0.5
_CERTAIN = 1.0
# Of a tableau, so many lines with constants are looked at.
_LINES = 1_000


def mend_queries(plan: Plan, i: int) -> list[str]:
    """The queries of one rule. They read {given}, rows to be mended, {rows}, the table, and {sound}, its rows without
    the rule's suspects; all encoded."""
    return list(_Mends(plan, i, RowConflicts.of(plan, i)).queries())


@dataclass(frozen=True)
class _Mends:
    plan: Plan
    i: int
    conflicts: RowConflicts

    def queries(self) -> Iterator[str]:
        rule, program = self.plan.steps[self.i].rule, self.conflicts.program
        dependency = as_dependency(rule.body)
        if isinstance(program, GroupProgram) and isinstance(dependency, FD | CFD):
            yield from self._of_groups(program, dependency)
        if isinstance(program, PairProgram):
            two_row = [c for c in rule.body.denials if c.two_rows]
            yield from self._of_pairs(program, two_row)
        if isinstance(rule.body, CFD):
            yield from self._of_constants(rule.body)
        else:
            for constraint in rule.body.denials:
                if not constraint.two_rows:
                    yield from self._of_rows(constraint)

    # Dependencies ---------------------------------------------------------------------------------------------------

    def _of_groups(self, program: GroupProgram, dependency: FD | CFD) -> Iterator[str]:
        columns = [self._column(name) for name in dependency.columns]
        scope = [] if program.scope is None else [f"r.b{program.scope}", f"o.b{program.scope}"]
        agree = self.conflicts.equal(program.left, "r", "o")
        for name in dependency.right:
            if self._writable(name) and name not in dependency.left:
                yield self._most_frequent(name, columns, [*agree, *scope])
        if len(program.left) != len(dependency.left):
            return
        # The left side may be what is wrong: most rows with this right side have another one.
        same = self.conflicts.equal(program.right, "r", "o")
        for place, name in enumerate(dependency.left):
            if self._writable(name):
                others = self.conflicts.equal([f for j, f in enumerate(program.left) if j != place], "r", "o")
                yield self._most_frequent(name, columns, [*others, *same, *scope[1:]])

    def _most_frequent(self, name: str, columns: Sequence[str], conditions: Sequence[str]) -> str:
        """The value that most other rows that meet the conditions have; the row itself is counted among all."""
        column, by = self._column(name), ", ".join(dict.fromkeys([*columns, *self.conflicts.needed]))
        itself = " AND ".join(f"o.{c} <=> r.{c}" for c in dict.fromkeys(columns))
        counted = f"(SELECT {by}, count(*) AS n FROM {{rows}} GROUP BY {by})"
        return self._most(
            name,
            f"SELECT r.k, o.{column} AS x, sum(o.n - IF({itself}, 1, 0)) AS n\n"
            f"    FROM {{given}} r JOIN {counted} o ON {' AND '.join(conditions) or 'true'} GROUP BY r.k, o.{column}",
        )

    def _most(self, name: str, votes: str) -> str:
        """The value x that has most of the votes (k, x, n), backed by its share of them and of the row itself."""
        return (
            f"SELECT k, {self._place(name)} AS place, CAST(most.x AS STRING) AS value,\n"
            "  most.n / (total + 1) AS backing, CAST(NULL AS STRING) AS low, CAST(NULL AS STRING) AS high FROM (\n"
            "  SELECT k, max(named_struct('n', n, 'x', x)) AS most, sum(n) AS total FROM (\n"
            f"    {votes}) WHERE n > 0 AND x IS NOT NULL GROUP BY k)"
        )

    def _of_constants(self, dependency: CFD) -> Iterator[str]:
        """The constants that patterns want of rows that match them."""
        encoder = self._encoder("r")
        shapes: dict[tuple[str, tuple[str, ...]], list[tuple[str, ...]]] = {}
        for pattern in dependency.patterns[:_LINES]:
            bound = [(n, v) for n, v in zip(dependency.left, pattern.left, strict=True) if v is not None]
            texts = [encoder.lookup_text(Column("t", n), v) for n, v in bound]
            for name, wanted in zip(dependency.right, pattern.right, strict=True):
                text = None if wanted is None else encoder.lookup_text(Column("t", name), wanted)
                if text is not None and None not in texts and self._writable(name):
                    line = (*(t for t in texts if t is not None), text)
                    shapes.setdefault((name, tuple(n for n, _ in bound)), []).append(line)
        for (name, given), lines in shapes.items():
            table = ", ".join(f"({', '.join(map(text_literal, line))})" for line in dict.fromkeys(lines))
            named = ", ".join(f"v{j}" for j in range(len(given) + 1))
            conditions = [
                f"{encoder.lookup_value(Column('t', n))} = CAST(p.v{j} AS {encoder.lookup_type(Column('t', n))})"
                for j, n in enumerate(given)
            ]
            value = f"p.v{len(given)}"
            source = f"{{given}} r JOIN (VALUES {table}) AS p({named}) ON {' AND '.join(conditions) or 'true'}"
            yield self._told(name, value, _CERTAIN, source)

    # Other rules on two rows ----------------------------------------------------------------------------------------

    def _of_pairs(self, program: PairProgram, constraints: Sequence[DenialConstraint]) -> Iterator[str]:
        bounds: dict[str, list[str]] = {}
        for denial, constraint in zip(program.denials, constraints, strict=True):
            compared = [
                p for p in constraint.predicates if isinstance(p, Comparison) and len({c.row for c in p.columns()}) == 2
            ]
            for turned in (False, True):
                for p in compared:
                    assert isinstance(p.right, Column), "it speaks of two rows"
                    mine, theirs = (p.right, p.left) if turned else (p.left, p.right)
                    allowed = swapped(p.allowed) if turned else p.allowed
                    if not self._writable(mine.name) or allowed == EQ:
                        continue
                    free = [q for q in compared if mine not in q.columns()]
                    conditions = self._others(denial, compared, free, turned)
                    if allowed == NE:
                        yield self._most_met(mine.name, theirs.name, conditions)
                    else:
                        bounds.setdefault(mine.name, []).append(
                            self._bound(mine.name, theirs.name, allowed, conditions)
                        )
        for name, parts in bounds.items():
            yield self._within(name, parts)

    def _others(
        self, denial: PairDenial, compared: Sequence[Comparison], free: Sequence[Comparison], turned: bool
    ) -> str:
        """When the other row of the pair could be met, whatever the cell is."""
        left, right = ("o", "r") if turned else ("r", "o")
        conditions = ["r.k != o.k"]
        for p, compare in zip(compared, denial.compares, strict=True):
            if p in free:
                conditions.append(self.conflicts.compared(compare, left, right))
        conditions += [
            f"{row}.b{flag}" for row, flag in ((left, denial.left), (right, denial.right)) if flag is not None
        ]
        return " AND ".join(conditions)

    def _most_met(self, name: str, theirs: str, conditions: str) -> str:
        """The value that most of the rows have that it must not differ from."""
        column = self._column(theirs)
        return self._most(
            name,
            f"SELECT r.k, o.{column} AS x, count(*) AS n FROM {{given}} r JOIN {{sound}} o ON {conditions}\n"
            f"    GROUP BY r.k, o.{column}",
        )

    def _bound(self, name: str, theirs: str, allowed: int, conditions: str) -> str:
        """(k, low, high): what the cell must not be below, or above, for no pair to be in an allowed relation."""
        kind = self.plan.schema.types[name]
        value = f"CAST(o.{self._column(theirs)} AS {kind.sql})"
        nothing = f"CAST(NULL AS {kind.sql})"
        if allowed in (LT, LE):
            low = f"max({value})"
            return self._bounded(low if allowed == LT else _beyond(low, kind, "+"), nothing, conditions)
        high = f"min({value})"
        return self._bounded(nothing, high if allowed == GT else _beyond(high, kind, "-"), conditions)

    def _bounded(self, low: str, high: str, conditions: str) -> str:
        return (
            f"SELECT r.k, {low} AS low, {high} AS high FROM {{given}} r JOIN {{sound}} o ON {conditions} GROUP BY r.k"
        )

    def _within(self, name: str, parts: Sequence[str]) -> str:
        """The bound that is nearest to what stands there; both, where they cross and no value serves all rows."""
        cell = f"r.{self._column(name)}"
        bounds = f"SELECT k, max(low) AS low, min(high) AS high FROM ({' UNION ALL '.join(parts)}) GROUP BY k"
        nearest = f"CASE WHEN {cell} < low THEN low WHEN {cell} > high THEN high END"
        values = f"IF(low > high, array(low, high), array({nearest}))"
        return (
            f"SELECT k, {self._place(name)} AS place, CAST(x AS STRING) AS value,\n"
            f"  IF(low <=> high, {_CERTAIN}D, {_BOUND}D) AS backing,\n"
            "  IF(low > high, NULL, CAST(low AS STRING)) AS low, IF(low > high, NULL, CAST(high AS STRING)) AS high\n"
            f"FROM (SELECT b.*, explode({values}) AS x FROM ({bounds}) b JOIN {{given}} r ON r.k = b.k)"
        )

    # Rules on single rows -------------------------------------------------------------------------------------------

    def _of_rows(self, constraint: DenialConstraint) -> Iterator[str]:
        encoder = self._encoder("r")
        broken = " AND ".join(f"({encoder.predicate(p)})" for p in constraint.predicates)
        source = f"{{given}} r WHERE {broken}"
        for p in constraint.predicates:
            if isinstance(p, Membership):
                if not p.inside and self._writable(p.column.name):
                    yield from self._nearest(p, encoder, source)
                continue
            if not isinstance(p, Comparison):
                continue
            sides: list[tuple[Column, int, Column | Constant]] = [(p.left, p.allowed, p.right)]
            if isinstance(p.right, Column):
                sides.append((p.right, swapped(p.allowed), p.left))
            for mine, allowed, theirs in sides:
                if allowed == EQ or not self._writable(mine.name):
                    continue
                kind = self.plan.schema.types[mine.name]
                if isinstance(theirs, Column):
                    value = f"CAST(r.{self._column(theirs.name)} AS {kind.sql})"
                else:
                    text = encoder.lookup_text(mine, theirs)
                    if text is None:
                        continue
                    value = f"CAST({text_literal(text)} AS {kind.sql})"
                if allowed in (LE, GE):
                    value = _beyond(value, kind, "+" if allowed == LE else "-")
                told = f"CAST({value} AS STRING)"
                yield self._told(mine.name, told, _CERTAIN if allowed == NE else _BOUND, source)

    def _nearest(self, member: Membership, encoder: Encoder, source: str) -> Iterator[str]:
        """Of the values that it may have, the one that is written most like it."""
        texts = [encoder.lookup_text(member.column, value) for value in sorted(member.values, key=str)]
        listed = ", ".join(text_literal(text) for text in texts if text is not None)
        if not listed:
            return
        now = f"CAST(r.{self._column(member.column.name)} AS STRING)"
        alike = f"named_struct('d', levenshtein(lower(x), lower({now})), 'x', x)"
        nearest = f"array_min(transform(array({listed}), x -> {alike}))"
        yield (
            f"SELECT k, {self._place(member.column.name)} AS place, near.x AS value,\n"
            "  CAST(1 - near.d / greatest(length(near.x), length(now), 1) AS DOUBLE) AS backing,\n"
            "  CAST(NULL AS STRING) AS low, CAST(NULL AS STRING) AS high\n"
            f"FROM (SELECT r.k, {now} AS now, {nearest} AS near FROM {source})"
        )

    # --------------------------------------------------------------------------------------------------------------

    def _told(self, name: str, value: str, backing: float, source: str) -> str:
        return (
            f"SELECT r.k, {self._place(name)} AS place, {value} AS value, {backing}D AS backing,\n"
            f"  CAST(NULL AS STRING) AS low, CAST(NULL AS STRING) AS high FROM {source}"
        )

    def _encoder(self, alias: str) -> Encoder:
        return Encoder(self.plan.schema.types, self.plan.rules.nulls, lambda c: f"{alias}.{self._column(c.name)}")

    def _place(self, name: str) -> int:
        return self.plan.schema.position(name)

    def _column(self, name: str) -> str:
        return f"c{self._place(name)}"

    def _writable(self, name: str) -> bool:
        kind = self.plan.schema.types[name]
        return kind.family in _WRITABLE and name not in self.plan.key


def _beyond(value: str, kind: ColumnType, sign: str) -> str:
    """The next value above or below, in SQL; null where the type has no next one."""
    if kind.family == "integer":
        return f"try_{'add' if sign == '+' else 'subtract'}({value}, CAST(1 AS {kind.sql}))"
    if kind.family == "date":
        return f"date_{'add' if sign == '+' else 'sub'}({value}, 1)"
    if kind.family == "decimal":
        return f"CAST({value} {sign} CAST(1E-{kind.scale} AS {kind.sql}) AS {kind.sql})"
    return f"IF(true, NULL, {value})"
