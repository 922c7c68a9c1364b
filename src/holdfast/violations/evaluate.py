"""Programs run on rows as arrays: counts, conflicts, suspects and pairs of one part of a table.

A part is the whole table, or rows such that no violating pair leaves it. Nothing here knows column names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise, product

import numpy as np

from holdfast.encode.codes import Coded, compacted, dense_ids
from holdfast.kernels.cover import greedy_cover
from holdfast.kernels.order import order_in_groups
from holdfast.kernels.pair_counts import count_either_way, count_pairs
from holdfast.kernels.pair_lists import list_pairs
from holdfast.programs.program import Compare, GroupProgram, PairDenial, PairProgram, Program, RowProgram
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE
from holdfast.violations.part import Bools, Ints, Part

UNLIMITED = 2**62
# So many pairs are listed for their suspects, in some twenty megabytes; where there are more, partners are looked up.
LISTED_PAIRS = 1 << 20
# For suspects so many times the limit of listed pairs are looked at.
LOOKED_AT = 1 << 6


@dataclass(frozen=True)
class Finding:
    """What a rule's program finds in a part. Rows are named by position.

    `suspects` is None where they would follow from more pairs than may be looked at. `groups` counts violating groups.
    """

    pairs: int | None
    conflicts: Ints
    violating: Bools
    suspects: Ints | None
    groups: int | None
    witness: tuple[int, int | None] | None


def evaluate(program: Program, part: Part, *, limit: int) -> Finding:
    """What the program finds in the part; greedy suspects where `LOOKED_AT` times `limit` looks at rows are enough."""
    match program:
        case RowProgram():
            broken = part.flags[program.alone]
            return Finding(
                None, np.zeros(part.size, np.int64), broken, np.flatnonzero(broken), None, _first(broken, part)
            )
        case GroupProgram():
            finding = _Groups(program, part).finding()
        case PairProgram():
            finding = _Pairs(program, part).finding(limit)
    return finding if program.alone is None else _with_alone(finding, part.flags[program.alone], part)


def pair_counts(program: PairProgram, part: Part) -> tuple[Ints, Ints]:
    """Ordered violating pairs per row, as left row and as right row."""
    return _Pairs(program, part).counts


def listed_pairs(program: PairProgram, part: Part) -> tuple[Ints, Ints]:
    """All violating pairs, without a count before them: for parts in which few pairs agree on the equalities.

    Of a symmetric rule the smaller key is left; each pair once where its rows play both parts.
    """
    return _Pairs(program, part).pairs(UNLIMITED, counted=False)


def both_pairs_count(program: PairProgram, part: Part, forms: int, flags: int) -> int:
    """Ordered pairs that violate the program twice: by the part's forms and flags, and by those so many numbers on."""
    later = [_shifted(denial, forms, flags) for denial in program.denials]
    total = 0
    for sign, now in _overlaps(program.denials):
        for later_sign, then in _overlaps(later):
            both = [*now, *then]
            total += sign * later_sign * int(_count_denials(both, part, _shape(both, part))[0].sum())
    return total


def _overlaps(denials: Sequence[PairDenial]) -> Iterator[tuple[int, tuple[PairDenial, ...]]]:
    """Denials that a pair may violate at once, each with the sign with which it counts for pairs to count once.

    Of denials with the same origin a pair violates one at most, so that their counts add up.
    """
    constraints = by_constraint(denials)
    for size in range(1, len(constraints) + 1):
        for chosen in combinations(constraints, size):
            for one_of_each in product(*chosen):
                yield (1 if size % 2 else -1), one_of_each


def by_constraint(denials: Sequence[PairDenial]) -> list[list[PairDenial]]:
    """The denials of each constraint, of which a pair violates one at most; of constraints, it may violate several."""
    origins: dict[tuple[bool, int], list[PairDenial]] = {}
    for at, denial in enumerate(denials):
        own = (False, at) if denial.origin is None else (True, denial.origin)
        origins.setdefault(own, []).append(denial)
    return list(origins.values())


def _shifted(denial: PairDenial, forms: int, flags: int) -> PairDenial:
    left, right = (None if flag is None else flag + flags for flag in (denial.left, denial.right))
    compares = tuple(Compare(c.left + forms, c.right + forms, c.allowed) for c in denial.compares)
    return replace(denial, left=left, right=right, compares=compares)


