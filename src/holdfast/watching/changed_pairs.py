"""What a batch of changes does to the violating pairs of one rule, among rows as arrays.

Rows of a part are those as they were before the batch, those as they are after it, and the rest, which stays. Pairs
that go are those with a row as it was; pairs that come, those with a row as it is now; a pair that does both does
neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.encode.codes import Coded
from holdfast.programs.program import Compare, PairDenial, PairProgram
from holdfast.rules.relation import EQ
from holdfast.violations.evaluate import both_pairs_count, listed_pairs, pair_counts, pairs_of, violated_by
from holdfast.violations.part import BOTH, LEFT, RIGHT, Bools, Ints, Part, Roles
from holdfast.violations.route import meeting

# Up to so many pairs that agree on the equalities are looked at one by one; more are counted.
LISTABLE = 2_000_000
# Pairs that were there before are passed over in the search for new ones, up to so many.
MOST_SEARCHED = 20_000_000


@dataclass(frozen=True)
class PairChange:
    """How many pairs come and go, and some of them by position: all of them where they are at most the limit."""

    added: int
    removed: int
    come: tuple[Ints, Ints]
    go: tuple[Ints, Ints]


@dataclass(frozen=True)
class ChangedRows:
    """A part whose rows are `before`, `after` or `rest`; `role` is which parts each plays. Equal keys, equal order.

    With `inner`, pairs of two changed rows are looked at, and otherwise only those of a changed row with one of the
    rest: a rest that comes in pieces is looked at piece by piece.
    """

    part: Part
    before: Bools
    after: Bools
    rest: Bools
    role: Ints
    inner: bool

    def sides(self, changed: Bools) -> list[Roles]:
        """Who is left and who is right in the pairs that have one of these changed rows."""
        left, right = (self.role & LEFT) > 0, (self.role & RIGHT) > 0
        met = self.rest | changed if self.inner else self.rest
        sides = [Roles(changed & left, met & right, changed & met & (self.role == BOTH))]
        if self.rest.any():
            sides.append(Roles(self.rest & left, changed & right, np.zeros(self.part.size, np.bool_)))
        return sides


def pair_change(program: PairProgram, rows: ChangedRows, *, limit: int, listable: int = LISTABLE) -> PairChange:
    """The net change of the program's pairs, counted exactly; at most about `limit` of each kind by position."""
    candidates = _agreeing(program)
    if all(_count(candidates, rows, changed) <= listable for changed in (rows.before, rows.after)):
        return _by_lists(program, rows, limit)
    return _by_counts(program, rows, limit)


def _agreeing(program: PairProgram) -> PairProgram:
    """Pairs that agree on what all denials want to be equal: no fewer than violate."""
    meets = meeting(program)
    compares = tuple(Compare(a, b, EQ) for a, b in zip(meets.left, meets.right, strict=True))
    return PairProgram((PairDenial(None, None, compares, symmetric=False),), symmetric=False)


def _count(program: PairProgram, rows: ChangedRows, changed: Bools) -> int:
    if not changed.any():
        return 0
    parts = [replace(rows.part, roles=roles) for roles in rows.sides(changed)]
    total = sum(int(pair_counts(program, part)[0].sum()) for part in parts)
    return total // 2 if program.symmetric else total


def _by_lists(program: PairProgram, rows: ChangedRows, limit: int) -> PairChange:
    go, come = _listed(program, rows, rows.before), _listed(program, rows, rows.after)
    go_ids, come_ids = _ids(rows.part, *go), _ids(rows.part, *come)
    going, coming = ~np.isin(go_ids, come_ids), ~np.isin(come_ids, go_ids)
    return PairChange(
        added=int(coming.sum()),
        removed=int(going.sum()),
        come=(come[0][coming][:limit], come[1][coming][:limit]),
        go=(go[0][going][:limit], go[1][going][:limit]),
    )


def _listed(program: PairProgram, rows: ChangedRows, changed: Bools) -> tuple[Ints, Ints]:
    if not changed.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    lists = [listed_pairs(program, replace(rows.part, roles=roles)) for roles in rows.sides(changed)]
    return _once_each(rows.part, lists)


