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
from holdfast.explaining.candidates import may_take
from holdfast.explaining.row_conflicts import RowConflicts
from holdfast.programs.form import AllOf, AnyOf, BreaksConstant, Flag, Satisfies
from holdfast.programs.plan import Plan
from holdfast.programs.program import Compare, GroupProgram, PairDenial, PairProgram
from holdfast.programs.sql_expression import Encoder
from holdfast.programs.sql_text import text_literal, value_as_text
from holdfast.rules.dependency import CFD
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, Operand, Predicate, RowOperand
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
    return list(_Mends(plan, RowConflicts.of(plan.programs, i)).queries())


@dataclass(frozen=True)
class _Mends:
    plan: Plan
    conflicts: RowConflicts

    def queries(self) -> Iterator[str]:
        program = self.conflicts.program
        if isinstance(program, GroupProgram) and program.right:
            yield from self._of_groups(program)
        if isinstance(program, PairProgram):
            yield from self._of_pairs(program)
        if program.alone is not None:
            yield from self._of_flag(self.plan.programs.flags[program.alone])

    def _of_flag(self, flag: Flag) -> Iterator[str]:
        """Of what makes a row break a rule by itself."""
        if isinstance(flag, BreaksConstant):
            yield from self._of_constants(flag.dependency)
        elif isinstance(flag, AllOf | AnyOf):
            predicates = [part.predicate for part in flag.flags if isinstance(part, Satisfies)]
            if predicates:
                yield from self._of_rows(predicates)
            for part in flag.flags:
                yield from self._of_flag(part)

    # Dependencies ---------------------------------------------------------------------------------------------------

    def _of_groups(self, program: GroupProgram) -> Iterator[str]:
        left = [self._form_name(form) for form in program.left]
        right = [self._form_name(side.form) for side in program.right]
        columns = [self._column(name) for name in (*left, *right)]
        scope = [] if program.scope is None else [f"r.b{program.scope}", f"o.b{program.scope}"]
        agree = self.conflicts.equal(program.left, "r", "o")
        for name in right:
            if self._writable(name) and name not in left:
                yield self._most_frequent(name, columns, [*agree, *scope])
        # The left side may be what is wrong: most rows with this right side have another one.
        same = self.conflicts.equal([side.form for side in program.right], "r", "o")
        for place, name in enumerate(left):
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
            f"SELECT k, {self._place(name)} AS place, {self._as_text(name, 'most.x')} AS value,\n"
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
            yield self._suggested(name, value, _CERTAIN, source)

    # Other rules on two rows ----------------------------------------------------------------------------------------

    def _of_pairs(self, program: PairProgram) -> Iterator[str]:
        bounds: dict[str, list[str]] = {}
        for denial in program.denials:
            for turned in (False, True):
                # As seen from the row that is to be mended: its own form, and that of the other row.
                compares = [c.mirrored() if turned else c for c in denial.compares]
                for compare in compares:
                    name, other = self._form_name(compare.left), self._form_name(compare.right)
                    if not self._writable(name) or compare.allowed == EQ or self._is_computed(other):
                        continue
                    rest = [c for c in compares if name not in self.plan.base(self._form_name(c.left))]
                    conditions = self._others(denial, rest, turned)
                    if compare.allowed == NE:
                        yield self._most_met(name, other, conditions)
                    else:
                        bounds.setdefault(name, []).append(self._bound(name, other, compare.allowed, conditions))
        for name, parts in bounds.items():
            yield self._within(name, parts)

    def _others(self, denial: PairDenial, compares: Sequence[Compare], turned: bool) -> str:
        """When the other row of the pair could be met, whatever the cell is."""
        own, other = (denial.right, denial.left) if turned else (denial.left, denial.right)
        conditions = ["r.k != o.k", *(self.conflicts.compared(compare, "r", "o") for compare in compares)]
        conditions += [f"{row}.b{flag}" for row, flag in (("r", own), ("o", other)) if flag is not None]
        return " AND ".join(conditions)

    def _most_met(self, name: str, theirs: str, conditions: str) -> str:
        """The value that most of the rows have that it must not differ from."""
        value = self._as_value_of(name, f"o.{self._column(theirs)}")
        return self._most(
            name,
            f"SELECT r.k, {value} AS x, count(*) AS n FROM {{given}} r JOIN {{sound}} o ON {conditions}\n"
            "    GROUP BY 1, 2",
        )

    def _bound(self, name: str, theirs: str, allowed: int, conditions: str) -> str:
        """(k, low, high): what the cell must not be below, or above, for no pair to be in an allowed relation."""
        kind = self.plan.schema.types[name]
        value = self._as_value_of(name, f"o.{self._column(theirs)}")
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
            f"SELECT k, {self._place(name)} AS place, {self._as_text(name, 'x')} AS value,\n"
            f"  IF(low <=> high, {_CERTAIN}D, {_BOUND}D) AS backing,\n"
            f"  IF(low > high, NULL, {self._as_text(name, 'low')}) AS low,\n"
            f"  IF(low > high, NULL, {self._as_text(name, 'high')}) AS high\n"
            f"FROM (SELECT b.*, explode({values}) AS x FROM ({bounds}) b JOIN {{given}} r ON r.k = b.k)"
        )

    # Rules on single rows -------------------------------------------------------------------------------------------

    def _of_rows(self, predicates: Sequence[Predicate]) -> Iterator[str]:
        encoder = self._encoder("r")
        broken = " AND ".join(f"({encoder.predicate(p)})" for p in predicates)
        source = f"{{given}} r WHERE {broken}"
        for p in predicates:
            if isinstance(p, Membership):
                if not p.inside and self._writable(p.column.name):
                    yield from self._nearest(p, encoder, source)
                continue
            if not isinstance(p, Comparison):
                continue
            sides: list[tuple[RowOperand, int, Operand]] = [(p.left, p.allowed, p.right)]
            if isinstance(p.right, Column):
                sides.append((p.right, swapped(p.allowed), p.left))
            for column, allowed, theirs in sides:
                if allowed == EQ or not isinstance(column, Column) or not self._writable(column.name):
                    continue
                kind = self.plan.schema.types[column.name]
                if isinstance(theirs, Column):
                    if not may_take(self.plan, column.name, theirs.name):
                        continue
                    value = self._as_value_of(column.name, encoder.value(theirs))
                else:
                    text = encoder.lookup_text(column, theirs) if isinstance(theirs, Constant) else None
                    if text is None:
                        continue
                    value = f"CAST({text_literal(text)} AS {kind.sql})"
                if allowed in (LE, GE):
                    value = _beyond(value, kind, "+" if allowed == LE else "-")
                text = value_as_text(value, kind)
                yield self._suggested(column.name, text, _CERTAIN if allowed == NE else _BOUND, source)

    def _nearest(self, member: Membership, encoder: Encoder, source: str) -> Iterator[str]:
        """Of the values that it may have, the one that is written most like it."""
        assert isinstance(member.column, Column), "expressions are computed columns here"
        texts = [encoder.lookup_text(member.column, value) for value in sorted(member.values, key=str)]
        listed = ", ".join(text_literal(text) for text in texts if text is not None)
        if not listed:
            return
        # Under `nulls: equal` there may be nothing, which no text is like.
        name = member.column.name
        now = f"coalesce({self._as_text(name, f'r.{self._column(name)}')}, '')"
        alike = f"named_struct('d', levenshtein(lower(x), lower({now})), 'x', x)"
        nearest = f"array_min(transform(array({listed}), x -> {alike}))"
        yield (
            f"SELECT k, {self._place(member.column.name)} AS place, near.x AS value,\n"
            "  CAST(1 - near.d / greatest(length(near.x), length(now), 1) AS DOUBLE) AS backing,\n"
            "  CAST(NULL AS STRING) AS low, CAST(NULL AS STRING) AS high\n"
            f"FROM (SELECT r.k, {now} AS now, {nearest} AS near FROM {source})"
        )

    # --------------------------------------------------------------------------------------------------------------

    def _suggested(self, name: str, value: str, backing: float, source: str) -> str:
        return (
            f"SELECT r.k, {self._place(name)} AS place, {value} AS value, {backing}D AS backing,\n"
            f"  CAST(NULL AS STRING) AS low, CAST(NULL AS STRING) AS high FROM {source}"
        )

    def _as_text(self, name: str, value: str) -> str:
        """A value of the named column as text."""
        return value_as_text(value, self.plan.schema.types[name])

    def _as_value_of(self, name: str, value: str) -> str:
        """The value of another column in the type of the named one; null where that cannot hold it."""
        return f"TRY_CAST({value} AS {self.plan.schema.types[name].sql})"

    def _encoder(self, alias: str) -> Encoder:
        return Encoder(self.plan.schema.types, self.plan.rules.nulls, lambda c: f"{alias}.{self._column(c.name)}")

    def _form_name(self, form: int) -> str:
        return self.plan.programs.forms[form].column

    def _place(self, name: str) -> int:
        return self.plan.schema.position(name)

    def _column(self, name: str) -> str:
        return f"c{self._place(name)}"

    def _is_computed(self, name: str) -> bool:
        return name in self.plan.computed

    def _writable(self, name: str) -> bool:
        if self._is_computed(name):
            return False
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