def violated_by(program: PairProgram, part: Part, left: Ints, right: Ints) -> Bools:
    """Which of the pairs of rows, given by position, violate the program; roles are not asked.

    Positions may be arrays of any shapes that broadcast: a column of left rows and a line of right rows are all pairs.
    """
    violated = np.zeros(np.broadcast_shapes(left.shape, right.shape), np.bool_)
    for denial in program.denials:
        fit = part.flag(denial.left)[left] & part.flag(denial.right)[right]
        for compare in denial.compares:
            a, b = part.forms[compare.left], part.forms[compare.right]
            x_valid, y_valid = a.valid[left], b.valid[right]
            related = _related(compare.allowed, a.codes[left], b.codes[right]) & x_valid & y_valid
            if part.nulls == "equal":
                if compare.allowed & EQ:
                    related |= ~x_valid & ~y_valid
                if compare.allowed == NE:
                    related |= x_valid != y_valid
            fit = fit & related
        violated |= fit
    return violated


def _related(allowed: int, x: Ints, y: Ints) -> Bools:
    """Whether the codes are in an allowed relation, whatever those of nulls are."""
    compared = {LT: np.less, LE: np.less_equal, EQ: np.equal, NE: np.not_equal, GE: np.greater_equal, GT: np.greater}
    return np.asarray(compared[allowed](x, y), np.bool_)


def pairs_of(program: Program, part: Part, *, limit: int) -> tuple[Ints, Ints]:
    """At most `limit` violating pairs, by position; of a symmetric rule the smaller key left."""
    match program:
        case RowProgram():
            return np.empty(0, np.int64), np.empty(0, np.int64)
        case GroupProgram():
            return _Groups(program, part).pairs(limit)
        case PairProgram():
            return _Pairs(program, part).pairs(limit)


@dataclass(frozen=True)
class GroupSides:
    """How the groups that violate a dependency are divided in one right-hand column, the one with this number.

    By side: a row that has its value, whether that is null, and how many rows do; `members` are at most so many rows of
    each side as were wanted, in the order of their keys, and `ends` is where those of each side end.
    """

    right: int
    first: Ints
    is_null: Bools
    rows: Ints
    members: Ints
    ends: Ints


def group_sides(program: GroupProgram, part: Part, *, most: int) -> list[GroupSides]:
    """The sides of all groups that violate the program, per right-hand column, each with at most `most` rows."""
    return [_Groups(program, part).sides(number, most) for number in range(len(program.right))]


def _one_pair(pairs: Callable[..., tuple[Ints, Ints]], worst: int) -> tuple[int, int]:
    """A pair with the row in most pairs, where it is left in one; any pair otherwise."""
    left, right = pairs(1, worst)
    if len(left) == 0:
        left, right = pairs(1)
    return int(left[0]), int(right[0])


def _with_alone(finding: Finding, broken: Bools, part: Part) -> Finding:
    suspects = None if finding.suspects is None else np.union1d(finding.suspects, np.flatnonzero(broken))
    witness = finding.witness or _first(broken, part)
    return Finding(finding.pairs, finding.conflicts, finding.violating | broken, suspects, finding.groups, witness)


def _first(broken: Bools, part: Part) -> tuple[int, None] | None:
    rows = np.flatnonzero(broken)
    return (int(rows[np.argmin(part.order[rows])]), None) if len(rows) else None


def _null_aware(form: Coded) -> list[Ints]:
    """The form as parts of an identity in which a null is a value of its own."""
    if form.valid.all():
        return [form.codes]
    return [np.where(form.valid, form.codes, 0), form.valid.astype(np.int64)]


# Pairs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shape:
    """A denial as the kernels take it: groups, strict inequalities, and values that must differ."""

    left_group: Ints
    right_group: Ints
    a: Ints
    b: Ints
    unequal: tuple[Ints, Ints]
    with_itself: Bools


