"""The partners of a row as sets of rows: one set per predicate, intersected in the order of a schedule (Weever 5).

An equality's set is looked up by value, a non-equality's is all others, an inequality's comes from a less-than tree. A
predicate's set does not depend on the rule, so rules share it, and they share the intersection of a common start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from holdfast.live_rows.row_store import RowStore, Slots
from holdfast.monitor.access import seen_from
from holdfast.monitor.lt_tree import LessThanTree
from holdfast.monitor.schedule import Schedule, predicate_order, schedule
from holdfast.programs.program import Compare, PairDenial, PairProgram
from holdfast.rules.relation import EQ, GT, NE, is_inequality

Part = tuple[int, int]
"""A rule's number, and that of a constraint in it."""

_CHANGES_UNTIL_LOOK = 1_000


def sets_seconds(rows: int, inequalities: int) -> float:
    """About how long the sets of one row's inequalities take: unions along a path, over blocks of 65,536 rows."""
    return inequalities * (8e-6 + 10e-6 * rows / 65_536)


class ColumnSets:
    """The rows of one column: by value, those that have one, and, where it is asked for, in order."""

    def __init__(self, *, ordered: bool) -> None:
        self.by_value: dict[int, BitMap] = {}
        self.present, self.null = BitMap(), BitMap()
        self.tree = LessThanTree() if ordered else None

    def load(self, slots: Slots, codes: NDArray[np.int64], valid: NDArray[np.bool_]) -> None:
        """All rows at once, into empty sets."""
        self.null = BitMap(slots[~valid])
        slots, codes = slots[valid], codes[valid]
        self.present = BitMap(slots)
        order = np.argsort(codes, kind="stable")
        if len(order):
            starts = np.flatnonzero(np.concatenate([[True], np.diff(codes[order]) != 0]))
            parts = np.split(slots[order], starts[1:])
            self.by_value = {int(code): BitMap(part) for code, part in zip(codes[order][starts], parts, strict=True)}
        if self.tree is not None:
            self.tree = LessThanTree.of(codes, slots)

    def add(self, slot: int, code: int, valid: bool) -> None:
        if not valid:
            self.null.add(slot)
            return
        self.present.add(slot)
        self.by_value.setdefault(code, BitMap()).add(slot)
        if self.tree is not None:
            self.tree.add(code, slot)

    def remove(self, slot: int, code: int, valid: bool) -> None:
        if not valid:
            self.null.discard(slot)
            return
        self.present.discard(slot)
        self.by_value[code].discard(slot)
        if not len(self.by_value[code]):
            del self.by_value[code]
        if self.tree is not None:
            self.tree.remove(code, slot)

    def related(self, code: int, valid: bool, allowed: int, nulls_equal: bool) -> BitMap:
        """The rows whose value is in an allowed relation to this one, which comes first."""
        if not valid:
            if not nulls_equal:
                return BitMap()
            return self.present if allowed == NE else self.null if allowed & EQ else BitMap()
        if allowed == EQ:
            return self.by_value.get(code, BitMap())
        if allowed == NE:
            differ = self.present - self.by_value.get(code, BitMap())
            return differ | self.null if nulls_equal else differ
        assert self.tree is not None, "a column that is compared by order has a tree"
        below = (
            self.tree.smaller_or_equal(code) if bool(allowed & GT) == bool(allowed & EQ) else self.tree.smaller(code)
        )
        return below if allowed & GT else self.present - below

    def assert_invariants(self, slots: Slots, codes: NDArray[np.int64], valid: NDArray[np.bool_]) -> None:
        assert self.null == BitMap(slots[~valid]), "nulls are those of the rows"
        assert self.present == BitMap(slots[valid]), "rows with a value are known"
        held = {(code, slot) for code, rows in self.by_value.items() for slot in rows}
        assert held == set(zip(codes[valid].tolist(), slots[valid].tolist(), strict=True)), "values are those of rows"
        assert all(map(len, self.by_value.values())), "a value has rows"
        if self.tree is not None:
            self.tree.assert_invariants()
            assert self.tree.rows == self.present, "rows with a value are in the tree"
            assert self.tree.values == sorted(self.by_value), "the tree has the values"


@dataclass(frozen=True)
class _Side:
    """The constraints as seen from a row that plays one part, and their schedule."""

    compares: Mapping[Part, tuple[Compare, ...]]
    order: tuple[Compare, ...]
    schedule: Schedule[Part, Compare]


