"""Values that could mend given rows: what one cell would have to be for a rule not to be broken, in this process.

The twin of `mends`, which says the same in SQL: a dependency wants what most rows of the group have; an inequality, a
value within bounds that rows without a fault set; a rule on single rows, its constant or the value it compares with.
Whether a value mends more than it breaks is tried afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.codes import Coded, dense_ids, shared_codes
from holdfast.encode.column_type import UNBOUNDED, ColumnType
from holdfast.encode.spark_text import spark_text
from holdfast.explaining.cell_values import converted, next_values, plain_array, read_texts
from holdfast.explaining.row_meetings import Agreement, agreeing_rows, met_pairs, turned_denial
from holdfast.kernels.order import ranks
from holdfast.programs.arrow_forms import flag_values, with_constant
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.form import AllOf, AnyOf, BreaksConstant, Flag, Satisfies
from holdfast.programs.plan import Plan
from holdfast.programs.program import Compare, GroupProgram, PairDenial, PairProgram
from holdfast.programs.sql_expression import Encoder
from holdfast.rules.dependency import CFD
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, Operand, Predicate, RowOperand
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE, swapped
from holdfast.violations.part import Bools, Ints, Part

Floats = NDArray[np.float64]

# Values can be written as text and read back; those of other families are not suggested.
WRITABLE = frozenset({"integer", "decimal", "float", "text", "date", "timestamp", "boolean"})
# A value that is one of an interval has nothing that speaks for it and against the others.
BOUND = 0.5
CERTAIN = 1.0
# Of a tableau, so many lines with constants are looked at.
LINES = 1_000


@dataclass(frozen=True)
class Candidates:
    """Values for cells of one column: whose (places among the given rows), as text, and how much speaks for them.

    `low` and `high` are texts, of a bound the interval that it bounds.
    """

    column: str
    of: Ints
    values: pa.Array
    texts: pa.Array
    backing: Floats
    low: pa.Array
    high: pa.Array

    @classmethod
    def chosen(
        cls,
        column: str,
        of: Ints,
        values: pa.Array,
        backing: Floats | float,
        *,
        texts: pa.Array | None = None,
        low: pa.Array | None = None,
        high: pa.Array | None = None,
    ) -> Candidates:
        """The candidates without those that have no value; `texts` are those of the values where none are given."""
        texts = spark_text(values) if texts is None else texts
        nothing = pa.nulls(len(of), pa.string())
        there = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False))
        low, high = (nothing if bound is None else bound for bound in (low, high))
        every = np.full(len(of), backing) if isinstance(backing, float) else backing
        values, texts, low, high = (array.take(pa.array(there)) for array in (values, texts, low, high))
        return cls(column, of[there], values, texts, every[there], low, high)


@dataclass(frozen=True)
class CandidateSource:
    """The given rows, by position, among all rows of a table."""

    rows: pa.Table
    plan: Plan
    part: Part
    given: Ints

    def candidates(self, i: int, suspects: Ints | None) -> list[Candidates]:
        """What rule i suggests. `suspects` are its suspect rows, needed where `sets_bounds`."""
        program = self.plan.programs.programs[i]
        suggested: list[Candidates] = []
        if isinstance(program, GroupProgram) and program.right:
            suggested += self._of_groups(program)
        if isinstance(program, PairProgram):
            sound = np.ones(self.part.size, np.bool_)
            sound[np.empty(0, np.int64) if suspects is None else suspects] = False
            suggested += self._of_pairs(program, np.flatnonzero(sound))
        if program.alone is not None:
            suggested += self._of_flag(self.plan.programs.flags[program.alone])
        return [candidates for candidates in suggested if len(candidates.of)]

    def _of_flag(self, flag: Flag) -> Iterator[Candidates]:
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

    def _of_groups(self, program: GroupProgram) -> Iterator[Candidates]:
        right = [side.form for side in program.right]
        forms = list(dict.fromkeys([*program.left, *right]))
        scope = self.part.flag(program.scope)
        in_scope = scope[self.given]
        for form in right:
            if self._writable(self._column_of(form)) and form not in program.left:
                yield self._most_frequent(form, program.left, forms, scope, in_scope)
        # The left side may be what is wrong: most rows with this right side have another one.
        for form in program.left:
            if self._writable(self._column_of(form)):
                others = [other for other in program.left if other != form]
                yield self._most_frequent(form, [*others, *right], forms, scope, np.ones(len(self.given), np.bool_))

    def _most_frequent(
        self, form: int, agreeing: Sequence[int], forms: Sequence[int], scope: Bools, eligible: Bools
    ) -> Candidates:
        """The value of the form that most other rows have that agree with a row and are in scope."""
        compares = [Compare(other, other, EQ) for other in dict.fromkeys(agreeing)]
        met = agreeing_rows(compares, self.part, self.given, np.flatnonzero(scope))
        met = Agreement(np.where(eligible, met.given_ids, -1), met.rows, met.row_ids)
        # A row is one of those that have its values: one vote for its own value is its own.
        like = [array for f in forms for array in self._known_values(f, np.concatenate([self.given, met.rows]))]
        ids = dense_ids(like, len(self.given) + len(met.rows))
        counted = np.isin(ids[: len(self.given)], ids[len(self.given) :])
        codes = self.part.forms[form]
        own = Coded(codes.codes[self.given], codes.valid[self.given] & counted)
        best = most_voted(met, Coded(codes.codes[met.rows], codes.valid[met.rows]), own)
        name = self._column_of(form)
        return self._voted(name, best, self._values(name, met.rows[best.row]))

    def _known_values(self, form: int, rows: Ints) -> list[Ints]:
        """The form as parts of an identity in which a null is a value of its own."""
        coded = self.part.forms[form]
        valid = coded.valid[rows]
        return [np.where(valid, coded.codes[rows], 0), valid.astype(np.int64)]

    def _voted(self, name: str, best: Voted, values: pa.Array) -> Candidates:
        if pa.types.is_floating(values.type):  # among votes there is one zero
            values = pc.add(values, pa.scalar(0.0, values.type))
        return Candidates.chosen(name, best.of, values, best.votes / (best.total + 1))

    def _of_constants(self, dependency: CFD) -> Iterator[Candidates]:
        """The constants that patterns want of rows that match them."""
        wanted: dict[str, list[tuple[Ints, str]]] = {}
        for pattern in dependency.patterns[:LINES]:
            bound = [(n, v) for n, v in zip(dependency.left, pattern.left, strict=True) if v is not None]
            if any(self._lookup_text(name, value) is None for name, value in bound):
                continue
            matching: Bools | None = None
            for name, constant in zip(dependency.right, pattern.right, strict=True):
                text = None if constant is None else self._lookup_text(name, constant)
                if text is None or not self._writable(name):
                    continue
                if matching is None:
                    matching = np.ones(len(self.given), np.bool_)
                    for column, value in bound:
                        matching &= with_constant(self._columns, column, EQ, value)
                wanted.setdefault(name, []).append((np.flatnonzero(matching), text))
        for name, lines in wanted.items():
            texts = [text for rows, text in lines for _ in range(len(rows))]
            yield self._read(name, np.concatenate([rows for rows, _ in lines]), texts, CERTAIN)

    # Other rules on two rows ----------------------------------------------------------------------------------------

    def _of_pairs(self, program: PairProgram, sound: Ints) -> Iterator[Candidates]:
        bounds: dict[str, list[tuple[bool, pa.Array]]] = {}
        done: set[tuple[Compare, PairDenial]] = set()
        for denial in program.denials:
            # As seen from the row that is to be mended: its own form, and that of the other row.
            for seen in (denial, turned_denial(denial)):
                for compare in seen.compares:
                    name = self._column_of(compare.left)
                    computed = self._is_computed(self._column_of(compare.right))
                    if not self._writable(name) or compare.allowed == EQ or computed:
                        continue
                    # Whom the row could meet, whatever the cell is.
                    rest = tuple(c for c in seen.compares if name not in self.plan.base(self._column_of(c.left)))
                    others = PairDenial(seen.left, seen.right, rest, symmetric=False)
                    if (compare, others) in done:
                        continue
                    done.add((compare, others))
                    if compare.allowed == NE:
                        yield self._most_met(compare, others, sound)
                    else:
                        low = compare.allowed in (LT, LE)
                        bounds.setdefault(name, []).append((low, self._bound(compare, others, sound)))
        for name, parts in bounds.items():
            yield from self._within(name, parts)

    def _theirs(self, compare: Compare, rows: Ints) -> pa.Array:
        """The other rows' values in the type of the cell; null where that cannot hold them."""
        name, theirs = self._column_of(compare.left), self._column_of(compare.right)
        types = self.plan.schema.types
        return converted(self._values(theirs, rows), types[theirs], types[name], self._stored(name))

    def _most_met(self, compare: Compare, others: PairDenial, sound: Ints) -> Candidates:
        """The value that most of the rows have that it must not differ from."""
        name = self._column_of(compare.left)
        if all(c.allowed == EQ for c in others.compares):
            met = self._met_by_equalities(others, sound)
            values = self._theirs(compare, met.rows)
            coded = shared_codes([pa.chunked_array([values])])[0]
            own = self._itself(met, coded)
            best = most_voted(met, coded, own)
            return self._voted(name, best, values.take(pa.array(best.row)))
        parts = []
        for at, rows in met_pairs(PairProgram((others,), symmetric=False), self.part, self.given, sound):
            apart = rows != self.given[at]
            at, rows = at[apart], rows[apart]
            values = self._theirs(compare, rows)
            coded = shared_codes([pa.chunked_array([values])])[0]
            # Each given row is a group of its own.
            given_ids = np.where(np.bincount(at, minlength=len(self.given)) > 0, np.arange(len(self.given)), -1)
            nobody = Coded(np.zeros(len(self.given), np.int64), np.zeros(len(self.given), np.bool_))
            best = most_voted(Agreement(given_ids, rows, at), coded, nobody)
            parts.append((best, values.take(pa.array(best.row))))
        if not parts:
            return Candidates.chosen(name, np.empty(0, np.int64), pa.array([], self._stored(name)), CERTAIN)
        joined = Voted(*(np.concatenate([getattr(b, f) for b, _ in parts]) for f in ("of", "row", "votes", "total")))
        return self._voted(name, joined, pa.concat_arrays([values for _, values in parts]))

    def _met_by_equalities(self, others: PairDenial, sound: Ints) -> Agreement:
        part, rows = self.part, sound[self.part.flag(others.right)[sound]]
        met = agreeing_rows([c for c in others.compares if c.allowed == EQ], part, self.given, rows)
        return Agreement(np.where(part.flag(others.left)[self.given], met.given_ids, -1), met.rows, met.row_ids)

    def _itself(self, met: Agreement, values: Coded) -> Coded:
        """The value of each given row where it is one of the rows that it meets; otherwise null."""
        codes, valid = np.zeros(len(self.given), np.int64), np.zeros(len(self.given), np.bool_)
        if len(met.rows):
            place = np.minimum(np.searchsorted(met.rows, self.given), len(met.rows) - 1)
            itself = (met.rows[place] == self.given) & (met.row_ids[place] == met.given_ids)
            codes[itself], valid[itself] = values.codes[place[itself]], values.valid[place[itself]]
        return Coded(codes, valid)

    def _bound(self, compare: Compare, others: PairDenial, sound: Ints) -> pa.Array:
        """For each given row, what the cell must not be below, or above, for no pair to be in the relation."""
        low = compare.allowed in (LT, LE)
        ordering = [c for c in others.compares if c.allowed != EQ]
        if not ordering or (len(ordering) == 1 and ordering[0].allowed != NE and self._without_nulls(ordering[0])):
            values, row = self._extreme_in_order(compare, others, ordering, sound, greatest=low)
        else:
            values, row = self._extreme_met(compare, others, sound, np.arange(len(self.given)), greatest=low)
        bounds = values.take(pa.array(row, mask=row < 0))
        kind = self.plan.schema.types[self._column_of(compare.left)]
        return bounds if compare.allowed in (LT, GT) else next_values(bounds, kind, up=low)

    def _without_nulls(self, compare: Compare) -> bool:
        """Whether no two nulls are in the relation."""
        forms = self.part.forms[compare.left], self.part.forms[compare.right]
        return self.part.nulls == "sql" or compare.allowed in (LT, GT) or all(form.valid.all() for form in forms)

    def _extreme_in_order(
        self, compare: Compare, others: PairDenial, ordering: Sequence[Compare], sound: Ints, *, greatest: bool
    ) -> tuple[pa.Array, Ints]:
        """Values, and for each given row which of them is the greatest, or the least, that it meets; -1 for none.

        With one inequality besides equalities: the rows of each group in its order, and the best so far of each.
        """
        met = self._met_by_equalities(others, sound)
        values = self._theirs(compare, met.rows)
        coded = shared_codes([pa.chunked_array([values])])[0]
        fit, eligible = coded.valid.copy(), met.given_ids >= 0
        x, y, strict = np.zeros(len(self.given), np.int64), np.zeros(len(met.rows), np.int64), False
        for c in ordering:
            own, theirs = self.part.forms[c.left], self.part.forms[c.right]
            fit, eligible = fit & theirs.valid[met.rows], eligible & own.valid[self.given]
            x, y, strict = own.codes[self.given], theirs.codes[met.rows], c.allowed in (LT, GT)
            if c.allowed in (LT, LE):  # the rows above: the order turned round
                x, y = ~x, ~y
        kept = np.flatnonzero(fit)
        row = np.full(len(self.given), -1, np.int64)
        if len(kept) == 0:
            return values, row
        both = ranks(np.concatenate([x, y[kept]]))
        width = np.int64(both.max() + 1)
        place = met.row_ids[kept] * width + both[len(x) :]
        order = np.argsort(place, kind="stable")
        place, kept = place[order], kept[order]
        value = ranks(coded.codes[kept])
        if not greatest:
            value = value.max() - value
        value = met.row_ids[kept] * (value.max() + 1) + value
        best = np.maximum.accumulate(np.where(value == np.maximum.accumulate(value), np.arange(len(value)), 0))
        wanted = met.given_ids * width + both[: len(x)]
        end = np.searchsorted(place, wanted, side="left" if strict else "right")
        start = np.searchsorted(place, met.given_ids * width, side="left")
        bounded = np.flatnonzero(eligible & (end > start))
        row[bounded] = kept[best[end[bounded] - 1]]
        # A row does not meet itself: where it is the best, the others are looked at.
        itself = np.flatnonzero((row >= 0) & (met.rows[row] == self.given))
        if len(itself):
            more, others_best = self._extreme_met(compare, others, sound, itself, greatest=greatest)
            row[itself] = np.where(others_best[itself] >= 0, others_best[itself] + len(values), -1)
            values = pa.concat_arrays([values, more])
        return values, row

    def _extreme_met(
        self, compare: Compare, others: PairDenial, sound: Ints, which: Ints, *, greatest: bool
    ) -> tuple[pa.Array, Ints]:
        """As `_extreme_in_order`, whatever the comparisons, for the given rows at these places: pair by pair."""
        row = np.full(len(self.given), -1, np.int64)
        parts: list[pa.Array] = [pa.array([], self._stored(self._column_of(compare.left)))]
        size = 0
        for at, rows in met_pairs(PairProgram((others,), symmetric=False), self.part, self.given[which], sound):
            apart = rows != self.given[which[at]]
            values = self._theirs(compare, rows[apart])
            coded = shared_codes([pa.chunked_array([values])])[0]
            kept, at = np.flatnonzero(coded.valid), at[apart][coded.valid]
            codes = coded.codes[kept]
            order = np.lexsort((codes if greatest else ~codes, at))
            last = np.flatnonzero(np.diff(at[order], append=-1))
            row[which[at[order[last]]]] = size + np.arange(len(last))
            parts.append(values.take(pa.array(kept[order[last]])))
            size += len(last)
        return pa.concat_arrays(parts), row

    def _within(self, name: str, parts: Sequence[tuple[bool, pa.Array]]) -> Iterator[Candidates]:
        """The bound that is nearest to what stands there; both, where they cross and no value serves all rows."""
        cells = self._values(name, self.given)
        arrays = [cells.cast(self._stored(name)), *(bounds for _, bounds in parts)]
        coded = shared_codes([pa.chunked_array([array]) for array in arrays])
        every = pa.concat_arrays(arrays)
        size, cell = len(cells), coded[0]
        ends = {True: np.full(size, -1, np.int64), False: np.full(size, -1, np.int64)}
        codes = np.concatenate([column.codes for column in coded])
        for number, (is_low, _) in enumerate(parts, start=1):
            new, now = coded[number], ends[is_low]
            further = new.codes > codes[now] if is_low else new.codes < codes[now]
            ends[is_low] = np.where(new.valid & ((now < 0) | further), np.arange(size) + number * size, now)
        low, high = ends[True], ends[False]
        has_low, has_high = low >= 0, high >= 0
        crossed = has_low & has_high & (codes[low] > codes[high])
        equal = has_low & has_high & (codes[low] == codes[high])
        backing = np.where(equal, CERTAIN, BOUND)
        below = cell.valid & has_low & (cell.codes < codes[low])
        above = cell.valid & has_high & (cell.codes > codes[high]) & ~below
        bounds_as_text = [spark_text(every.take(pa.array(end, mask=(end < 0) | crossed))) for end in (low, high)]
        for end, chosen in ((low, crossed | below), (high, crossed | above)):
            of = np.flatnonzero(chosen)
            bounds = [texts.take(pa.array(of)) for texts in bounds_as_text]
            values = every.take(pa.array(end[of]))
            yield Candidates.chosen(name, of, values, backing[of], low=bounds[0], high=bounds[1])

    # Rules on single rows -------------------------------------------------------------------------------------------

    def _of_rows(self, predicates: Sequence[Predicate]) -> Iterator[Candidates]:
        broken = np.flatnonzero(flag_values(AllOf(tuple(map(Satisfies, predicates))), self._columns))
        if len(broken) == 0:
            return
        types = self.plan.types
        for p in predicates:
            if isinstance(p, Membership):
                if not p.inside and self._writable(p.column.name):
                    yield from self._nearest(p, broken)
                continue
            if not isinstance(p, Comparison):
                continue
            sides: list[tuple[RowOperand, int, Operand]] = [(p.left, p.allowed, p.right)]
            if isinstance(p.right, Column):
                sides.append((p.right, swapped(p.allowed), p.left))
            for column, allowed, theirs in sides:
                name = column.name
                if allowed == EQ or not self._writable(name):
                    continue
                kind = types[name]
                if isinstance(theirs, Column):
                    if not may_take(self.plan, name, theirs.name):
                        continue
                    own = plain_array(self._columns.column(theirs.name).take(pa.array(broken)))
                    values = converted(own, types[theirs.name], kind, self._stored(name))
                else:
                    text = self._lookup_text(name, theirs) if isinstance(theirs, Constant) else None
                    if text is None:
                        continue
                    values = read_texts([text], kind, self._stored(name)).take(pa.array(np.zeros(len(broken), int)))
                if allowed in (LE, GE):
                    values = next_values(values, kind, up=allowed == LE)
                yield Candidates.chosen(name, broken, values, CERTAIN if allowed == NE else BOUND)

    def _nearest(self, member: Membership, broken: Ints) -> Iterator[Candidates]:
        """Of the values that it may have, the one that is written most like it."""
        name = member.column.name
        texts = [self._lookup_text(name, value) for value in sorted(member.values, key=str)]
        listed = [text for text in texts if text is not None]
        if not listed:
            return
        now = spark_text(self._values(name, self.given[broken])).to_pylist()
        nearest = {text: _nearest_text(text or "", listed) for text in set(now)}
        backing = np.array([nearest[text][1] for text in now], np.float64)
        yield self._read(name, broken, [nearest[text][0] for text in now], backing)

    # --------------------------------------------------------------------------------------------------------------

    @cached_property
    def _columns(self) -> TableColumns:
        taken = self.rows.take(pa.array(self.given))
        return TableColumns.of(taken, self.plan)

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.plan.schema.types, self.plan.programs.nulls, str)

    def _lookup_text(self, name: str, constant: Constant) -> str | None:
        return self._encoder.lookup_text(Column("t", name), constant)

    def _read(self, name: str, of: Ints, texts: Sequence[str], backing: Floats | float) -> Candidates:
        """Candidates by their texts, which may be written otherwise than the values would be."""
        once = pa.array(texts, pa.string()).dictionary_encode()
        values = read_texts(once.dictionary.to_pylist(), self._kind(name), self._stored(name)).take(once.indices)
        return Candidates.chosen(name, of, values, backing, texts=pa.array(texts, pa.string()))

    def _values(self, name: str, rows: Ints) -> pa.Array:
        return plain_array(self.rows.column(name).take(pa.array(rows)))

    def _stored(self, name: str) -> pa.DataType:
        kind = self.rows.schema.field(name).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def _kind(self, name: str) -> ColumnType:
        return self.plan.schema.types[name]

    def _column_of(self, form: int) -> str:
        return self.plan.programs.forms[form].column

    def _is_computed(self, name: str) -> bool:
        return name in self.plan.computed

    def _writable(self, name: str) -> bool:
        if self._is_computed(name):
            return False
        stored = not pa.types.is_null(self._stored(name))
        return stored and self._kind(name).family in WRITABLE and name not in self.plan.key