@dataclass(frozen=True)
class _Pairs:
    program: PairProgram
    part: Part

    def finding(self, limit: int) -> Finding:
        conflicts = self.conflicts
        twice = self.program.symmetric or self._either_way is not None
        pairs = int(conflicts.sum()) // 2 if twice else int(self.counts[0].sum())
        suspects: Ints | None = np.empty(0, np.int64)
        witness = None
        if pairs:
            witness = _one_pair(self.pairs, int(np.argmax(conflicts)))
            listed = pairs <= max(limit, min(LISTED_PAIRS, LOOKED_AT * limit))
            suspects = _cover(*self.pairs(pairs), self.part.order) if listed else self._cover_of_ranges(limit)
        return Finding(pairs, conflicts, conflicts > 0, suspects, None, witness)

    @cached_property
    def conflicts(self) -> Ints:
        """How many violating pairs each row is in."""
        if self._either_way is not None:
            return self._either_way
        as_left, as_right = self.counts
        return as_left if self.program.symmetric else as_left + as_right

    @cached_property
    def _either_way(self) -> Ints | None:
        """The same, where a pair is one of rows whose values are all in the same order: counted together, as left and
        as right row, which takes a fraction of the time."""
        shape = self._shape
        if shape is None or self.part.roles is not None or len(shape.unequal[0]):
            return None
        if not np.array_equal(shape.left_group, shape.right_group) or not np.array_equal(shape.a, shape.b):
            return None
        return count_either_way(shape.left_group, shape.a)

    @cached_property
    def _shape(self) -> _Shape | None:
        """The only denial in the kernels' terms."""
        return _shape(self.program.denials, self.part) if len(self.program.denials) == 1 else None

    @cached_property
    def _in_pairs(self) -> tuple[Bools, Bools]:
        """The rows that may be left in a violating pair, and those that may be right; all others are in none."""
        if self._either_way is not None:
            return self._either_way > 0, self._either_way > 0
        as_left, as_right = self.counts
        return as_left > 0, as_right > 0

    @cached_property
    def counts(self) -> tuple[Ints, Ints]:
        """Ordered violating pairs per row, as left and as right row; pairs of several denials once."""
        as_left, as_right = np.zeros(self.part.size, np.int64), np.zeros(self.part.size, np.int64)
        alone: dict[PairDenial, tuple[Ints, Ints]] = {}
        for sign, chosen in _overlaps(self.program.denials):
            mirror = self._counted_mirror(chosen, alone)
            left, right = self._counted(chosen) if mirror is None else mirror
            if len(chosen) == 1:
                alone[chosen[0]] = left, right
            as_left += sign * left
            as_right += sign * right
        return as_left, as_right

    def _cover_of_ranges(self, limit: int) -> Ints | None:
        """Rows of the same cover without a list of pairs; None where that takes too long, or a pair may count twice."""
        denials, conflicts = self.program.denials, self.conflicts
        too_many = int(conflicts.sum()) // 2 > LOOKED_AT * limit
        if too_many or len(by_constraint(denials)) > 1 or self.part.roles is not None:
            return None
        from holdfast.kernels.range_cover import UnlistedPairs, cover_of_ranges

        shapes = [shape for denial in denials if (shape := self._shape_of((denial,))) is not None]
        rows = np.flatnonzero(conflicts)
        first = shapes[0]
        values = first.a[0][rows] if len(first.a) else rows
        rows = rows[order_in_groups(first.left_group[rows] + 1, values)]
        pairs = []
        for shape in shapes:
            unequal = shape.unequal[0][:, rows], shape.unequal[1][:, rows]
            own = UnlistedPairs(
                shape.left_group[rows], shape.right_group[rows], shape.a[:, rows], shape.b[:, rows], unequal
            )
            pairs += [own] if self.program.symmetric else [own, own.turned()]
        by_key = np.argsort(self.part.order[rows])
        cover = cover_of_ranges(pairs, conflicts[rows], by_key, most=LOOKED_AT * limit)
        return None if cover is None else rows[cover]

    def _counted(self, denials: Sequence[PairDenial]) -> tuple[Ints, Ints]:
        return _count_denials(denials, self.part, self._shape_of(denials))

    def _shape_of(self, denials: Sequence[PairDenial]) -> _Shape | None:
        return self._shape if len(self.program.denials) == 1 else _shape(denials, self.part)

    def _counted_mirror(
        self, denials: Sequence[PairDenial], counted: Mapping[PairDenial, tuple[Ints, Ints]]
    ) -> tuple[Ints, Ints] | None:
        """What the mirror image of a single denial was counted as, turned round; None where there is none."""
        if len(denials) > 1 or self.part.roles is not None:
            return None
        return next((counts[::-1] for denial, counts in counted.items() if denials[0].is_mirror_of(denial)), None)

    def pairs(self, limit: int, of: int | None = None, *, counted: bool = True) -> tuple[Ints, Ints]:
        """At most `limit` pairs; with `of`, only such with this left row, or of a symmetric rule with this row.

        `counted` counts first, and then looks only at rows that are in a pair.
        """
        wanted_left, wanted_right = self._in_pairs if counted else [self.part.flag(None)] * 2
        if of is not None:
            wanted_left = np.arange(self.part.size) == of
        lefts, rights = [], []
        order = self.part.order
        for denial in self.program.denials:
            shape = self._shape_of((denial,))
            if shape is None:
                continue
            # A program that is its own mirror image, with one denial: so is that denial, whatever it is written as.
            own_mirror = denial.symmetric or len(self.program.denials) == 1
            once = own_mirror and self.program.symmetric and of is None
            left, right = list_pairs(
                shape.left_group,
                shape.right_group,
                shape.a,
                shape.b,
                unequal=shape.unequal,
                wanted=(wanted_left, wanted_right),
                order=order,
                once=once,
                limit=limit if len(self.program.denials) == 1 else UNLIMITED,
            )
            lefts.append(left)
            rights.append(right)
        left, right = np.concatenate([*lefts, np.empty(0, np.int64)]), np.concatenate([*rights, np.empty(0, np.int64)])
        if self.program.symmetric:
            turned = order[left] > order[right]
            left, right = np.where(turned, right, left), np.where(turned, left, right)
        if len(self.program.denials) > 1 and len(left):
            _, once_each = np.unique(left * np.int64(self.part.size) + right, return_index=True)
            left, right = left[once_each], right[once_each]
        return left[:limit], right[:limit]