class BitmapPath:
    """The partners of rows under some rules. Rows are in it or not: a row's partners are among those that are.

    A change costs sets over the whole table: more as the table grows, if slowly; not more as ranges let more through.
    """

    def __init__(self, store: RowStore, programs: Mapping[int, PairProgram], *, nulls_equal: bool) -> None:
        self._store, self.programs, self._nulls_equal = store, programs, nulls_equal
        self._denials: dict[Part, PairDenial] = {
            (at, i): denial for at, program in programs.items() for i, denial in enumerate(program.denials)
        }
        seen = {
            left: [seen_from(c, left) for d in self._denials.values() for c in d.compares] for left in (True, False)
        }
        sought = [c for compares in seen.values() for c in compares]
        ordered = {c.right for c in sought if is_inequality(c.allowed)}
        self._columns = {column: ColumnSets(ordered=column in ordered) for column in {c.right for c in sought}}
        wanted = {flag for d in self._denials.values() for flag in (d.left, d.right) if flag is not None}
        self._flags = {flag: BitMap() for flag in wanted}
        self._rows = BitMap()
        self._looked = 0
        self._sides = {left: self._side(left) for left in (True, False)}

    def load(self, slots: Slots) -> None:
        """All rows at once, where there were none."""
        rows = self._store.rows
        for column, sets in self._columns.items():
            sets.load(slots, rows.codes[slots, column], rows.valid[slots, column])
        self._flags = {flag: BitMap(slots[rows.flags[slots, flag]]) for flag in self._flags}
        self._rows = BitMap(slots)
        self._sides = {left: self._side(left) for left in (True, False)}

    def add(self, slot: int) -> None:
        codes, valid = self._store.rows.codes[slot], self._store.rows.valid[slot]
        for column, sets in self._columns.items():
            sets.add(slot, int(codes[column]), bool(valid[column]))
        for flag, rows in self._flags.items():
            if self._store.rows.flags[slot, flag]:
                rows.add(slot)
        self._rows.add(slot)
        self._look_again()

    def remove(self, slot: int) -> None:
        codes, valid = self._store.rows.codes[slot], self._store.rows.valid[slot]
        for column, sets in self._columns.items():
            sets.remove(slot, int(codes[column]), bool(valid[column]))
        for rows in self._flags.values():
            rows.discard(slot)
        self._rows.discard(slot)
        self._look_again()

    def partners(self, slot: int, *, left: bool) -> dict[int, BitMap]:
        """By rule, the rows that are a violating pair with the row, which plays the left part or the right one."""
        side, rows = self._sides[left], self._store.rows
        sets: dict[Compare, BitMap] = {}

        def related(compare: Compare) -> BitMap:
            if compare not in sets:
                code, valid = int(rows.codes[slot, compare.left]), bool(rows.valid[slot, compare.left])
                column = self._columns[compare.right]
                sets[compare] = column.related(code, valid, compare.allowed, self._nulls_equal)
            return sets[compare]

        starts: dict[Part, tuple[frozenset[Compare], BitMap]] = {}
        for shared in side.schedule.shared:
            matches = _refined(None, shared.predicates, related)
            assert matches is not None, "a start has predicates"
            for part in (shared.rule, *shared.others):
                if part not in starts or len(starts[part][0]) < len(shared.predicates):
                    starts[part] = (frozenset(shared.predicates), matches)
        partners: dict[int, BitMap] = {}
        for part, predicates in side.schedule.rules.items():
            denial = self._denials[part]
            own, other = (denial.left, denial.right) if left else (denial.right, denial.left)
            if own is not None and not rows.flags[slot, own]:
                continue
            done, begun = starts.get(part, (frozenset(), None))
            matches = _refined(begun, [p for p in predicates if p not in done], related)
            if matches is None:
                matches = self._rows
            if other is not None:
                matches = matches & self._flags[other]
            if len(matches):
                partners[part[0]] = partners[part[0]] | matches if part[0] in partners else matches
        for at, matches in partners.items():
            if slot in matches:
                partners[at] = matches - BitMap([slot])
        return partners

    def _side(self, left: bool) -> _Side:
        compares = {part: tuple(seen_from(c, left) for c in d.compares) for part, d in self._denials.items()}
        order = self._order(c for group in compares.values() for c in group)
        return _Side(compares, order, schedule(compares, order))

    def _order(self, compares: Iterable[Compare]) -> tuple[Compare, ...]:
        return tuple(predicate_order(list(dict.fromkeys(compares)), self._cardinality))

    def _cardinality(self, column: int) -> int:
        sets = self._columns.get(column)
        return 0 if sets is None else len(sets.by_value)

    def _look_again(self) -> None:
        """Now and then: a new schedule, where the numbers of values have changed the order of predicates."""
        self._looked += 1
        if self._looked < _CHANGES_UNTIL_LOOK:
            return
        self._looked = 0
        for left, side in self._sides.items():
            if self._order(c for group in side.compares.values() for c in group) != side.order:
                self._sides[left] = self._side(left)

    @property
    def schedule(self) -> Schedule[Part, Compare]:
        """That of a row as left row."""
        return self._sides[True].schedule

    def assert_invariants(self) -> None:
        slots, rows = self._store.slots(), self._store.rows
        assert self._rows == BitMap(slots), "all rows are in it"
        for column, sets in self._columns.items():
            sets.assert_invariants(slots, rows.codes[slots, column], rows.valid[slots, column])
        for flag, held in self._flags.items():
            assert held == BitMap(slots[rows.flags[slots, flag]]), "truth values are those of the rows"


def _refined(rows: BitMap | None, predicates: Sequence[Compare], related: Callable[[Compare], BitMap]) -> BitMap | None:
    """The rows that also satisfy the predicates; None where there is neither a set nor a predicate."""
    for predicate in predicates:
        if rows is not None and not len(rows):
            return rows
        operand = related(predicate)
        rows = operand if rows is None else rows & operand
    return rows