def may_take(plan: Plan, name: str, theirs: str) -> bool:
    """Whether a cell of a column may take the value of another one, computed or not, of its row."""
    return theirs not in plan.computed or (name not in plan.base(theirs) and plan.types[theirs] != UNBOUNDED)


def sets_bounds(plan: Plan, i: int) -> bool:
    """Whether what rule i suggests depends on which rows it does not suspect."""
    return isinstance(plan.programs.programs[i], PairProgram)


# Votes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Voted:
    """Per given row that has one (`of`, places among the given rows): a row with the value that has most votes (its
    place among those met), the votes, and those of all values together."""

    of: Ints
    row: Ints
    votes: Ints
    total: Ints


def most_voted(met: Agreement, values: Coded, own: Coded) -> Voted:
    """Of each given row, the value that most of the rows have that it agrees with; of several the greatest.

    `values` are those of the rows met, `own` is the value for which a given row itself has voted, which does not count.
    """
    kept = np.flatnonzero(values.valid)
    kept = kept[np.lexsort((values.codes[kept], met.row_ids[kept]))]
    ids, codes = met.row_ids[kept], values.codes[kept]
    starts = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]) | (codes[1:] != codes[:-1])]) if len(kept) else kept
    votes = np.diff(np.append(starts, len(kept)))
    # One line per id and value, by votes and then value; the last of each id has most.
    lines = np.lexsort((codes[starts], votes, ids[starts]))
    line_ids, line_codes, line_votes, line_rows = ids[starts][lines], codes[starts][lines], votes[lines], starts[lines]
    end = np.searchsorted(line_ids, met.given_ids, side="right")
    begin = np.searchsorted(line_ids, met.given_ids, side="left")
    of = np.flatnonzero((met.given_ids >= 0) & (end > begin))
    best = end[of] - 1
    sums = np.concatenate([[0], np.cumsum(line_votes)])
    total = sums[end[of]] - sums[begin[of]] - own.valid[of]
    own_vote = own.valid[of] & (own.codes[of] == line_codes[best])
    count = line_votes[best] - own_vote
    # Without the row's own vote the second may be first.
    second = np.where(best - 1 >= begin[of], best - 1, best)
    ahead = line_votes[second] > count
    ahead |= (line_votes[second] == count) & (line_codes[second] > line_codes[best])
    taken = np.where(own_vote & (second != best) & ahead, second, best)
    count = np.where(taken == best, count, line_votes[second])
    supported = count > 0
    return Voted(of[supported], kept[line_rows[taken[supported]]], count[supported], total[supported])


# Texts ------------------------------------------------------------------------------------------------------------


def _nearest_text(now: str, listed: Sequence[str]) -> tuple[str, float]:
    """The listed text that is written most like it, the first of several, and how like it is, from 0 to 1."""
    changes, text = min((edit_distance(text.lower(), now.lower()), text) for text in listed)
    return text, 1 - changes / max(len(text), len(now), 1)


def edit_distance(a: str, b: str) -> int:
    """How many characters have to be put in, left out or replaced to make one text of the other.

    >>> edit_distance("kitten", "sitting")
    3
    """
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        before, line[0] = line[0], i
        for j, y in enumerate(b, start=1):
            before, line[j] = line[j], min(line[j] + 1, line[j - 1] + 1, before + (x != y))
    return line[-1]