def _count_denials(denials: Sequence[PairDenial], part: Part, shape: _Shape | None) -> tuple[Ints, Ints]:
    """Ordered pairs of distinct rows that satisfy all the denials at once, per row; `shape` is theirs."""
    zero = np.zeros(part.size, np.int64)
    if shape is None:
        return zero, zero.copy()
    as_left, as_right = zero, zero.copy()
    left_unequal = shape.unequal[0]
    mirrored = part.roles is None and all(denial.is_mirror_of(denial) for denial in denials)
    # p != q holds as often as anything, less as often as p = q.
    for size in range(len(left_unequal) + 1):
        for chosen in combinations(range(len(left_unequal)), size):
            left_group, right_group = _refined(shape, chosen)
            left, right = count_pairs(left_group, right_group, shape.a, shape.b, mirrored=mirrored)
            as_left += left if size % 2 == 0 else -left
            as_right += right if size % 2 == 0 else -right
    if mirrored:  # in all, though not for each choice: t.a = s.b alone is not its own mirror
        as_right = as_left.copy()
    if part.roles is None:
        return as_left - shape.with_itself, as_right - shape.with_itself
    twins = shape.with_itself & part.roles.twin
    return as_left - (twins & part.roles.left), as_right - (twins & part.roles.right)


def _refined(shape: _Shape, chosen: Sequence[int]) -> tuple[Ints, Ints]:
    if not chosen:
        return shape.left_group, shape.right_group
    lefts = [shape.left_group, *(shape.unequal[0][k] for k in chosen)]
    rights = [shape.right_group, *(shape.unequal[1][k] for k in chosen)]
    left, right = _joint_ids(lefts, rights)
    return np.where(shape.left_group < 0, -1, left), np.where(shape.right_group < 0, -1, right)