def _once_each(part: Part, lists: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    left, right = (np.concatenate([pairs[side] for pairs in lists]) for side in (0, 1))
    _, first = np.unique(_ids(part, left, right), return_index=True)
    return left[first], right[first]


def _ids(part: Part, left: Ints, right: Ints) -> Ints:
    """One number per pair of keys; the order of a part of changed rows is small numbers."""
    return part.order[left] * np.int64(part.order.max(initial=0) + 1) + part.order[right]


def _by_counts(program: PairProgram, rows: ChangedRows, limit: int) -> PairChange:
    both = _count_both(program, rows)
    added, removed = (_count(program, rows, changed) - both for changed in (rows.after, rows.before))
    come = _limited_pairs(program, rows, rows.after, rows.before, added, limit)
    go = _limited_pairs(program, rows, rows.before, rows.after, removed, limit)
    return PairChange(added, removed, come, go)


def _limited_pairs(
    program: PairProgram, rows: ChangedRows, changed: Bools, other: Bools, count: int, limit: int
) -> tuple[Ints, Ints]:
    """Pairs with these changed rows that are none with the others; all of them where `count` is within the limit."""
    none = np.empty(0, np.int64), np.empty(0, np.int64)
    if count == 0 or limit == 0:
        return none
    wanted = limit
    while True:
        parts = [replace(rows.part, roles=roles) for roles in rows.sides(changed)]
        pairs = _once_each(rows.part, [pairs_of(program, part, limit=wanted) for part in parts])
        kept = ~_violating_otherwise(program, rows, pairs, changed, other)
        if kept.sum() >= min(count, limit) or wanted >= MOST_SEARCHED:
            return pairs[0][kept][:limit], pairs[1][kept][:limit]
        # Most of those found stay as they were, so more have to be looked at.
        wanted *= 4


def _violating_otherwise(
    program: PairProgram, rows: ChangedRows, pairs: tuple[Ints, Ints], changed: Bools, other: Bools
) -> Bools:
    """Which pairs violate also with their changed rows in the other state."""
    part = rows.part
    instead = np.full(int(part.order.max(initial=0)) + 1, -1, np.int64)
    instead[part.order[other]] = np.flatnonzero(other)
    turned = [np.where(changed[side], instead[part.order[side]], side) for side in pairs]
    there = (turned[0] >= 0) & (turned[1] >= 0)
    violating = np.zeros(len(there), np.bool_)
    left, right = turned[0][there], turned[1][there]
    violated = violated_by(program, part, left, right)
    if program.symmetric:
        violated |= violated_by(program, part, right, left)
    violating[there] = violated
    return violating


def _count_both(program: PairProgram, rows: ChangedRows) -> int:
    """Pairs that violate before and after, with a row that changed between: rows with both states side by side."""
    part, role = rows.part, rows.role
    before, after = np.flatnonzero(rows.before), np.flatnonzero(rows.after)
    old_keys, old_first = np.unique(part.order[before], return_index=True)
    new_keys, new_first = np.unique(part.order[after], return_index=True)
    keys, in_old, in_new = np.intersect1d(old_keys, new_keys, assume_unique=True, return_indices=True)
    if len(keys) == 0:
        return 0
    rest = np.flatnonzero(rows.rest)
    old = np.concatenate([before[old_first[in_old]], rest])
    new = np.concatenate([after[new_first[in_new]], rest])
    plays = []
    for side in (LEFT, RIGHT):
        of_changed = [np.isin(keys, part.order[who[(role[who] & side) > 0]]) for who in (before, after)]
        plays.append(np.concatenate([of_changed[0] & of_changed[1], (role[rest] & side) > 0]))
    updated = np.arange(len(old)) < len(keys)
    doubled = Part(
        size=len(old),
        forms=[*(_taken(form, old) for form in part.forms), *(_taken(form, new) for form in part.forms)],
        flags=[flag[who] if len(flag) else flag for who in (old, new) for flag in part.flags],
        order=part.order[old],
        nulls=part.nulls,
    )
    met = np.ones(len(old), np.bool_) if rows.inner else ~updated
    sides = [
        Roles(updated & plays[0], met & plays[1], updated & met & plays[0] & plays[1]),
        Roles(~updated & plays[0], updated & plays[1], np.zeros(len(old), np.bool_)),
    ]
    sizes = len(part.forms), len(part.flags)
    total = sum(both_pairs_count(program, replace(doubled, roles=roles), *sizes) for roles in sides)
    return total // 2 if program.symmetric else total


def _taken(form: Coded, rows: Ints) -> Coded:
    return Coded(form.codes[rows], form.valid[rows]) if len(form) else form
