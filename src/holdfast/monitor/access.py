"""How the pairs of a row are found: for each constraint and each part a row can play in it, an index and a probe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.runs import Probe
from holdfast.monitor.group_index import GroupIndex, IndexSpec
from holdfast.programs.program import Compare, PairDenial, PairProgram
from holdfast.rules.predicate import quoted_name
from holdfast.rules.relation import EQ, is_inequality, swapped

Table = NDArray[np.int64]
Preference = Callable[[Sequence[Compare]], float]
"""How few pairs some comparisons let through together: the share of them, as far as it is known."""


@dataclass(frozen=True)
class Access:
    """The index in which a row's partners are found, what they must satisfy, and which part the row plays.

    `mutual`: a row finds another there exactly when the other finds it.
    """

    spec: IndexSpec
    probe: Probe
    left: bool
    mutual: bool


def accesses(program: PairProgram, *, nulls_equal: bool, share: Preference) -> tuple[Access, ...]:
    """All ways to a row's pairs. A pair that violates several constraints is found by the first of them.

    Of a symmetric rule only as left row: there it meets all.
    """
    ways = []
    for left in (True,) if program.symmetric else (True, False):
        for at, denial in enumerate(program.denials):
            earlier = program.denials[:at]
            ways += _accesses(denial, earlier, left=left, nulls_equal=nulls_equal, share=share)
    return tuple(ways)


def _accesses(
    denial: PairDenial, earlier: Sequence[PairDenial], *, left: bool, nulls_equal: bool, share: Preference
) -> list[Access]:
    equal = sorted({seen_from(c, left) for c in denial.compares if c.allowed == EQ}, key=lambda c: (c.right, c.left))
    # Ordered as the left row sees them, so that both parts of a rule on single columns have one index.
    others = [seen_from(c, left) for c in _best_first(denial, share)]
    by = others[:2]
    own, other = (denial.left, denial.right) if left else (denial.right, denial.left)
    columns = tuple(c.right for c in equal)
    x, y = (*(c.right for c in by), None, None)[:2]
    which, lines = constraint_table(earlier, left=left)
    table = np.array([(c.left, c.right, c.allowed) for c in (*equal, *others)], np.int64).reshape(-1, 3)

    def probe(ordered: int) -> Probe:
        flag = -1 if own is None else own
        return Probe(table, len(equal), ordered, flag, which, lines, nulls_equal)

    apart = nulls_equal and bool(by)
    mutual = denial.symmetric and not apart
    ways = [Access(IndexSpec(columns, x, y, other, nulls_equal), probe(len(by)), left, mutual)]
    if apart:
        # Rows with a null in x or y have no place in an order; they are looked at one by one.
        ways.append(Access(IndexSpec(columns, x, y, other, nulls_equal, nulls=True), probe(0), left, mutual))
    return ways


def _best_first(denial: PairDenial, share: Preference) -> list[Compare]:
    """The comparisons that are no equalities, those two first that together let least through."""
    agree = [c for c in denial.compares if c.allowed == EQ]
    rest = sorted(
        (c for c in denial.compares if c.allowed != EQ), key=lambda c: (not is_inequality(c.allowed), c.right, c.left)
    )
    if len(rest) > 2:
        first, second = min(combinations(rest, 2), key=lambda two: share([*agree, *two]))
        rest = [first, second, *(c for c in rest if c not in (first, second))]
    return rest


def left_to_check(access: Access) -> int:
    """How many comparisons are left for each row that the ranges let through."""
    return len(access.probe.compares) - access.probe.equal - access.probe.by


def by_range_only(access: Access) -> Probe:
    """The probe without what is left to check."""
    return access.probe._replace(compares=access.probe.compares[: access.probe.equal + access.probe.by].copy())


def seen_from(compare: Compare, left: bool) -> Compare:
    """The comparison with the probing row first."""
    return compare if left else Compare(compare.right, compare.left, swapped(compare.allowed))


def constraint_table(denials: Sequence[PairDenial], *, left: bool = True) -> tuple[Table, Table]:
    """(first, last, flag, flag) of each constraint, and the comparisons, with the left row first or the right one."""
    which: list[tuple[int, int, int, int]] = []
    lines: list[tuple[int, int, int]] = []
    for denial in denials:
        first = len(lines)
        lines += [(c.left, c.right, c.allowed) for c in (seen_from(c, left) for c in denial.compares)]
        own, other = (denial.left, denial.right) if left else (denial.right, denial.left)
        which.append((first, len(lines), -1 if own is None else own, -1 if other is None else other))
    return np.array(which, np.int64).reshape(-1, 4), np.array(lines, np.int64).reshape(-1, 3)


def access_lines(ways: Sequence[tuple[Access, GroupIndex]], columns: Sequence[str]) -> Iterator[str]:
    """A line for each way to the partners of a row."""
    for access, index in ways:
        spec = access.spec
        names = [quoted_name(columns[at]) for at in spec.equal]
        where = f"rows by {', '.join(names)}" if names else "all rows"
        if spec.nulls:
            where += " that have a null in " + " or ".join(
                quoted_name(columns[at]) for at in (spec.x, spec.y) if at is not None
            )
        elif spec.by:
            where += f", in order of {' and of '.join(quoted_name(columns[at]) for at in spec.by)}"
        if spec.flag is not None:
            where += ", those that can take part"
        rest = left_to_check(access)
        checked = f", then {rest} more comparison{'s' if rest > 1 else ''} per row" if rest else ""
        part = "left" if access.left else "right"
        runs = len(index.arena.runs)
        yield f"as {part} row: {where}{checked} ({len(index):,} rows in {runs} run{'' if runs == 1 else 's'})"