def _joint_ids(lefts: Sequence[Ints], rights: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Ids for left and right rows that are equal exactly where all their parts are."""
    size = len(lefts[0]) if lefts else 0
    if all(left is right for left, right in zip(lefts, rights, strict=True)):
        ids = dense_ids(lefts, size)
        return ids, ids
    both = dense_ids([np.concatenate([left, right]) for left, right in zip(lefts, rights, strict=True)], 2 * size)
    return both[:size], both[size:]


def _shape(denials: Sequence[PairDenial], part: Part) -> _Shape | None:
    """The denials together in the kernels' terms; None when no row can play one of the parts."""
    compares = list(dict.fromkeys(compare for denial in denials for compare in denial.compares))
    left_fit, right_fit = part.flag(None), part.flag(None)
    for denial in denials:
        left_fit = left_fit & part.flag(denial.left)
        right_fit = right_fit & part.flag(denial.right)
    compared = _Compared()
    for compare in compares:
        left, right = part.forms[compare.left], part.forms[compare.right]
        values_only = part.nulls == "sql" or compare.allowed in (LT, GT)
        if values_only:
            left_fit, right_fit = left_fit & left.valid, right_fit & right.valid
        compared.add(compare, left, right, values_only)
    if not left_fit.any() or not right_fit.any():
        return None
    left_ids = right_ids = np.zeros(part.size, np.int64)
    if compared.equal[0]:
        left_ids, right_ids = _joint_ids(*compared.equal)
    with_itself = left_fit & right_fit & (left_ids == right_ids)
    for x, y in zip(*compared.below, strict=True):
        with_itself &= x < y
    for x, y in zip(*compared.unequal, strict=True):
        with_itself &= x != y
    if part.roles is not None:
        left_fit, right_fit = left_fit & part.roles.left, right_fit & part.roles.right
    return _Shape(
        np.where(left_fit, left_ids, -1),
        np.where(right_fit, right_ids, -1),
        _lines(compared.below[0], part.size),
        _lines(compared.below[1], part.size),
        (_lines(compared.unequal[0], part.size), _lines(compared.unequal[1], part.size)),
        with_itself,
    )


def _lines(arrays: Sequence[Ints], size: int) -> Ints:
    return np.array(arrays, np.int64) if arrays else np.empty((0, size), np.int64)


@dataclass(frozen=True)
class _Compared:
    """Codes of left rows and of right rows that must be equal, the left below the right, or unequal."""

    equal: tuple[list[Ints], list[Ints]] = field(default_factory=lambda: ([], []))
    below: tuple[list[Ints], list[Ints]] = field(default_factory=lambda: ([], []))
    unequal: tuple[list[Ints], list[Ints]] = field(default_factory=lambda: ([], []))

    def add(self, compare: Compare, left: Coded, right: Coded, values_only: bool) -> None:
        same = left is right
        x, y = left.codes, right.codes
        if not values_only:
            x = np.where(left.valid, x, 0)
            y = x if same else np.where(right.valid, y, 0)
            x_null = left.valid.astype(np.int64)
            y_null = x_null if same else right.valid.astype(np.int64)
            if compare.allowed == NE:
                x, y = _joint_ids([x, x_null], [y, y_null])
            else:  # null with null, and value with value
                _append(self.equal, x_null, y_null)
        if compare.allowed == EQ:
            _append(self.equal, x, y)
        elif compare.allowed == NE:
            _append(self.unequal, x, y)
        else:
            if compare.allowed in (GT, GE):
                # ~ turns the order round without overflow, where - would not.
                x, y = ~x, ~y
            if compare.allowed in (LE, GE):
                if int(x.min(initial=0)) == np.iinfo(np.int64).min:
                    x, y = _ranked(x, y, same)
                x = x - 1
            _append(self.below, x, y)


def _append(sides: tuple[list[Ints], list[Ints]], left: Ints, right: Ints) -> None:
    sides[0].append(left)
    sides[1].append(right)


def _ranked(x: Ints, y: Ints, same: bool) -> tuple[Ints, Ints]:
    """Codes of which one may be taken away."""
    if same:
        ranks = compacted(x)
        return ranks, ranks
    both = compacted(np.concatenate([x, y]))
    return both[: len(x)], both[len(x) :]


def _cover(left: Ints, right: Ints, order: Ints) -> Ints:
    """Rows of a greedy cover of the pairs; ties go to the larger key."""
    involved = np.unique(np.concatenate([left, right]))
    by_key = involved[np.argsort(order[involved], kind="stable")]
    place = np.empty(int(involved.max()) + 1, np.int64)
    place[by_key] = np.arange(len(by_key))
    return by_key[greedy_cover(place[left], place[right], len(by_key))]


# Groups -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Groups:
    program: GroupProgram
    part: Part

    @cached_property
    def _rows(self) -> Ints:
        """Rows the rule can speak of."""
        fit = self.part.flag(self.program.scope)
        if self.part.nulls == "sql":
            for number in self.program.left:
                fit = fit & self.part.forms[number].valid
            if len(self._right):
                fit = fit & np.logical_or.reduce([form.valid for form in self._right])
        return np.flatnonzero(fit)

    @cached_property
    def _left(self) -> list[Coded]:
        return [self.part.forms[form] for form in self.program.left]

    @cached_property
    def _right(self) -> list[Coded]:
        """The right sides, as null in rows that no pattern leaves free there: among those nothing differs."""
        sides = []
        for side in self.program.right:
            form = self.part.forms[side.form]
            free = side.free is None or self.part.flags[side.free]
            sides.append(form if free is True else Coded(form.codes, form.valid & free))
        return sides

    @cached_property
    def _x(self) -> Ints:
        return self._ids(self._left, self._rows)

    def _ids(self, sides: Sequence[Coded], rows: Ints) -> Ints:
        forms = [Coded(side.codes[rows], side.valid[rows]) for side in sides]
        # Under sql no null is left on the left side; on the right one counts as a value here.
        return dense_ids([array for form in forms for array in _null_aware(form)], len(rows))

    @cached_property
    def _conflicts(self) -> tuple[Ints, Ints, Ints]:
        """(positions in `_rows` that are in a conflict, their side, how many rows each conflicts with)."""
        x = self._x
        sizes = np.bincount(x) if len(x) else np.empty(0, np.int64)
        if not self.program.right:
            hot = np.flatnonzero(sizes[x] > 1) if len(x) else np.empty(0, np.int64)
            return hot, np.arange(len(hot)), sizes[x[hot]] - 1 if len(hot) else hot
        # Most groups agree: look for the others first.
        hot = self._in_divided_groups()
        if len(hot) == 0:
            return hot, hot, hot
        side = dense_ids([x[hot], self._ids(self._right, self._rows[hot])], len(hot))
        if self.part.nulls == "equal" or len(self.program.right) == 1:
            total = np.bincount(x[hot])[x[hot]]
            return hot, side, total - np.bincount(side)[side]
        side = np.unique(side, return_inverse=True)[1].astype(np.int64)
        against = self._null_tolerant_conflicts(hot, side)
        kept = against > 0
        return hot[kept], side[kept], against[kept]

    def _in_divided_groups(self) -> Ints:
        """Positions of rows whose group has two values in some right-hand column."""
        x = self._x
        divided = np.zeros(int(x.max(initial=-1)) + 1, np.bool_)
        for side in self._right:
            divided |= self._divided(side, x, np.arange(len(x)), len(divided))
        return np.flatnonzero(divided[x])

    def _divided(self, form: Coded, x: Ints, at: Ints, groups: int) -> Bools:
        """Groups with two different values of the form, among the rows at these positions."""
        rows = self._rows[at]
        codes, valid = form.codes[rows], form.valid[rows]
        ids = x[at]
        nulls = np.zeros(groups, np.bool_)
        if not valid.all():
            if self.part.nulls == "equal":
                nulls[ids[~valid]] = True
            codes, ids = codes[valid], ids[valid]
        first = np.zeros(groups, np.int64)
        seen = np.zeros(groups, np.bool_)
        first[ids] = codes  # any one value of the group: a group is divided when some row has another
        seen[ids] = True
        divided = nulls & seen
        divided[ids[codes != first[ids]]] = True
        return divided

    def _null_tolerant_conflicts(self, hot: Ints, side: Ints) -> Ints:
        """Rows each row conflicts with where a null agrees with everything: sides against sides of a group."""
        _, first, sizes = np.unique(side, return_index=True, return_counts=True)
        groups = self._x[hot][first]
        rows = self._rows[hot][first]
        codes = np.array([side.codes[rows] for side in self._right])
        valid = np.array([side.valid[rows] for side in self._right])
        against = np.zeros(len(first), np.int64)
        order = np.argsort(groups, kind="stable")
        for block in _runs(groups[order]):
            members = order[block]
            for member in members:
                both = valid[:, [member]] & valid[:, members]
                differ = (both & (codes[:, [member]] != codes[:, members])).any(axis=0)
                against[member] = sizes[members[differ]].sum()
        return against[side]

    def finding(self) -> Finding:
        hot, side, against = self._conflicts
        conflicts = np.zeros(self.part.size, np.int64)
        rows = self._rows[hot]
        conflicts[rows] = against
        pairs = int(against.sum()) // 2
        groups = self._group_count(hot) if self.program.right else None
        suspects, witness = self._suspects(hot, side), None
        if pairs:
            witness = _one_pair(self.pairs, int(np.argmax(conflicts)))
        return Finding(pairs, conflicts, conflicts > 0, suspects, groups, witness)

    def _group_count(self, hot: Ints) -> int:
        groups = int(self._x.max(initial=-1)) + 1
        return int(sum(self._divided(side, self._x, hot, groups).sum() for side in self._right)) if len(hot) else 0

    def sides(self, number: int, most: int) -> GroupSides:
        """The sides of the groups that are divided in the right-hand column with this number."""
        form, x, hot = self._right[number], self._x, self._in_divided_groups()
        divided = self._divided(form, x, hot, int(x.max(initial=-1)) + 1)
        at = hot[divided[x[hot]]]
        rows = self._rows[at]
        if self.part.nulls == "sql":
            at, rows = at[form.valid[rows]], rows[form.valid[rows]]
        valid = form.valid[rows]
        codes = np.where(valid, form.codes[rows], 0)
        order = np.lexsort((self.part.order[rows], codes, valid, x[at]))
        rows, valid, codes, group = rows[order], valid[order], codes[order], x[at][order]
        new = np.ones(len(rows), np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (valid[1:] != valid[:-1]) | (codes[1:] != codes[:-1])
        starts = np.flatnonzero(new)
        sizes = np.diff(np.append(starts, len(rows)))
        place = np.arange(len(rows)) - np.repeat(starts, sizes)
        ends = np.cumsum(np.minimum(sizes, most))
        return GroupSides(number, rows[starts], ~valid[starts], sizes, rows[place < most], ends)

    def _suspects(self, hot: Ints, side: Ints) -> Ints:
        """All but the largest side of each group, on a tie the one with the smallest key."""
        if len(hot) == 0:
            return hot
        rows, x = self._rows[hot], self._x[hot]
        key = self.part.order[rows]
        sizes = np.bincount(side)[side] if self.program.right else np.ones(len(hot), np.int64)
        smallest = np.full(int(side.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, side, key)
        # One line per side: its group, its size, its smallest key.
        _, first = np.unique(side, return_index=True)
        order = first[np.lexsort((smallest[side[first]], -sizes[first], x[first]))]
        starts = np.flatnonzero(np.r_[True, x[order][1:] != x[order][:-1]])
        kept = np.zeros(int(side.max()) + 1, np.bool_)
        kept[side[order[starts]]] = True
        return rows[~kept[side]]

    def pairs(self, limit: int, of: int | None = None) -> tuple[Ints, Ints]:
        """At most `limit` pairs; with `of`, only such with this row."""
        hot, _, _ = self._conflicts
        rows = self._rows[hot]
        group = np.full(self.part.size, -1, np.int64)
        group[rows] = self._x[hot]
        none = np.empty((0, self.part.size), np.int64)
        if self.part.nulls == "sql" and len(self.program.right) > 1:
            return self._pairs_by_column(group, limit, of)
        if self.program.right:
            whole = np.zeros(self.part.size, np.int64)
            whole[rows] = self._ids(self._right, rows)
            unequal = (whole[None, :], whole[None, :])
        else:
            unequal = (none, none)
        return self._listed(group, unequal, limit, of)

    def _listed(self, group: Ints, unequal: tuple[Ints, Ints], limit: int, of: int | None) -> tuple[Ints, Ints]:
        none = np.empty((0, self.part.size), np.int64)
        order = self.part.order
        wanted = group >= 0
        left_wanted = wanted if of is None else np.arange(self.part.size) == of
        once = of is None
        left, right = list_pairs(
            group, group, none, none, unequal=unequal, wanted=(left_wanted, wanted), order=order, once=once, limit=limit
        )
        turned = order[left] > order[right]
        return np.where(turned, right, left), np.where(turned, left, right)

    def _pairs_by_column(self, group: Ints, limit: int, of: int | None) -> tuple[Ints, Ints]:
        """Pairs that differ on one right-hand column or another, where nulls differ from nothing; each once."""
        pair_ids: list[Ints] = []
        for form in self._right:
            ids = np.where(form.valid, group, -1)
            values = form.codes[None, :]
            left, right = self._listed(ids, (values, values), UNLIMITED, of)
            pair_ids.append(left * np.int64(self.part.size) + right)
        once_each = np.unique(np.concatenate(pair_ids))[:limit]
        return once_each // self.part.size, once_each % self.part.size


def _runs(values: Ints) -> Iterator[slice]:
    """Slices of equal values in a sorted array."""
    cuts = np.flatnonzero(np.r_[True, values[1:] != values[:-1], True])
    for start, end in pairwise(cuts):
        yield slice(int(start), int(end))
