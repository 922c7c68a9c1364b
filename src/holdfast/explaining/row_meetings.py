"""Which rows of a table given rows meet, and how many violations they are in with them, over coded forms and flags.

The twin of `row_conflicts`, which says the same in SQL. The first rows of a part are the table; given rows are any of
the part, also such as stand behind the table, as variants of its rows do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.encode.codes import Coded, dense_ids
from holdfast.programs.program import (
    Compare,
    GroupProgram,
    PairDenial,
    PairProgram,
    Program,
    RowProgram,
    forms_and_flags,
    shared_equalities,
)
from holdfast.rules.relation import NE
from holdfast.violations.evaluate import pair_counts, violated_by
from holdfast.violations.part import Ints, Part, Roles

# Pairs that agree on the equalities are looked at one by one where they are fewer than so many times the rows, and
# otherwise counted by kernels, which cost a pass or a sort for each term.
LOOKED_AT = 32
# A rule that takes more terms to count has rows that it cannot tell apart put together first, and then up to so many
# pairs looked at.
TERMS, LISTABLE = 32, 1 << 26
# So many pairs are looked at at once.
AT_ONCE = 1 << 21


@dataclass(frozen=True)
class Agreement:
    """Given rows and the rows of the table that agree with some of them: equal ids, equal values.

    `given_ids` has an id for each given row, -1 where it agrees with none; `rows` are positions.
    """

    given_ids: Ints
    rows: Ints
    row_ids: Ints

    @property
    def pairs(self) -> int:
        """How many pairs of a given row and a row of the table agree."""
        met = self.given_ids[self.given_ids >= 0]
        return int(np.bincount(self.row_ids, minlength=int(met.max(initial=-1)) + 1)[met].sum()) if len(met) else 0


def agreeing_rows(compares: Sequence[Compare], part: Part, given: Ints, rows: Ints) -> Agreement:
    """The rows among `rows` that agree with some given row on all compares, which are equalities; given ones left."""
    fit = np.ones(len(given), np.bool_)
    for compare in compares:
        theirs, own = part.forms[compare.right], _taken(part.forms[compare.left], given)
        valid = theirs.valid[rows]
        keep = valid & np.isin(theirs.codes[rows], own.codes[own.valid])
        if part.nulls == "equal":
            if not own.valid.all():
                keep |= ~valid
        else:
            fit &= own.valid
        rows = rows[keep]
    parts: list[Ints] = []
    for compare in compares:
        own, theirs = _taken(part.forms[compare.left], given), _taken(part.forms[compare.right], rows)
        both = Coded(np.concatenate([own.codes, theirs.codes]), np.concatenate([own.valid, theirs.valid]))
        parts += [np.where(both.valid, both.codes, 0)]
        if not both.valid.all():
            parts += [both.valid.astype(np.int64)]
    ids = dense_ids(parts, len(given) + len(rows))
    given_ids, row_ids = ids[: len(given)], ids[len(given) :]
    return Agreement(np.where(fit & np.isin(given_ids, row_ids), given_ids, -1), rows, row_ids)


def violation_counts(program: Program, part: Part, given: Ints, own: Ints, rows: int) -> Ints:
    """How many violations each given row is in with the first `rows` rows, by itself included.

    None with the row at the same place in `own`, which it stands for.
    """
    counts = conflict_counts(program, part, given, own, rows)
    return counts if program.alone is None else counts + part.flags[program.alone][given]


def conflict_counts(program: Program, part: Part, given: Ints, own: Ints, rows: int) -> Ints:
    """As `violation_counts`, of pairs alone: each way round is a violation of its own, unless the rule is symmetric."""
    counts = np.zeros(len(given), np.int64)
    for left, _ in _ways(program):
        counts += _count_as_left(left, part, given, rows) - violated_by(left, part, given, own)
    return counts


def violating_pairs(program: Program, part: Part, given: Ints, rows: int) -> tuple[Ints, Ints]:
    """All violating pairs (left, right) of a given row, which is of the table, and another; of a symmetric rule the
    smaller key is left. A pair of two given rows is there twice."""
    lefts, rights = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for pairs, turned in _ways(program):
        for at, met in met_pairs(pairs, part, given, _possible_rows(pairs, part, rows)):
            others = met != given[at]
            ends = given[at][others], met[others]
            lefts.append(ends[1] if turned else ends[0])
            rights.append(ends[0] if turned else ends[1])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    if isinstance(program, GroupProgram) or (isinstance(program, PairProgram) and program.symmetric):
        swap = part.order[left] > part.order[right]
        left, right = np.where(swap, right, left), np.where(swap, left, right)
    return left, right


def _ways(program: Program) -> list[tuple[PairProgram, bool]]:
    """The program for given rows as left rows, and where that is not the same, turned round for given rows as right."""
    if isinstance(program, RowProgram):
        return []
    pairs = program.as_pairs() if isinstance(program, GroupProgram) else program
    if pairs.symmetric:
        return [(pairs, False)]
    return [(pairs, False), (replace(pairs, denials=tuple(map(turned_denial, pairs.denials))), True)]


def turned_denial(denial: PairDenial) -> PairDenial:
    """What the denial says of (s, t)."""
    return PairDenial(denial.right, denial.left, tuple(c.mirrored() for c in denial.compares), denial.symmetric)


def _possible_rows(program: PairProgram, part: Part, rows: int) -> Ints:
    """Of the first rows, those that may be right rows by their flags."""
    possible = np.zeros(rows, np.bool_)
    for denial in program.denials:
        possible |= part.flag(denial.right)[:rows]
    return np.flatnonzero(possible)


def _count_as_left(program: PairProgram, part: Part, given: Ints, rows: int) -> Ints:
    meeting = agreeing_rows(shared_equalities(program.denials), part, given, _possible_rows(program, part, rows))
    counts = np.zeros(len(given), np.int64)
    pairs, terms = meeting.pairs, _terms(program)
    if pairs == 0:
        return counts
    if pairs <= LOOKED_AT * min(terms, TERMS) * (len(given) + len(meeting.rows)):
        for at, _ in met_pairs(program, part, given, meeting.rows):
            counts += np.bincount(at, minlength=len(given))
        return counts
    if terms > TERMS:
        lefts, which = _once_each(program, part, given)
        rights, copies = _once_each(program, part, meeting.rows)
        if agreeing_rows(shared_equalities(program.denials), part, lefts, rights).pairs <= LISTABLE:
            weights = np.zeros(part.size, np.int64)
            weights[rights] = np.bincount(copies)
            of_lefts = np.zeros(len(lefts), np.int64)
            for at, met in met_pairs(program, part, lefts, rights):
                of_lefts += np.bincount(at, weights[met], minlength=len(lefts)).astype(np.int64)
            return of_lefts[which]
    return _counted(program, part, given, meeting.rows)


def _terms(program: PairProgram) -> int:
    """How many counts of equalities and inequalities alone add up to that of the program."""
    unequal = [sum(compare.allowed == NE for compare in denial.compares) for denial in program.denials]
    return math.prod([1 + (1 << count) for count in unequal]) - 1


def _once_each(program: PairProgram, part: Part, rows: Ints) -> tuple[Ints, Ints]:
    """Rows that the program tells apart, and for each of all rows which of them is like it."""
    forms, flags = forms_and_flags(program)
    parts = [array for form in forms for array in _null_aware(_taken(part.forms[form], rows))]
    parts += [part.flags[flag][rows].astype(np.int64) for flag in flags]
    _, first, which = np.unique(dense_ids(parts, len(rows)), return_index=True, return_inverse=True)
    return rows[first], which.astype(np.int64)


def _counted(program: PairProgram, part: Part, given: Ints, rows: Ints) -> Ints:
    """The pairs of each given row as left row with these rows, counted and not looked at."""
    both = np.concatenate([given, rows])
    forms, flags = forms_and_flags(program)
    nothing, nobody = Coded(np.zeros(0, np.int64), np.zeros(0, np.bool_)), np.zeros(0, np.bool_)
    left = np.arange(len(both)) < len(given)
    sub = Part(
        size=len(both),
        forms=[_taken(form, both) if i in forms else nothing for i, form in enumerate(part.forms)],
        flags=[flag[both] if i in flags else nobody for i, flag in enumerate(part.flags)],
        order=np.arange(len(both)),
        nulls=part.nulls,
        roles=Roles(left, ~left, np.zeros(len(both), np.bool_)),
    )
    return pair_counts(program, sub)[0][: len(given)]


def met_pairs(program: PairProgram, part: Part, given: Ints, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """(places in `given`, positions of rows) of the pairs that violate the program, the given row left, in pieces.

    All pairs of a given row are in one piece; a row that is both given and among the rows may meet itself.
    """
    shared = shared_equalities(program.denials)
    if not shared:
        step = max(1, AT_ONCE // max(len(rows), 1))
        for start in range(0, len(given), step):
            violated = violated_by(program, part, given[start : start + step, None], rows[None, :])
            at, met = np.nonzero(violated)
            yield at + start, rows[met]
        return
    meeting = agreeing_rows(shared, part, given, rows)
    order = np.argsort(meeting.row_ids, kind="stable")
    ids, rows = meeting.row_ids[order], meeting.rows[order]
    starts = np.searchsorted(ids, meeting.given_ids, side="left")
    sizes = np.where(meeting.given_ids < 0, 0, np.searchsorted(ids, meeting.given_ids, side="right") - starts)
    for piece in _pieces(sizes):
        at = np.repeat(piece, sizes[piece])
        first = np.repeat(starts[piece] - np.concatenate([[0], np.cumsum(sizes[piece])[:-1]]), sizes[piece])
        met = rows[first + np.arange(len(at))]
        violated = violated_by(program, part, given[at], met)
        yield at[violated], met[violated]


def _pieces(sizes: Ints) -> Iterator[Ints]:
    """Places that come together, in order, about as many as may be looked at at once; none of size 0."""
    places = np.flatnonzero(sizes)
    number = np.cumsum(sizes[places]) // AT_ONCE
    if len(places):
        yield from np.split(places, np.flatnonzero(np.diff(number)) + 1)


def _taken(form: Coded, rows: Ints) -> Coded:
    return Coded(form.codes[rows], form.valid[rows])


def _null_aware(form: Coded) -> list[Ints]:
    if form.valid.all():
        return [form.codes]
    return [np.where(form.valid, form.codes, 0), form.valid.astype(np.int64)]
